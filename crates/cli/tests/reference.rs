//! The pages of the reference that are made from the declarations in the code: settings of queue disciplines
//! and congestion controls, keys of a scenario, and the command line.
//!
//! `UPDATE_DOCS=1 cargo test -p l4s --test reference` writes them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use l4s_scenario::{Described, controls, disciplines, keys};

/// Compares `page` with docs/reference/`name`, or writes it there.
#[track_caller]
fn hold(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "docs/reference/{name} is not current: run `make docs`");
}

/// The source of the page, for readers who want to change it by hand.
const MADE: &str = "<!-- Made by `make docs` from the declarations in the code. -->\n\n";

/// The text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The text as a sentence.
fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}.", first.to_uppercase())
}

/// A section for each of these, with its profiles, and its settings with their values in each profile.
fn settings(all: &[Described]) -> String {
    let mut page = String::new();
    for Described { kind, about, profiles } in all {
        let about = sentence(about);
        let _ = write!(page, "\n## {kind}\n\n{about}\n\n| profile | values |\n|---|---|\n");
        for (number, profile) in profiles.iter().enumerate() {
            let default = if number == 0 { "; the default" } else { "" };
            let _ = writeln!(page, "| `{}` | {}{default} |", profile.name, cell(profile.doc));
        }
        if profiles[0].settings.is_empty() {
            page += "\nIt has no settings.\n";
            continue;
        }
        let names: Vec<_> = profiles.iter().map(|p| format!("`{}`", p.name)).collect();
        let _ = write!(
            page,
            "\n| setting | meaning | accepted | {} |\n|---|---|---|{}\n",
            names.join(" | "),
            "---|".repeat(names.len())
        );
        for (row, setting) in profiles[0].settings.iter().enumerate() {
            let values = profiles.iter().map(|profile| {
                profile.settings[row].value.map_or("–".to_owned(), |value| value.to_string())
            });
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} |",
                setting.name,
                cell(setting.doc),
                cell(&setting.kind.to_string()),
                values.collect::<Vec<_>>().join(" | ")
            );
        }
    }
    page
}

#[test]
fn the_page_of_disciplines_has_every_setting() {
    let head = "# Settings of queue disciplines\n\n`[aqm]` of a scenario chooses a queue discipline with `kind`, starts from \
        a `profile` and sets any\nsetting beside it. `l4s aqm KIND` prints the same, with the effective gains of DualPI2. A dash \
        is a setting that another\none makes meaningless.\n";
    hold("aqm.md", &format!("{MADE}{head}{}", settings(&disciplines())));
}

/// The scenario with every table, at the beginning of the page, is one.
#[test]
fn the_scenario_of_the_page_of_scenarios_is_accepted() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenario.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("```toml\n").unwrap();
    let (text, _) = after.split_once("```").unwrap();
    assert!(text.contains("[[program]]") && text.contains("[[assert]]"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, text).unwrap();
    let shown = Command::new(env!("CARGO_BIN_EXE_l4s")).arg("show").arg(&file).output().unwrap();
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
}

#[test]
fn the_page_of_controls_has_every_setting() {
    let head = "# Settings of congestion controls\n\n`cc` of a `[[group]]` is a name, or a table with `kind`, `profile` and \
        any setting beside them:\n`cc = { kind = \"cubic\", abe = true }`. `l4s cc KIND` prints the same. A dash is a setting \
        that another one makes\nmeaningless.\n";
    hold("cc.md", &format!("{MADE}{head}{}", settings(&controls())));
}

#[test]
fn the_page_of_keys_has_every_key() {
    let mut page = format!(
        "{MADE}# Keys of a scenario\n\nEvery key with its meaning, its values and its default. [Scenarios](scenario.md) explains \
        them with examples, also\n`[[at]]` and `[sweep]`, whose keys are those of other tables. `[aqm]` has the \
        [settings of its discipline](aqm.md), and `cc`\nof a group those of its [congestion control](cc.md). `l4s show NAME` \
        prints a scenario with every default.\n\n`NAME` is that of the file. A group also has the key `cc`, and `[[hop]]` the key `aqm`.\n"
    );
    for table in keys() {
        let title = if table.table.is_empty() { "The top" } else { table.table };
        let title = if title.starts_with('[') { format!("`{title}`") } else { title.to_owned() };
        let _ = write!(
            page,
            "\n## {title}\n\n| key | meaning | accepted | default |\n|---|---|---|---|\n"
        );
        for key in table.keys {
            let default = match (key.required, key.default) {
                (true, _) => "required".to_owned(),
                (false, Some(value)) => format!("`{value}`"),
                (false, None) => "–".to_owned(),
            };
            let (doc, accepted) = (cell(key.doc), cell(&key.accepted));
            let _ = writeln!(page, "| `{}` | {doc} | {accepted} | {default} |", key.name);
        }
    }
    hold("keys.md", &page);
}

