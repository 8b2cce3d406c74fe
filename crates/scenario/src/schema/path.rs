//! `[[path]]`: stretches of the way that are not perfect.

use std::collections::HashSet;

use l4s_model::{
    AccEcnMangling, Direction, Distribution, EcnMangling, Group, Jitter, Loss, Path, Reorder,
    Scenario, Udp,
};
use l4s_units::Duration;

use super::hop::{SIDES, named, places};
use super::uplink::DIRECTIONS;
use super::{Names, few_tables, source_name};
use crate::fault::{Gathered, Place, did_you_mean};
use crate::field::{Field, Refusal, count, duration, flag, quantity, read_table, word, written};
use crate::tree::{Item, Node, Table, list, table_of, text};

const ECN: [(&str, EcnMangling); 7] = [
    ("pass", EcnMangling::Pass),
    ("bleach", EcnMangling::Bleach),
    ("ect1-to-ect0", EcnMangling::Ect1ToEct0),
    ("ect0-to-ect1", EcnMangling::Ect0ToEct1),
    ("ce-to-ect0", EcnMangling::CeToEct0),
    ("ce-to-ect1", EcnMangling::CeToEct1),
    ("ect-to-ce", EcnMangling::EctToCe),
];

const ACCECN: [(&str, AccEcnMangling); 3] = [
    ("pass", AccEcnMangling::Pass),
    ("strip", AccEcnMangling::Strip),
    ("clear-ace", AccEcnMangling::ClearAce),
];

/// Whether it washes the DSCP.
const DSCP: [(&str, bool); 2] = [("pass", false), ("wash", true)];

/// The longest mean of a jitter, its longest deviation, and the longest that a packet is held back. A
/// second is more than any path on Earth takes.
const LONGEST: Duration = Duration::from_secs(1);

/// The keys of which a path sets at least one.
const IMPERFECT: [&str; 8] =
    ["loss", "jitter", "reorder", "duplicate", "corrupt", "ecn", "accecn", "dscp"];

/// A path whose sources are names still.
#[derive(Clone, Debug)]
pub(crate) struct PathDraft {
    path: Path,
    /// `None` for all of them.
    sources: Option<Vec<String>>,
}

impl PathDraft {
    /// A path of which nothing is said yet.
    pub fn unset() -> PathDraft {
        PathDraft { path: Path::new("", Direction::Down, Vec::new()), sources: None }
    }

    /// A path of a scenario.
    pub fn of(path: &Path, scenario: &Scenario) -> PathDraft {
        let names: Vec<_> = scenario.source_names().collect();
        let sources = path.sources.iter().map(|source| names[*source].to_owned()).collect();
        PathDraft { path: path.clone(), sources: Some(sources) }
    }
}

