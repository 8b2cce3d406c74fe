//! `[[program]]`: programs of the user on the hosts of a group.

use l4s_model::{Command, Direction, Expect, Group, Program, Ready, Signal};
use l4s_units::{Duration, Time};

use super::{Names, few_tables, source_name};
use crate::fault::{Gathered, nearest};
use crate::field::{
    Field, Refusal, count, duration, flag, instant, line, read_table, word, written,
};
use crate::tree::{Entry, Item, Node, Table, list, text};

/// A server may take this long to be ready.
const LONGEST_START: Duration = Duration::from_secs(60);

const SIGNALS: [(&str, Signal); 5] = [
    ("term", Signal::Term),
    ("int", Signal::Int),
    ("hup", Signal::Hup),
    ("quit", Signal::Quit),
    ("kill", Signal::Kill),
];

/// The value of `expect` of a client that does not end by itself.
pub(crate) const RUNNING: &str = "running";

/// The key that puts a program in the place of its group's flows ([`super::add_instances`]).
pub(crate) const INSTEAD: &str = "instead_of_flows";

/// A program whose group is a name still.
#[derive(Clone, Debug)]
pub(crate) struct ProgramDraft {
    pub group: String,
    pub program: Program,
}

impl ProgramDraft {
    /// A program of which nothing is said yet.
    pub fn unset() -> ProgramDraft {
        ProgramDraft {
            group: String::new(),
            program: Program {
                name: String::new(),
                group: 0,
                server: None,
                client: None,
                ready: Ready::After(Duration::ZERO),
                start: Time::ZERO,
                stop: None,
                env: Vec::new(),
                expect: Expect::Code(0),
            },
        }
    }
}

pub(crate) const PROGRAM: &[Field<ProgramDraft>] = &[
    Field {
        name: "name",
        doc: "its name in results, and the folder of its output",
        required: true,
        read: |draft, node| folder_name(node).map(|name| draft.program.name = name),
        write: |draft| Some(text(&draft.program.name)),
    },
    Field {
        name: "group",
        doc: "the group whose hosts and path it has",
        required: true,
        read: |draft, node| line(node, 64).map(|group| draft.group = group),
        write: |draft| Some(text(&draft.group)),
    },
    Field {
        name: INSTEAD,
        doc: "whether an instance of it, on hosts of its own, takes the place of each flow of the group",
        required: false,
        read: |_, node| flag(node).map(drop),
        write: |_| Some(false.into()),
    },
    Field {
        name: "server",
        doc: "a command line, or a list of words, that runs on the server's host",
        required: false,
        read: |draft, node| command(node).map(|command| draft.program.server = Some(command)),
        write: |draft| draft.program.server.as_ref().map(command_text),
    },
    Field {
        name: "client",
        doc: "a command line, or a list of words, that runs on the client's host",
        required: false,
        read: |draft, node| command(node).map(|command| draft.program.client = Some(command)),
        write: |draft| draft.program.client.as_ref().map(command_text),
    },
    Field {
        name: "ready",
        doc: "when the server is: port (any), tcp:PORT, udp:PORT, line:TEXT, file:PATH, or a time after its start",
        required: false,
        read: |draft, node| ready(node).map(|ready| draft.program.ready = ready),
        write: |draft| draft.program.server.is_some().then(|| ready_text(&draft.program.ready)),
    },
    Field {
        name: "start",
        doc: "when the client starts",
        required: false,
        read: |draft, node| instant(node).map(|start| draft.program.start = start),
        write: |draft| Some(text(draft.program.start)),
    },
    Field {
        name: "stop",
        doc: "the signal that ends a client at the end of the run, before kill: term, int, hup, quit or kill; else it must end itself",
        required: false,
        read: |draft, node| word(node, &SIGNALS).map(|stop| draft.program.stop = Some(stop)),
        write: |draft| draft.program.stop.and_then(|stop| written(&SIGNALS, stop)),
    },
    Field {
        name: "env",
        doc: "variables of its environment",
        required: false,
        read: |draft, node| environment(node).map(|env| draft.program.env = env),
        write: |draft| Some(environment_table(&draft.program.env)),
    },
    Field {
        name: "expect",
        doc: "its success: the exit code, or running, where its client has to run until the end of the run ends it",
        required: false,
        read: |draft, node| expect(node).map(|expect| draft.program.expect = expect),
        write: |draft| {
            Some(match draft.program.expect {
                Expect::Code(code) => u64::from(code).into(),
                Expect::Running => text(RUNNING),
            })
        },
    },
];

/// A name that a folder can have.
fn folder_name(node: &Node) -> Result<String, Refusal> {
    match source_name(node) {
        Ok(name) if !name.contains('/') => Ok(name),
        _ => Err(Refusal::expected(
            "a name of 1 to 64 characters without `/`, `.`, `*`, `=`, control characters or outer \
             blanks",
        )),
    }
}

/// No process takes a text with this byte.
fn has_nul(text: &str) -> bool {
    text.contains('\0')
}

fn command(node: &Node) -> Result<Command, Refusal> {
    let refusal = || {
        Refusal::expected(
            "a command line such as \"iperf3 -s\", or a list of words such as [\"iperf3\", \"-s\"]",
        )
    };
    match &node.item {
        Item::Text(line) if !line.trim().is_empty() && !has_nul(line) => {
            Ok(Command::Line(line.clone()))
        }
        Item::List(items) => {
            let words = items.iter().map(|item| item.text().map(str::to_owned));
            let words: Vec<String> = words.collect::<Option<_>>().ok_or_else(refusal)?;
            let is_sound = words.first().is_some_and(|first| !first.trim().is_empty())
                && !words.iter().any(|word| has_nul(word));
            if is_sound { Ok(Command::Words(words)) } else { Err(refusal()) }
        }
        _ => Err(refusal()),
    }
}