/// The output of `l4s WORDS… --help`.
fn help(words: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_l4s")).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands in a help text.
fn commands(help: &str) -> Vec<String> {
    let Some((_, rest)) = help.split_once("Commands:\n") else { return Vec::new() };
    let lines = rest.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_page_of_the_command_line_is_its_help() {
    fn add(page: &mut String, words: &[&str]) {
        let help = help(words);
        let title = ["l4s"].iter().chain(words).copied().collect::<Vec<_>>().join(" ");
        let _ = write!(page, "\n## `{title}`\n\n```text\n{}\n```\n", help.trim_end());
        for command in commands(&help) {
            let words: Vec<_> = words.iter().copied().chain([command.as_str()]).collect();
            add(page, &words);
        }
    }
    let mut page = format!(
        "{MADE}# The command line\n\nResults go to stdout, everything else to stderr. The exit code is 0 for success, 1 if a run \
        or an assertion failed, 2 for\nbad input, 3 if this machine cannot run the substrate.\n"
    );
    add(&mut page, &[]);
    hold("cli.md", &page);
}

#[cfg(target_os = "linux")]
const SUBSTRATES: [&str; 4] = ["sim", "kernel", "linux", "qdisc"];

/// A feature, the head of a scenario with it, and the part behind the keys of group `A`.
#[cfg(target_os = "linux")]
const FEATURES: &[(&str, &str, &str)] = &[
    ("`link.aggregation`", "link = { rate = \"9mbit\", aggregation = \"2ms\" }", ""),
    ("`link.trace`", "link.trace = \"lte-1\"", ""),
    ("`link.wifi`, `link.cell`", "link.wifi.stations = 1", ""),
    ("`[uplink]`", "link.rate = \"9mbit\"\nuplink.rate = \"5mbit\"", ""),
    ("`uplink.trace`", "link.rate = \"9mbit\"\nuplink.trace = \"lte-1\"", ""),
    (
        "`uplink.ack_filter`",
        "link.rate = \"9mbit\"\nuplink = { rate = \"5mbit\", ack_filter = \"on\", aqm = \"fifo\" }",
        "",
    ),
    (
        "`uplink.ack_filter`, `uplink.aqm = \"cobalt\"`",
        "link.rate = \"9mbit\"\nuplink = { rate = \"5mbit\", ack_filter = \"on\", aqm = \"cobalt\" }",
        "",
    ),
    ("`[[hop]]`", "link.rate = \"9mbit\"", "[[hop]]\nname = \"h\"\nrate = \"5mbit\""),
    ("`[[path]]`", "link.rate = \"9mbit\"", "[[path]]\nname = \"p\"\nloss = 0.1"),
    ("`link.ack_loss`", "link = { rate = \"9mbit\", ack_loss = 0.1 }", ""),
    ("`[[web]]`", "link.rate = \"9mbit\"", "[[web]]\ngroup = \"A\"\nrate = \"1/s\""),
    ("`[[app]]`", "link.rate = \"9mbit\"", "[[app]]\ngroup = \"A\"\nrate = \"1mbit\""),
    ("`[[udp]]`", "link.rate = \"9mbit\"", "[[udp]]\nname = \"U\"\nrate = \"1mbit\""),
    (
        "`[[program]]`",
        "link.rate = \"9mbit\"",
        "[[program]]\nname = \"p\"\ngroup = \"A\"\nclient = \"true\"",
    ),
    (
        "`[[at]]`",
        "link.rate = \"9mbit\"",
        "[[at]]\ntime = \"1s\"\nlink.rate = \"5mbit\"\naqm = \"pie\"\ngroup.A.rtt = \"50ms\"",
    ),
    ("`peer`", "link.rate = \"9mbit\"", "peer = \"rfc3168\""),
    ("`kernel.gso`", "link.rate = \"9mbit\"\nkernel.gso = true", ""),
    (
        "`kernel.qdisc = \"bpf\"`",
        "link.rate = \"9mbit\"\nkernel.qdisc = \"bpf\"\naqm = { kind = \"dualpi2\", profile = \"best\" }",
        "",
    ),
];

/// The answer of each substrate to a scenario: its words where it refuses it, or whether it replaces settings.
#[cfg(target_os = "linux")]
fn answers(head: &str, more: &str) -> Vec<Result<bool, String>> {
    let aqm = if head.contains("\naqm = ") { "" } else { "aqm = \"fifo\"\n" };
    let group = "[[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"";
    let text = format!("{aqm}{head}\n{group}\n{more}\n");
    let plan = l4s_scenario::Plan::parse("s.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let answer = |name: &&str| {
        let engine = l4s_substrate::Engine::named(name).unwrap();
        let notes = engine.on().check(&plan.points[0].scenario);
        let words = notes.map_err(|why| why.to_string())?;
        Ok(!words.is_empty())
    };
    SUBSTRATES.iter().map(answer).collect()
}

#[cfg(target_os = "linux")]
fn row<T>(name: &str, cells: impl IntoIterator<Item = T>) -> String
where
    T: AsRef<str>,
{
    let cells: String = cells.into_iter().map(|cell| format!(" {} |", cell.as_ref())).collect();
    format!("| {name} |{cells}\n")
}

/// Asks every substrate about every feature and discipline.
#[cfg(target_os = "linux")]
#[test]
fn the_page_of_substrates_has_what_each_refuses() {
    let head = row("", SUBSTRATES.map(|name| format!("`--on {name}`")));
    let head = format!("{head}|---|{}\n", "---|".repeat(SUBSTRATES.len()));
    let mut page = format!(
        "{MADE}# Features of each substrate\n\n[Where a scenario can run](../explanation/substrates.md) describes the four \
        substrates. This page has the features that each accepts, by its own\nanswers. A scenario that it refuses is an error before anything \
        runs, with exit code 2. A machine may lack more, which `l4s doctor`\nlists.\n\n## Parts of a scenario\n\n{head}"
    );
    let mut reasons: Vec<String> = Vec::new();
    for (feature, head, more) in FEATURES {
        let cells = SUBSTRATES.iter().zip(answers(head, more)).map(|(name, answer)| match answer {
            Ok(_) => "yes".to_owned(),
            Err(words) => {
                let reason = words.replacen(&format!("--on {name}: "), "", 1);
                let known = reasons.iter().position(|known| *known == reason);
                let number = known.unwrap_or_else(|| {
                    reasons.push(reason);
                    reasons.len() - 1
                });
                format!("no ({})", number + 1)
            }
        });
        page += &row(feature, cells);
    }
    page += "\nTheir answers:\n\n";
    for (number, reason) in reasons.iter().enumerate() {
        let _ = writeln!(page, "{}. {}", number + 1, sentence(reason));
    }
    let _ = write!(
        page,
        "\n## Queue disciplines\n\nThe profiles that each accepts. With a star it replaces some settings, and a note says which.\n\n{head}"
    );
    for Described { kind, profiles, .. } in disciplines() {
        let mut accepted = vec![Vec::new(); SUBSTRATES.len()];
        for profile in &profiles {
            let name = profile.name;
            let head = format!(
                "link.rate = \"9mbit\"\naqm = {{ kind = \"{kind}\", profile = \"{name}\" }}"
            );
            for (list, answer) in accepted.iter_mut().zip(answers(&head, "")) {
                let star = if answer == Ok(true) { "\\*" } else { "" };
                list.extend(answer.is_ok().then(|| format!("`{name}`{star}")));
            }
        }
        let cells = accepted.iter().map(|names| match names.len() {
            0 => "–".to_owned(),
            _ => names.join(", "),
        });
        page += &row(&format!("`{kind}`"), cells);
    }
    hold("substrates.md", &page);
}