pub(crate) const PATH: &[Field<PathDraft>] = &[
    Field {
        name: "name",
        doc: "the name of the stretch in results, and of its random streams",
        required: true,
        read: |draft, node| source_name(node).map(|name| draft.path.name = name),
        write: |draft| Some(text(&draft.path.name)),
    },
    Field {
        name: "direction",
        doc: "down, with the link, or up, against it",
        required: false,
        read: |draft, node| word(node, &DIRECTIONS).map(|to| draft.path.direction = to),
        write: |draft| written(&DIRECTIONS, draft.path.direction),
    },
    Field {
        name: "place",
        doc: "before the bottleneck, towards the senders, or behind it; several in this order",
        required: false,
        read: |draft, node| word(node, &SIDES).map(|side| draft.path.side = side),
        write: |draft| written(&SIDES, draft.path.side),
    },
    Field {
        name: "groups",
        doc: "whose packets pass it: groups and UDP sources by name; all of them unless set",
        required: false,
        read: |draft, node| named(node).map(|sources| draft.sources = Some(sources)),
        write: |draft| draft.sources.as_ref().map(|sources| list(sources.iter().map(text))),
    },
    Field {
        name: "loss",
        doc: "a chance, bursts such as { to_bad = 0.001, to_good = 0.1 }, or numbers of packets",
        required: false,
        read: |draft, node| loss(node).map(|loss| draft.path.loss = loss),
        write: |draft| Some(loss_item(&draft.path.loss)),
    },
    Field {
        name: "jitter",
        doc: "random delay: uniform up to a time, or { mean = \"1ms\", distribution = \"exponential\" }",
        required: false,
        read: |draft, node| jitter(node).map(|jitter| draft.path.jitter = jitter),
        write: |draft| Some(jitter_item(&draft.path.jitter)),
    },
    Field {
        name: "reorder",
        doc: "packets that are held back while later ones pass: { chance = 0.01, by = \"5ms\" }",
        required: false,
        read: |draft, node| reorder(node).map(|reorder| draft.path.reorder = reorder),
        write: |draft| reorder_item(draft.path.reorder),
    },
    Field {
        name: "duplicate",
        doc: "the chance that a packet comes out twice",
        required: false,
        read: |draft, node| chance(node).map(|chance| draft.path.duplicate = chance),
        write: |draft| Some(Item::Float(draft.path.duplicate)),
    },
    Field {
        name: "corrupt",
        doc: "the chance of a bit error, for which the receiver drops the packet",
        required: false,
        read: |draft, node| chance(node).map(|chance| draft.path.corrupt = chance),
        write: |draft| Some(Item::Float(draft.path.corrupt)),
    },
    Field {
        name: "ecn",
        doc: "a middlebox that changes the ECN field; bleach makes it Not-ECT",
        required: false,
        read: |draft, node| word(node, &ECN).map(|ecn| draft.path.ecn = ecn),
        write: |draft| written(&ECN, draft.path.ecn),
    },
    Field {
        name: "accecn",
        doc: "a middlebox that changes the feedback of AccECN: strips its option, or clears the ACE field",
        required: false,
        read: |draft, node| word(node, &ACCECN).map(|accecn| draft.path.accecn = accecn),
        write: |draft| written(&ACCECN, draft.path.accecn),
    },
    Field {
        name: "dscp",
        doc: "a router that changes the DSCP of real programs; wash makes it 0",
        required: false,
        read: |draft, node| word(node, &DSCP).map(|wash| draft.path.wash_dscp = wash),
        write: |draft| written(&DSCP, draft.path.wash_dscp),
    },
];

/// A number from 0 to 1.
fn number(node: &Node) -> Option<f64> {
    match node.item {
        Item::Float(x) if (0.0..=1.0).contains(&x) => Some(x.abs()),
        Item::Integer(n @ 0..=1) => Some(n as f64),
        _ => None,
    }
}

fn chance(node: &Node) -> Result<f64, Refusal> {
    let below_one = number(node).filter(|chance| *chance < 1.0);
    below_one.ok_or_else(|| Refusal::expected("a chance such as 0.01, from 0 to below 1"))
}

/// The first key of a table that is none of these, as a refusal.
fn only(table: &Table, keys: &[&str], expected: &str) -> Result<(), Refusal> {
    match table.entries.iter().find(|entry| !keys.contains(&entry.key.as_str())) {
        None => Ok(()),
        Some(other) => {
            let help = did_you_mean(&other.key, keys.iter().copied())
                .unwrap_or_else(|| format!("there is no `{}` in it", other.key));
            Err(Refusal { expected: expected.to_owned(), help: Some(help) })
        }
    }
}

