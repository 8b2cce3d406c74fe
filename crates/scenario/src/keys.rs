//! The keys of a scenario, as the tables of `schema` declare them: for the reference.

use l4s_model::{Cell, Direction, Standard, Wifi};
use l4s_units::Duration;

use crate::Plan;
use crate::field::Field;
use crate::schema::{
    APP, ASSERT, AppDraft, AssertDraft, CELL, GROUP, HEAD, HOP, Head, HopDraft, KERNEL, LINK,
    LinkDraft, PATH, PROGRAM, PathDraft, ProgramDraft, UDP, WEB, WIFI, uplink_fields,
};
use crate::show::{draft, web_draft};
use crate::tree::Item;

/// A table of a scenario with its keys.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Its header, such as `[[group]]`; empty for the top.
    pub table: &'static str,
    /// Its keys, in the order in which `l4s show` writes them.
    pub keys: Vec<Key>,
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    /// Whether the table is refused without it.
    pub required: bool,
    /// Which values it takes, in the words of the refusal of another.
    pub accepted: String,
    /// Its value where the scenario does not set it, as TOML; `None` where there is none.
    pub default: Option<String>,
}

/// One table of each kind, with the keys that it must have.
const LEAST: &str = r#"
    [link]
    rate = "40mbit"
    [uplink]
    rate = "10mbit"
    [[group]]
    name = "A"
    cc = "cubic"
    rtt = "10ms"
    [[web]]
    group = "A"
    rate = "1/s"
    [[app]]
    group = "A"
    rate = "1mbit"
    fps = 30
    [[program]]
    name = "p"
    group = "A"
    client = "true"
    [[udp]]
    name = "U"
    rate = "1mbit"
    [[hop]]
    name = "h"
    rate = "40mbit"
    [[assert]]
    that = "link.utilization >= 0"
"#;

/// Every table that declares its keys. The settings of `aqm` and `cc` are those of
/// [`disciplines`](crate::disciplines) and [`controls`](crate::controls).
pub fn keys() -> Vec<Keys> {
    let plan = Plan::parse("NAME.toml", LEAST, &[]).unwrap_or_else(|faults| panic!("{faults}"));
    let point = &plan.points[0];
    let scenario = &point.scenario;
    let group = || scenario.groups[0].name.clone();
    let head = Head {
        name: scenario.name.clone(),
        question: None,
        duration: scenario.duration,
        warmup: None,
        seed: scenario.seed,
        host_jitter: scenario.host_jitter,
    };
    // Neither rate nor trace is a default.
    let link =
        LinkDraft { rate: None, offset: Some(Duration::ZERO), ..LinkDraft::of(&scenario.link) };
    let program = ProgramDraft { group: group(), program: scenario.programs[0].clone() };
    vec![
        of("", HEAD, head),
        of("[link]", LINK, link.clone()),
        of("[link.wifi]", WIFI, Wifi::new(Standard::Ax)),
        of("[link.cell]", CELL, Cell::new(Direction::Down)),
        of("[uplink]", &uplink_fields(), link),
        of("[[group]]", GROUP, draft(&scenario.groups[0])),
        of("[[web]]", WEB, web_draft(scenario, &scenario.web[0])),
        of("[[app]]", APP, AppDraft { group: group(), app: scenario.apps[0].clone() }),
        of("[[program]]", PROGRAM, program),
        of("[[udp]]", UDP, scenario.udp[0].clone()),
        of("[[hop]]", HOP, HopDraft::of(&scenario.hops[0], scenario)),
        of("[[path]]", PATH, PathDraft::unset()),
        of("[[assert]]", ASSERT, AssertDraft::of(&point.asserts[0])),
        of("[kernel]", KERNEL, scenario.kernel),
    ]
}

/// The keys of a table, whose unset ones have the values of `sample`.
fn of<T>(table: &'static str, fields: &[Field<T>], mut sample: T) -> Keys {
    let nothing = Item::Other("nothing".to_owned()).into();
    let keys = fields.iter().map(|field| {
        let default = (field.write)(&sample).filter(|_| !field.required);
        let accepted = match (field.read)(&mut sample, &nothing) {
            Ok(()) => "anything".to_owned(),
            Err(refusal) => refusal.expected,
        };
        let Field { name, doc, required, .. } = *field;
        Key { name, doc, required, accepted, default: default.map(|item| item.to_string()) }
    });
    Keys { table, keys: keys.collect() }
}
