//! `l4s shell`: a shell, or any command, behind the bottleneck.
//!
//! The command is one `[[program]]` more of the scenario, in a group of its own that has no flows
//! of its own. So a run of the scenario in the results repeats this run.

pub mod misplaced;
#[cfg(kernels)]
pub mod page;
#[cfg(not(kernels))]
#[path = "shell/no_page.rs"]
pub mod page;

use std::io::IsTerminal;

use l4s_model::Ip;
use l4s_report::Pictures;
use l4s_scenario::{Plan, files, group_names, quoted, shell_word, source};

use l4s_substrate::ProgramHost;
use l4s_units::Duration;

use crate::args::{At, Shell, Substrate};
use crate::check;
use crate::failure::Failure;
use crate::figures::Show;
use crate::folder::Existing;
use crate::measured::Session;
use crate::run::Job;
use page::Page;

/// The group of the command, and the name of its program.
const NAME: &str = "shell";
/// The scenario where none is named.
const DEFAULT: &str = include_str!("shell.toml");
/// No session is longer: the longest run.
const LONGEST: &str = "1440min";

/// Runs the command until it ends; its exit code, or 1 where an assertion fails.
pub fn shell(options: &Shell) -> Result<u8, Failure> {
    if let Some(failure) = misplaced::program() {
        return Err(failure);
    }
    let (file, text) = match &options.scenario {
        Some(scenario) => source(scenario)?,
        None if options.check => {
            ("shell.toml".to_owned(), DEFAULT.to_owned() + &check::changes(end(&options.set)))
        }
        None => ("shell.toml".to_owned(), DEFAULT.to_owned()),
    };
    let words = command(options);
    let more = programs(&group_names(&text), &words, options);
    let text = text + &more;
    // The command decides how long it takes, unless the user does.
    let mut set = vec![format!("duration={LONGEST}"), "warmup=0s".to_owned()];
    set.extend(options.set.iter().cloned());
    let files = files(options.scenario.as_deref().unwrap_or_default());
    let mut plan = Plan::parse_with(&file, &text, &set, &files)?.assert(&options.assert)?;
    // Defaults are not shown as if the user had set them.
    let is_mine = |key: &str| options.set.iter().any(|set| set.split('=').next() == Some(key));
    plan.points.iter_mut().for_each(|point| {
        point.set.retain(|(key, _)| !["duration", "warmup"].contains(&&**key) || is_mine(key));
    });
    if plan.points.len() > 1 {
        let axes = plan.sweep.iter().filter(|(_, values)| values.len() > 1);
        let first = axes.flat_map(|(key, values)| values.first().map(|value| (key, value)));
        let set =
            first.map(|(key, value)| format!(" --set {}", shell_word(&format!("{key}={value}"))));
        let shown = options.scenario.as_deref().unwrap_or(NAME);
        return Err(Failure::input_with(
            format!("{file} has {} runs, expected one", plan.points.len()),
            format!(
                "choose one, such as{}; `l4s show {}` lists the others",
                set.collect::<String>(),
                shell_word(shown)
            ),
        ));
    }
    let (host, name) = match options.at {
        At::Client => (ProgramHost::Client, "client"),
        At::Server => (ProgramHost::Server, "server"),
    };
    if options.internet {
        check_internet(options, &plan)?;
    }
    if options.command.is_empty() && std::io::stdin().is_terminal() {
        say!("a shell on the {name} of group `{NAME}`; the run ends with it");
    }
    // Before any thread: Ctrl-C is for the command. However that ends, there are results.
    #[cfg(kernels)]
    l4s_substrate::hold_signals();
    let page = options.live.map(|listen| Page::open(&plan, &files, listen)).transpose()?;
    if let Some(page) = &page {
        say!("the page of this run: {}", page.url());
    }
    let done = Job {
        plan: &plan,
        called: options.scenario.as_deref().unwrap_or(NAME),
        on: Substrate::Kernel,
        jobs: Some(1),
        out: options.out.as_deref(),
        existing: if options.replace { Existing::Replace } else { Existing::RefuseSession },
        trace: options.trace,
        json: false,
        pictures: Pictures::Both,
        smaller: None,
        quiet: false,
        leaves_out_failed: false,
        session: Some(Session {
            foreground: host,
            internet: options.internet,
            figures: if options.command.is_empty() { Show::Title } else { Show::Line },
            page: page.as_ref(),
            check: options.check,
        }),
    }
    .carry_out()?;
    done.tell();
    done.say(&plan);
    if let Some(failure) = done.failed {
        return Err(failure);
    }
    let judged = done.judge(&plan);
    match done.code {
        Some(code @ 1..) => Ok(code),
        _ => judged.map(|()| 0),
    }
}

/// Refuses `--internet` where it cannot be, before anything starts.
fn check_internet(options: &Shell, plan: &Plan) -> Result<(), Failure> {
    if options.at == At::Server {
        return Err(Failure::input(
            "--internet: found --at server, expected --at client: the way on is the client's",
        ));
    }
    if plan.points.iter().any(|point| point.scenario.kernel.ip == Ip::V6) {
        return Err(Failure::input("--internet: found kernel.ip = 6, expected 4: it is IPv4 only"));
    }
    #[cfg(kernels)]
    return l4s_substrate::internet_works()
        .map_err(|why| Failure::Substrate(format!("--internet: {why}")));
    #[cfg(not(kernels))]
    Err(Failure::left_out("--internet"))
}

/// The end of the run, where the user set one.
fn end(set: &[String]) -> Duration {
    let duration = set.iter().rev().find_map(|set| set.strip_prefix("duration="));
    // A malformed duration is an error when the scenario is read.
    duration.and_then(|duration| duration.parse().ok()).unwrap_or(Duration::MAX)
}

/// The command, or the user's shell.
fn command(options: &Shell) -> Vec<String> {
    if !options.command.is_empty() {
        return options.command.clone();
    }
    let shell = std::env::var("SHELL").unwrap_or_default();
    vec![if shell.is_empty() { "/bin/sh".to_owned() } else { shell }]
}

/// The group and the programs, as a scenario has them.
fn programs(groups: &[String], words: &[String], options: &Shell) -> String {
    let mut text = String::from("\n");
    if !groups.iter().any(|group| group == NAME) {
        // The Internet's own round trip comes on top.
        let rtt = if options.internet { "5ms" } else { "20ms" };
        text +=
            &format!("[[group]]\nname = \"{NAME}\"\ncc = \"cubic\"\nflows = 0\nrtt = \"{rtt}\"\n");
    }
    for (number, server) in (1..).zip(&options.server) {
        text += &format!(
            "[[program]]\nname = \"server{number}\"\ngroup = \"{NAME}\"\nserver = {}\nready = \"port\"\n",
            quoted(server)
        );
    }
    let end = match options.at {
        At::Client => "client",
        At::Server => "server",
    };
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    text + &format!(
        "[[program]]\nname = \"{NAME}\"\ngroup = \"{NAME}\"\n{end} = [{}]\n",
        words.join(", ")
    )
}