pub(super) fn loss(node: &Node) -> Result<Loss, Refusal> {
    let expected = "a chance such as 0.01, from 0 to below 1, bursts such as { to_bad = 0.001, \
                    to_good = 0.1, in_bad = 1.0, in_good = 0.0 }, or numbers of packets such as \
                    [10, 11]";
    let refusal = |help: &str| Refusal {
        expected: expected.to_owned(),
        help: (!help.is_empty()).then(|| help.to_owned()),
    };
    if let Some(items) = node.list() {
        let numbers = items.iter().map(|item| count(item, 1, i64::MAX as u64).ok());
        let mut numbers = numbers.collect::<Option<Vec<_>>>().unwrap_or_default();
        if numbers.is_empty() {
            return Err(refusal("the first packet has number 1"));
        }
        numbers.sort_unstable();
        numbers.dedup();
        return Ok(Loss::Packets(numbers));
    }
    let Some(table) = node.table() else {
        return chance(node).map(Loss::Independent).map_err(|_| refusal(""));
    };
    only(table, &["to_bad", "to_good", "in_bad", "in_good"], expected)?;
    let of = |key: &str, unset: Option<f64>| match table.get(key) {
        Some(node) => number(node),
        None => unset,
    };
    let to_bad = of("to_bad", None).ok_or_else(|| refusal("`to_bad` is a chance up to 1"))?;
    let to_good = of("to_good", None).filter(|chance| *chance > 0.0);
    let to_good = to_good.ok_or_else(|| refusal("`to_good` is a chance above 0, up to 1"))?;
    let in_bad = of("in_bad", Some(1.0)).ok_or_else(|| refusal("`in_bad` is a chance up to 1"))?;
    let in_good = of("in_good", Some(0.0)).filter(|chance| *chance < 1.0);
    let in_good = in_good.ok_or_else(|| refusal("`in_good` is a chance below 1"))?;
    Ok(Loss::GilbertElliott { to_bad, to_good, in_bad, in_good })
}

pub(crate) fn loss_item(loss: &Loss) -> Item {
    match loss {
        Loss::Independent(chance) => Item::Float(*chance),
        Loss::GilbertElliott { to_bad, to_good, in_bad, in_good } => table_of([
            ("to_bad", Item::Float(*to_bad)),
            ("to_good", Item::Float(*to_good)),
            ("in_bad", Item::Float(*in_bad)),
            ("in_good", Item::Float(*in_good)),
        ]),
        Loss::Packets(numbers) => list(numbers.iter().map(|number| Item::from(*number))),
    }
}

pub(super) fn jitter(node: &Node) -> Result<Jitter, Refusal> {
    let (zero, most) = (Duration::ZERO, LONGEST * 2);
    let expected = format!(
        "a time from {zero} to {most}, such as \"2ms\", or {{ mean = \"1ms\", distribution = \
         \"exponential\" }}"
    );
    let refusal = |help: Option<String>| Refusal { expected: expected.clone(), help };
    let Some(table) = node.table() else {
        let most = duration(node, zero, most).map_err(|wrong| refusal(wrong.help))?;
        return Ok(Jitter::uniform(most));
    };
    only(table, &["mean", "distribution", "deviation", "reordering"], &expected)?;
    let time = |key: &str| {
        let time = table.get(key).map(|node| quantity(node, zero, LONGEST).ok());
        time.map(|time| {
            let help = format!("`{key}` is a time from {zero} to {LONGEST}");
            time.ok_or_else(|| refusal(Some(help)))
        })
    };
    let help = || refusal(Some("`mean` is missing: the mean of the delay".to_owned()));
    let mean = time("mean").ok_or_else(help)??;
    let deviation = time("deviation").transpose()?;
    let words = [("uniform", 0), ("exponential", 1), ("normal", 2)];
    let kind = match table.get("distribution") {
        None => 0,
        Some(node) => word(node, &words).map_err(|wrong| {
            refusal(wrong.help.or(Some(format!("`distribution` is {}", wrong.expected))))
        })?,
    };
    let distribution = match (kind, deviation) {
        (0, None) => Distribution::Uniform,
        (1, None) => Distribution::Exponential,
        (2, Some(deviation)) => Distribution::Normal(deviation),
        (2, None) => {
            let help = "\"normal\" needs the standard deviation, such as deviation = \"1ms\"";
            return Err(refusal(Some(help.to_owned())));
        }
        _ => {
            let help = "only distribution = \"normal\" has a `deviation`";
            return Err(refusal(Some(help.to_owned())));
        }
    };
    let reordering = table.get("reordering").map_or(Ok(false), flag);
    let reordering =
        reordering.map_err(|_| refusal(Some("`reordering` is true or false".to_owned())))?;
    Ok(Jitter { mean, distribution, reordering })
}

pub(crate) fn jitter_item(jitter: &Jitter) -> Item {
    let Jitter { mean, distribution, reordering } = *jitter;
    let mean_text = ("mean", text(mean));
    let name = |name| ("distribution", text(name));
    let reorders = ("reordering", reordering.into());
    match distribution {
        Distribution::Uniform if !reordering => text(mean * 2),
        Distribution::Uniform => table_of([mean_text, name("uniform"), reorders]),
        Distribution::Exponential => table_of([mean_text, name("exponential"), reorders]),
        Distribution::Normal(deviation) => {
            table_of([mean_text, name("normal"), ("deviation", text(deviation)), reorders])
        }
    }
}

