//! `l4s live`: a page that shows a scenario as it runs.

use std::process::{Command, Stdio};
#[cfg(target_os = "linux")]
use std::time::Duration;

use l4s_live::document::Presets;
use l4s_live::server::{BindError, Limits, Options, Server, Token, interrupted};
use l4s_live::{Simulator, Substrate};
use l4s_scenario::{Plan, bundled};

use crate::args::{Live, LiveSubstrate};
use crate::failure::Failure;
use crate::print;

/// Serves the page until it is interrupted.
pub fn live(options: &Live) -> Result<(), Failure> {
    let plan = Plan::open(&options.scenario, &options.set)?;
    let presets = presets(&options.scenario, &plan)?;
    let token = options.token.as_deref().map(Token::new).transpose();
    let token = token.map_err(|error| Failure::input(format!("--token: {error}")))?;
    let (substrate, limits) = substrate(options.on, &plan)?;
    let server = Server::bind(options.listen, Options { substrate, presets, token, limits })
        .map_err(|error| refused(options, &error))?;
    let url = server.url();
    print(&format!("{url}\n"))?;
    say!("{} runs while that page is open; Ctrl-C ends it", options.scenario);
    if options.open {
        open(&url);
    }
    server.run(interrupted()).map_err(|error| Failure::Run(format!("l4s live: {error}")))
}

/// What runs the lanes. Real time is had by one session at once, whose place is soon free for the
/// next.
fn substrate(on: LiveSubstrate, plan: &Plan) -> Result<(Box<dyn Substrate>, Limits), Failure> {
    let limits = Limits::default();
    match on {
        LiveSubstrate::Sim => Ok((Box::new(Simulator), limits)),
        #[cfg(target_os = "linux")]
        LiveSubstrate::Kernel => {
            let sockets = crate::kernel::RealSockets::prepare(plan)?;
            let unwatched = Duration::from_secs(2);
            Ok((Box::new(sockets), Limits { sessions: 1, unwatched, ..limits }))
        }
        #[cfg(not(target_os = "linux"))]
        LiveSubstrate::Kernel => {
            Err(Failure::Substrate("l4s live --on kernel: it needs Linux".to_owned()))
        }
    }
}

fn presets(scenario: &str, plan: &Plan) -> Result<Presets, Failure> {
    let bundled = bundled::find(scenario).map(|bundled| bundled.name);
    let name = bundled.map_or(scenario.to_owned(), |name| format!("{name}.toml"));
    let presets = Presets::new(plan, &name, bundled).map_err(|fault| Failure::Input {
        message: format!("{scenario}: `{}`: {fault}", fault.field),
        help: fault.help,
    })?;
    let (offered, all) = (presets.list().len(), plan.points.len());
    if offered < all {
        say!("note: the page offers the first {offered} of {all} runs; --set chooses others");
    }
    Ok(presets)
}

fn refused(options: &Live, error: &BindError) -> Failure {
    let help = match error {
        BindError::InUse { free: Some(free), .. } => {
            let scenario = match options.scenario.as_str() {
                "live" => String::new(),
                other => format!(" {other}"),
            };
            format!("; the next that is free: l4s live{scenario} --listen {free}")
        }
        _ => String::new(),
    };
    Failure::Substrate(format!("l4s live: {error}{help}"))
}

/// Shows the page in the browser. Where there is none, the address was printed.
fn open(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // It is waited for, so that nothing is left of it.
        Ok(mut browser) => drop(std::thread::spawn(move || browser.wait())),
        Err(error) => say!("note: {opener}: {error}; open the page by hand"),
    }
}
