//! Whatever a viewer sends, it is read or refused; what is read is carried out or refused, and all of
//! it or nothing.
//!
//! `cargo +nightly fuzz run live_command -- -max_total_time=60`.

#![no_main]

use std::sync::LazyLock;

use l4s_live::document::{Document, Presets};
use l4s_live::protocol::{Command, Opening, Request};
use l4s_scenario::{Plan, bundled};
use libfuzzer_sys::fuzz_target;

static PRESETS: LazyLock<Presets> = LazyLock::new(|| {
    let live = bundled::find("live").expect("it is bundled");
    let plan = live.plan(&[]).expect("it is right");
    Presets::new(&plan, "live.toml", Some("live")).expect("it is small")
});

fuzz_target!(|bytes: &[u8]| {
    if let Ok(opening) = Request::read(bytes) {
        let _ = PRESETS.open(&opening);
    }
    let text = String::from_utf8_lossy(bytes);
    let mut document = PRESETS.open(&Opening::default()).expect("the first preset");
    // A session: a command per line.
    for line in text.lines().take(8) {
        let next = match Command::read(line) {
            Ok(Command::Set { set, lane, .. }) => document.with(lane, &set),
            Ok(Command::Load { point, text, set, .. }) => {
                Opening::new(point, text, set).and_then(|opening| PRESETS.open(&opening))
            }
            Ok(Command::Compare { set, .. }) => document.comparing(set.as_ref()),
            Ok(_) | Err(_) => continue,
        };
        match next {
            Ok(next) => {
                stands(&next);
                document = next;
            }
            Err(fault) => assert!(!fault.message.is_empty()),
        }
    }
});

/// What runs is what is shown.
fn stands(document: &Document) {
    let again = Plan::parse("again.toml", document.text(), &[]).expect("what is shown reads back");
    let scenario = document.scenarios().next().expect("a lane");
    assert_eq!(again.points[0].scenario.aqm, scenario.aqm);
    assert_eq!(again.points[0].scenario.groups, scenario.groups);
    serde_json::to_string(&document.settings(1, false, 1.0)).expect("settings can be written");
}