fn reorder(node: &Node) -> Result<Reorder, Refusal> {
    let expected = format!(
        "{{ chance = 0.01, by = \"5ms\" }}, a chance from 0 to below 1 and a time up to {LONGEST}"
    );
    let refusal = || Refusal::expected(expected.clone());
    let table = node.table().ok_or_else(refusal)?;
    only(table, &["chance", "by"], &expected)?;
    let chance = table.get("chance").and_then(|node| chance(node).ok()).ok_or_else(refusal)?;
    let by = table.get("by").and_then(|node| quantity(node, Duration::ZERO, LONGEST).ok());
    Ok(Reorder { chance, by: by.ok_or_else(refusal)? })
}

fn reorder_item(reorder: Reorder) -> Option<Item> {
    let Reorder { chance, by } = reorder;
    let is_set = reorder != Reorder::default();
    is_set.then(|| table_of([("chance", Item::Float(chance)), ("by", text(by))]))
}

/// Every `[[path]]`, in the order of the file.
pub(super) fn paths(
    root: &Table,
    groups: &[(Group, &Table)],
    udp: &[(Udp, &Table)],
    known: &Names<'_>,
    gathered: &mut Gathered,
) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::new();
    let mut names = HashSet::new();
    for (node, table) in few_tables(root, "path", gathered) {
        let before = gathered.count();
        let mut draft = PathDraft::unset();
        read_table(table, &node.place, "path", PATH, &[], &mut draft, gathered);
        let PathDraft { path, sources } = draft;
        if !path.name.is_empty() && !names.insert(path.name.clone()) {
            let place = table.get("name").map_or(&node.place, |node| &node.place);
            let message = format!("two `[[path]]` are called `{}`", path.name);
            gathered.add(place, message, Some("give each its own name".to_owned()));
        }
        if gathered.count() == before && IMPERFECT.iter().all(|key| table.get(key).is_none()) {
            let [most @ .., last] = IMPERFECT.map(|key| format!("`{key}`"));
            let help = format!("add {} or {last}", most.join(", "));
            gathered.add(&node.place, "`path`: nothing is imperfect", Some(help));
        }
        let named = sources.is_some();
        let all = groups.len() + udp.len();
        let sources = places(table, "path", sources, known, all, gathered);
        let place = table.get("groups").map_or(&node.place, |node| &node.place);
        let sources = of_direction(&path, sources, named, groups.len(), udp, place, gathered);
        if gathered.count() == before {
            paths.push(Path { sources, ..path });
        }
    }
    paths
}

/// The sources with packets in the direction of a path: of a connection each direction has some, of a UDP source one. Of
/// sources that are `named` each must have some.
fn of_direction(
    path: &Path,
    mut sources: Vec<usize>,
    named: bool,
    groups: usize,
    udp: &[(Udp, &Table)],
    place: &Place,
    gathered: &mut Gathered,
) -> Vec<usize> {
    let of = |source: usize| source.checked_sub(groups).map(|udp_source| &udp[udp_source].0);
    let is_other = |source: usize| of(source).is_some_and(|udp| udp.direction != path.direction);
    let [there, other] = match path.direction {
        Direction::Down => ["down", "up"],
        Direction::Up => ["up", "down"],
    };
    let help = || Some(format!("direction = \"{other}\", or name others"));
    if named {
        if let Some(udp) = sources.iter().find(|it| is_other(**it)).and_then(|it| of(*it)) {
            let message =
                format!("`path.groups`: the UDP source `{}` sends {other} only", udp.name);
            gathered.add(place, message, help());
        }
        return sources;
    }
    let any = !sources.is_empty();
    sources.retain(|source| !is_other(*source));
    if any && sources.is_empty() {
        let message = format!(
            "`path.direction`: found \"{there}\", but every source is UDP that sends {other}"
        );
        gathered.add(place, message, help());
    }
    sources
}