fn command_text(command: &Command) -> Item {
    match command {
        Command::Line(line) => text(line),
        Command::Words(words) => list(words.iter().map(text)),
    }
}

fn ready(node: &Node) -> Result<Ready, Refusal> {
    let expected = "port, tcp:PORT, udp:PORT, line:TEXT, file:PATH, or a time such as \"1s\"";
    let found = node.text().unwrap_or("");
    if found == "port" {
        return Ok(Ready::Port);
    }
    let Some((kind, value)) = found.split_once(':') else {
        let time = duration(node, Duration::ZERO, LONGEST_START).map(Ready::After);
        return time.map_err(|refusal| Refusal { expected: expected.to_owned(), ..refusal });
    };
    let port = || value.parse().ok().filter(|port| *port > 0);
    let text = || Some(value.to_owned()).filter(|text| !text.is_empty() && !has_nul(text));
    let ready = match kind {
        "tcp" => port().map(Ready::Tcp),
        "udp" => port().map(Ready::Udp),
        "line" => text().map(Ready::Line),
        "file" => text().map(Ready::File),
        _ => {
            let near = nearest(kind, ["tcp", "udp", "line", "file"]);
            let help = near.map(|near| format!("did you mean \"{near}:{value}\"?"));
            return Err(Refusal { expected: expected.to_owned(), help });
        }
    };
    ready.ok_or_else(|| Refusal::expected(expected))
}

fn ready_text(ready: &Ready) -> Item {
    match ready {
        Ready::After(time) => text(time),
        Ready::Port => text("port"),
        Ready::Tcp(port) => text(format!("tcp:{port}")),
        Ready::Udp(port) => text(format!("udp:{port}")),
        Ready::Line(line) => text(format!("line:{line}")),
        Ready::File(path) => text(format!("file:{path}")),
    }
}

fn expect(node: &Node) -> Result<Expect, Refusal> {
    if node.text() == Some(RUNNING) {
        return Ok(Expect::Running);
    }
    count(node, 0, 255)
        .map(|code| Expect::Code(code as u8))
        .map_err(|_| Refusal::expected(format!("a whole number from 0 to 255, or {RUNNING:?}")))
}

fn environment(node: &Node) -> Result<Vec<(String, String)>, Refusal> {
    let refusal = || Refusal::expected("a table of texts such as { RUST_LOG = \"info\" }");
    let table = node.table().ok_or_else(refusal)?;
    let pair = |entry: &Entry| {
        let value = entry.value.text()?;
        let is_sound = !entry.key.is_empty() && !entry.key.contains('=');
        (is_sound && !has_nul(&entry.key) && !has_nul(value))
            .then(|| (entry.key.clone(), value.to_owned()))
    };
    table.entries.iter().map(|entry| pair(entry).ok_or_else(refusal)).collect()
}

fn environment_table(env: &[(String, String)]) -> Item {
    let mut table = Table::default();
    env.iter().for_each(|(key, value)| table.set(Entry::new(key, text(value))));
    Item::Table(table)
}

/// Every `[[program]]` whose group there is.
pub(super) fn programs(
    root: &Table,
    end: Duration,
    groups: &[(Group, &Table)],
    names: &Names<'_>,
    gathered: &mut Gathered,
) -> Vec<Program> {
    let mut all: Vec<Program> = Vec::new();
    for (node, table) in few_tables(root, "program", gathered) {
        let before = gathered.count();
        let mut draft = ProgramDraft::unset();
        read_table(table, &node.place, "program", PROGRAM, &[], &mut draft, gathered);
        let place = |key: &str| table.get(key).map_or(&node.place, |node| &node.place).clone();
        let ProgramDraft { group: name, mut program } = draft;
        if gathered.count() == before && program.server.is_none() && program.client.is_none() {
            let message = "`program.client` is missing: a command, or `server`".to_owned();
            gathered.add(&node.place, message, None);
        }
        if program.server.is_none() && table.get("ready").is_some() {
            let message = "`program.ready`: there is no `server` that could be ready".to_owned();
            gathered.add(&place("ready"), message, None);
        }
        if program.start.since(Time::ZERO) >= end {
            let message = format!(
                "`program.start`: {} is not before the end of the run at {end}",
                program.start
            );
            gathered.add(&place("start"), message, None);
        }
        if all.iter().any(|other| other.name == program.name) && !program.name.is_empty() {
            let message = format!("two programs are called `{}`", program.name);
            gathered.add(&place("name"), message, Some("give each its own name".to_owned()));
        }
        let name = Some(&name).filter(|name| !name.is_empty());
        let group =
            name.and_then(|name| names.group(name, "program.group", &place("group"), gathered));
        let (Some(group), true) = (group, gathered.count() == before) else { continue };
        if groups[group].0.direction == Direction::Up {
            let message = format!(
                "`program.group`: group `{}` sends up, expected one that sends down; a program in it \
                 may send both ways",
                groups[group].0.name
            );
            gathered.add(&place("group"), message, None);
            continue;
        }
        program.group = group;
        all.push(program);
    }
    all
}
