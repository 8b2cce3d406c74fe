use l4s_scenario::bundled;
use proptest::prelude::*;

use super::*;

fn presets() -> Presets {
    let live = bundled::find("live").unwrap();
    Presets::new(&live.plan(&[]).unwrap(), "live.toml", Some("live")).unwrap()
}

fn changes(pairs: &[(&str, Option<&str>)]) -> Changes {
    Changes(pairs.iter().map(|(key, value)| (key.to_string(), value.map(str::to_owned))).collect())
}

fn set(pairs: &[(&str, &str)]) -> Changes {
    Changes(pairs.iter().map(|(key, value)| (key.to_string(), Some(value.to_string()))).collect())
}

fn live() -> Document {
    presets().open(&Opening::default()).unwrap()
}

fn text(text: &str) -> Result<Document, Fault> {
    presets().open(&Opening { start: Start::Text(text.to_owned()), set: Changes::default() })
}

/// The keys that are set, in one line.
fn keys(document: &Document) -> String {
    document.set.iter().map(Override::text).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_presets_are_the_runs_of_the_scenario() {
    let presets = presets();
    let labels: Vec<_> = presets.list().into_iter().map(|preset| preset.label).collect();
    let expected = ["DualPI2", "Without AQM", "PIE", "FQ-CoDel", "One greedy download", "Overload"];
    assert_eq!(labels[..6], expected);
    for preset in presets.list() {
        let start = Start::Point(preset.number);
        let document = presets.open(&Opening { start, set: Changes::default() }).unwrap();
        // The default maximum of sessions fits into the budget of a server.
        let most = crate::server::Limits::default();
        let all = document.memory() * most.sessions as u64;
        assert!(all <= most.memory, "{}: {all} B", preset.label);
        let settings = document.settings(1, false, 1.0);
        assert_eq!(settings.point, Some(preset.number));
        let command = format!("--set {}", shell_word(&format!("case={}", preset.label)));
        assert_eq!(settings.command.unwrap(), format!("l4s run live {command}"));
    }
    let beyond = Opening { start: Start::Point(7), set: Changes::default() };
    let fault = presets.open(&beyond).unwrap_err();
    assert_eq!(
        (fault.field.as_str(), fault.message.as_str()),
        ("point", "found 7, expected a preset from 0 to 6")
    );
}

#[test]
fn a_sweep_of_seeds_has_a_preset_for_each() {
    let text = "link.rate = \"4mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [sweep]\nseed = [1, 2]\n\"link.rate\" = [\"4mbit\", \"8mbit\"]";
    let plan = Plan::parse("seeds.toml", text, &["duration=5s".to_owned()]).unwrap();
    let presets = Presets::new(&plan, "seeds.toml", None).unwrap();
    let labels: Vec<_> = presets.list().into_iter().map(|preset| preset.label).collect();
    assert_eq!(labels[3], "link.rate=8mbit, seed=2");
    let start = Start::Point(3);
    let document = presets.open(&Opening { start, set: Changes::default() }).unwrap();
    let scenario = document.scenarios().next().unwrap();
    assert_eq!((scenario.seed, scenario.link.rate.as_bps()), (2, 8_000_000));
    assert_eq!(document.settings(1, false, 1.0).command, None);
    assert_eq!(scenario.duration, ENDLESS);
    let shown = Plan::parse("again.toml", document.text(), &[]).unwrap();
    assert_eq!(shown.points[0].scenario.duration, Duration::from_secs(5));
}

#[test]
fn what_runs_has_no_end_and_what_is_shown_has_its_own() {
    let document = live();
    assert_eq!(document.scenarios().next().unwrap().duration, ENDLESS);
    let shown = Plan::parse("again.toml", document.text(), &[]).unwrap();
    assert_eq!(shown.points[0].scenario, document.lanes[0].point.scenario);
    assert_eq!(shown.points[0].scenario.duration, Duration::from_secs(60));
}

/// The assertions are about the run before the change.
#[test]
fn an_assertion_about_a_queue_does_not_keep_the_discipline_from_being_changed() {
    let scenario = "link.rate = \"4mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                    [[assert]]\nthat = \"queues.L.mark < 1\"\n";
    let document = text(scenario).unwrap().with(0, &set(&[("aqm", "pie")])).unwrap();
    assert!(document.lanes[0].point.asserts.is_empty());
    assert!(!document.text().contains("assert"));
}

#[test]
fn the_command_runs_what_the_text_says() {
    let document = live();
    let document = document.with(0, &set(&[("aqm", "pie"), ("aqm.target", "7ms")])).unwrap();
    let document = document.with(0, &set(&[("group.*.rtt", "20ms")])).unwrap();
    let settings = document.settings(1, false, 1.0);
    let command = settings.command.unwrap();
    assert_eq!(
        command,
        "l4s run live --set case=DualPI2 --set aqm=pie --set aqm.target=7ms --set 'group.*.rtt=20ms'"
    );
    let pins: Vec<String> =
        document.settings_of(0).iter().map(|set| set.text().to_owned()).collect();
    let run = bundled::find("live").unwrap().plan(&pins).unwrap();
    assert_eq!(run.points.len(), 1);
    assert_eq!(run.points[0].scenario, document.lanes[0].point.scenario);
}

#[test]
fn a_key_that_is_set_again_replaces_and_a_table_drops_what_was_below() {
    let document = live().with(0, &set(&[("aqm.target", "7ms"), ("link.rate", "20mbit")])).unwrap();
    assert_eq!(keys(&document), "aqm.target=7ms link.rate=20mbit");
    let again = document.with(0, &set(&[("aqm.target", "8ms")])).unwrap();
    assert_eq!(keys(&again), "link.rate=20mbit aqm.target=8ms");
    let table = again.with(0, &set(&[("aqm", "fifo")])).unwrap();
    assert_eq!(keys(&table), "link.rate=20mbit aqm=fifo");
    assert_eq!(table.settings(1, false, 1.0).lanes[0].aqm.kind, "fifo");
    let cc = table.with(0, &set(&[("group.A.cc.profile", "quick-start")])).unwrap();
    let cc = cc.with(0, &set(&[("group.A.cc", "reno")])).unwrap();
    assert_eq!(keys(&cc), "link.rate=20mbit aqm=fifo group.A.cc=reno");
    let all = cc.with(0, &set(&[("group.A.rtt", "5ms")])).unwrap();
    let all = all.with(0, &set(&[("group.*.rtt", "6ms")])).unwrap();
    assert!(keys(&all).ends_with("group.A.cc=reno group.*.rtt=6ms"), "{}", keys(&all));
    let back = all.with(0, &changes(&[("aqm", None), ("link.rate", None), ("x", None)])).unwrap();
    assert_eq!(keys(&back), "group.A.cc=reno group.*.rtt=6ms");
    assert_eq!(back.settings(1, false, 1.0).lanes[0].aqm.kind, "dualpi2");
}

#[test]
fn a_preset_can_be_set_as_any_key() {
    let document = live().with(0, &set(&[("case", "PIE")])).unwrap();
    assert_eq!(document.settings(1, false, 1.0).lanes[0].aqm.kind, "pie");
    let back = document.with(0, &changes(&[("case", None)])).unwrap();
    assert_eq!(back.settings(1, false, 1.0).lanes[0].aqm.kind, "dualpi2");
}

#[test]
fn the_uplink_is_set_as_the_bottleneck_is() {
    let rrul = bundled::find("rrul").unwrap();
    let presets = Presets::new(&rrul.plan(&[]).unwrap(), "rrul.toml", Some("rrul")).unwrap();
    let document = presets.open(&Opening::default()).unwrap();
    let of =
        |document: &Document| document.settings(1, false, 1.0).lanes[0].uplink.clone().unwrap();
    let uplink = of(&document);
    assert_eq!((uplink.link.rate.as_str(), uplink.link.rate_bps), ("20mbit", 20e6));
    assert_eq!(
        (uplink.aqm.kind.as_str(), uplink.aqm.queues.as_slice()),
        ("dualpi2", &["L", "C"][..])
    );
    let settings = document.settings(1, false, 1.0);
    assert_eq!(
        settings.groups.iter().map(|group| group.up).collect::<Vec<_>>(),
        [false, false, true, true]
    );
    assert_eq!(settings.udp.iter().map(|udp| udp.up).collect::<Vec<_>>(), [false, true]);
    let sets = [("uplink.rate", "5mbit"), ("uplink.aqm.target", "7ms")];
    let next = document.with(0, &set(&sets)).unwrap();
    assert_eq!((of(&next).link.rate_bps, of(&next).aqm.values["target"].as_str()), (5e6, "7ms"));
    // It goes on without a restart, and the bottleneck stays the same.
    let [old, new] = [&document, &next].map(|document| document.scenarios().next().unwrap());
    assert!(old.adaptable(new) && old.aqm == new.aqm);
    let other = next.with(0, &set(&[("uplink.aqm", "fifo")])).unwrap();
    assert_eq!(keys(&other), "uplink.rate=5mbit uplink.aqm=fifo");
    // Limits of a session hold for it, and both lanes of a comparison have it.
    for (key, value, field) in [
        ("uplink.rate", "11gbit", "uplink.rate"),
        ("uplink.buffer", "300000p", "uplink.buffer"),
        ("at", "[{ time = \"1s\", uplink.rate = \"11gbit\" }]", "uplink.rate"),
        (
            "at",
            "[{ time = \"1s\", uplink.aqm = { kind = \"fifo\", limit = \"300000p\" } }]",
            "uplink.buffer",
        ),
    ] {
        assert_eq!(
            document.with(0, &set(&[(key, value)])).unwrap_err().field,
            field,
            "{key}={value}"
        );
    }
    let two = document.comparing(Some(&set(&[("aqm", "pie")]))).unwrap();
    assert_eq!(two.with(1, &set(&sets)).unwrap_err().field, "uplink.rate");
    assert!(two.scenarios().all(|scenario| scenario.uplink == old.uplink));
    assert!(live().with(0, &set(&[("uplink.aqm", "fifo")])).is_err(), "there is none");
}

#[test]
fn paths_are_set_by_their_name() {
    let imperfect = bundled::find("imperfect-path").unwrap();
    let plan = imperfect.plan(&[]).unwrap();
    let presets = Presets::new(&plan, "imperfect-path.toml", Some("imperfect-path")).unwrap();
    let document = presets.open(&Opening::default()).unwrap();
    let sets = [("path.far.loss", "0.01"), ("path.up.jitter", "2ms")];
    let next = document.with(0, &set(&sets)).unwrap();
    let [far, up] = &next.settings(1, false, 1.0).paths[..] else { panic!("two paths") };
    assert_eq!(
        (far.loss.as_str(), far.loss_chance, far.jitter_ms),
        ("0.01", Some(0.01), Some(0.0))
    );
    assert_eq!((up.up, up.jitter.as_str(), up.jitter_ms), (true, "2ms", Some(2.0)));
    let [old, new] = [&document, &next].map(|document| document.scenarios().next().unwrap());
    assert!(old.adaptable(new));
    let bursts =
        next.with(0, &set(&[("path.far.loss", "{ to_bad = 0.1, to_good = 0.5 }")])).unwrap();
    assert_eq!(bursts.settings(1, false, 1.0).paths[0].loss_chance, None);
    assert_eq!(next.with(0, &set(&[("path.far.loss", "1.5")])).unwrap_err().field, "path.far.loss");
    // That of the plain command does nothing yet.
    let idle = &live().settings(1, false, 1.0).paths[0];
    assert_eq!((idle.loss_chance, idle.jitter_ms), (Some(0.0), Some(0.0)));
}

#[test]
fn a_rate_takes_the_place_of_a_radio_in_another_run() {
    let text = "link.wifi.stations = 1\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n";
    let document = self::text(text).unwrap();
    let other = document.with(0, &set(&[("link.rate", "9mbit")])).unwrap();
    let link = other.settings(1, false, 1.0).lanes.remove(0).link;
    assert_eq!((link.rate.as_str(), link.trace), ("9mbit", None));
    let [old, new] = [&document, &other].map(|document| document.scenarios().next().unwrap());
    assert!(!old.adaptable(new));
    let rate = |document: &Document| {
        let link = document.settings(1, false, 1.0).lanes.remove(0).link;
        assert_eq!((link.rate.as_str(), link.trace.as_deref()), ("", Some("wifi")));
        link.rate_bps
    };
    let more = document.with(0, &set(&[("link.wifi.stations", "4")])).unwrap();
    assert!(rate(&more) < rate(&document));
}

#[test]
fn viewers_choose_a_bundled_trace_or_a_rate_in_its_place() {
    let text = "link.trace = \"lte-1\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n";
    let document = self::text(text).unwrap();
    let other = document.with(0, &set(&[("link.rate", "9mbit")])).unwrap();
    let link = other.settings(1, false, 1.0).lanes.remove(0).link;
    assert_eq!((link.rate.as_str(), link.trace), ("9mbit", None));
    // Both at once exclude each other.
    let fault = other.with(0, &set(&[("link.trace", "5g-1")])).unwrap_err();
    assert!(fault.message.contains("already"), "{}", fault.message);
    let lane = &document.settings(1, false, 1.0).lanes[0];
    assert_eq!((lane.link.rate.as_str(), lane.link.trace.as_deref()), ("", Some("lte-1")));
    assert_eq!(live().settings(1, false, 1.0).lanes[0].link.trace, None);
    let scaled = document.with(0, &set(&[("link.trace_scale", "7mbit")])).unwrap();
    assert_eq!(scaled.settings(1, false, 1.0).lanes[0].link.rate_bps, 7e6);
    let other = document.with(0, &set(&[("link.trace", "5g-1")])).unwrap();
    // Another trace needs another run.
    let [old, new] = [&document, &other].map(|document| document.scenarios().next().unwrap());
    assert!(!old.adaptable(new));
    assert!(old.adaptable(old));
}

#[test]
fn viewers_read_no_file_and_the_operator_does() {
    let folder = std::env::temp_dir().join(format!("l4s-live-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("t.csv"), "time_s,rate_mbps\n0,5\n1,15\n2,\n").unwrap();
    std::fs::write(folder.join("other.csv"), "time_s,rate_mbps\n0,secret\n").unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let group = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n";
    let text =
        format!("link.trace = \"lte-1\"\n{group}[sweep]\n\"link.trace\" = [\"t.csv\", \"lte-1\"]");
    let name = path("mine.toml");
    let files = Files::of(&name);
    let plan = Plan::parse_with(&name, &text, &[], &files).unwrap();
    // Without files there is no session at all.
    assert!(Presets::new(&plan, &name, None).is_err());
    let presets = Presets::with_files(&plan, &name, None, &files).unwrap();
    let document = presets.open(&Opening::default()).unwrap();
    assert_eq!(document.scenarios().next().unwrap().link.rate.as_bps(), 10_000_000);

    let refused = |fault: Fault| {
        assert!(fault.message.contains("expected a bundled trace"), "{}", fault.message);
        assert!(!fault.message.contains("secret") && !fault.message.contains("No such"));
    };
    for name in [path("other.csv"), path("none.csv"), "/etc/passwd".to_owned()] {
        let quoted = format!("{{ trace = \"{name}\" }}");
        refused(document.with(0, &set(&[("link.trace", &name)])).unwrap_err());
        let opening = Opening { start: Start::Point(0), set: set(&[("link.trace", &name)]) };
        refused(presets.open(&opening).unwrap_err());
        let whole = document.with(0, &set(&[("link", &quoted)])).unwrap_err();
        assert!(!whole.message.contains("secret"), "{}", whole.message);
        let text = format!("link.trace = \"{name}\"\n{group}");
        let opening = Opening { start: Start::Text(text), set: Changes::default() };
        refused(presets.open(&opening).unwrap_err());
    }
    // Nor does the text that is shown open the operator's file for others.
    let opening =
        Opening { start: Start::Text(document.text().to_owned()), set: Changes::default() };
    refused(presets.open(&opening).unwrap_err());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn all_keys_are_set_or_none_and_the_fault_names_its_key() {
    let document = live().with(0, &set(&[("link.rate", "20mbit")])).unwrap();
    let fault = |pairs: &[(&str, &str)]| document.with(0, &set(pairs)).unwrap_err();
    let typo = fault(&[("group.A.rtt", "5ms"), ("link.rat", "1mbit")]);
    assert_eq!(typo.field, "link.rat");
    assert_eq!(
        typo.message,
        "`link.rat`: unknown key, expected `rate`, `trace`, `trace_offset`, `trace_scale`, \
         `buffer`, `burst`, `ack_loss`, `aggregation`, `wifi` or `cell`"
    );
    assert_eq!(typo.help.unwrap(), "did you mean `rate`?");
    assert_eq!(fault(&[("aqm.target", "9s")]).field, "aqm.target");
    assert_eq!(fault(&[("aqm", "dualpi")]).help.unwrap(), "did you mean \"dualpi2\"?");
    assert_eq!(fault(&[("udp.X.rate", "1mbit")]).field, "udp.X.rate");
    assert_eq!(fault(&[("link.rate=1mbit --set x", "1")]).field, "link.rate=1mbit --set x");
    assert_eq!(fault(&[("name", "a\nb")]).field, "name");
    assert_eq!(fault(&[("", "1")]).field, "");
    assert_eq!(fault(&[("sweep", "{}")]).field, "sweep");
    assert_eq!(keys(&document), "link.rate=20mbit");
}

#[test]
fn settings_have_the_values_of_the_discipline_as_set_takes_them() {
    let prague = "{ kind = \"prague\", profile = \"best\" }";
    let sets = [("aqm.target", "7ms"), ("web.A.rate", "5/s"), ("group.A.cc", prague)];
    let document = live().with(0, &set(&sets)).unwrap();
    let settings = document.settings(3, true, 0.5);
    let aqm = &settings.lanes[0].aqm;
    assert_eq!(
        (aqm.kind.as_str(), aqm.profile.as_str(), aqm.queues.as_slice()),
        ("dualpi2", "best", &["L", "C"][..])
    );
    assert_eq!(aqm.values["target"], "7ms");
    assert!(!aqm.values.contains_key("kind") && !aqm.values.contains_key("profile"));
    // Each of them accepts its present value.
    for (key, value) in &aqm.values {
        let same = document.with(0, &set(&[(&format!("aqm.{key}"), value)])).unwrap();
        assert_eq!(same.lanes[0].endless.aqm, document.lanes[0].endless.aqm, "{key}");
    }
    let [a, b] = &settings.groups[..] else { panic!("two groups") };
    assert_eq!((a.cc.as_str(), a.cc_profile.as_str(), a.ecn.as_str()), ("prague", "best", "auto"));
    assert_eq!((b.rtt.as_str(), b.rtt_ms, b.flows), ("10ms", 10.0, 1));
    assert_eq!(a.web.as_ref().unwrap().per_s, 5.0);
    assert_eq!(b.app.as_ref().unwrap().rate, "0bit");
    assert_eq!((settings.udp[0].rate.as_str(), settings.udp[0].ecn.as_str()), ("0bit", "ect1"));
    assert_eq!((settings.number, settings.paused, settings.speed), (3, true, 0.5));
    let json = serde_json::to_value(&settings).unwrap();
    assert_eq!(json["type"], "settings");
    assert_eq!(json["set"]["aqm.target"], "7ms");
}

#[test]
fn a_second_lane_differs_in_its_discipline_only() {
    let document = live().comparing(Some(&set(&[("aqm", "pie")]))).unwrap();
    let kinds = |document: &Document| -> Vec<String> {
        document.scenarios().map(|scenario| scenario.aqm.kind().to_owned()).collect()
    };
    assert_eq!(kinds(&document), ["dualpi2", "pie"]);
    let second = document.with(1, &set(&[("aqm.target", "3ms")])).unwrap();
    let settings = second.settings(1, false, 1.0);
    assert_eq!(settings.lanes[1].set["aqm.target"], "3ms");
    assert_eq!(settings.lanes[1].aqm.values["target"], "3ms");
    assert!(settings.lanes[0].set.is_empty() && settings.set.is_empty());
    // The traffic is set for both lanes, the discipline for one.
    let both = second.with(0, &set(&[("link.rate", "9mbit"), ("aqm", "codel")])).unwrap();
    assert_eq!(kinds(&both), ["codel", "pie"]);
    assert!(both.scenarios().all(|scenario| scenario.link.rate.as_bps() == 9_000_000));
    assert_eq!(document.with(1, &set(&[("link.rate", "9mbit")])).unwrap_err().field, "link.rate");
    assert_eq!(live().with(1, &set(&[("aqm", "pie")])).unwrap_err().field, "lane");
    assert_eq!(live().with(2, &set(&[("aqm", "pie")])).unwrap_err().field, "lane");
    assert_eq!(kinds(&both.comparing(None).unwrap()), ["codel"]);
    // Settings that the second lane cannot have are refused in both.
    let tuned = live().comparing(Some(&set(&[("aqm.k", "3")]))).unwrap();
    let fault = tuned.with(0, &set(&[("aqm", "pie")])).unwrap_err();
    assert_eq!(fault.field, "aqm.k");
    assert!(fault.message.starts_with("in the second lane: `aqm.k`: unknown setting"), "{fault}");
}

#[test]
fn a_text_is_a_scenario_of_its_own_and_its_first_run() {
    let simple =
        "[link]\nrate = \"4mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n";
    let document = text(simple).unwrap();
    let settings = document.settings(1, false, 1.0);
    assert_eq!((settings.point, settings.command), (None, None));
    let sweep = text(&format!("{simple}[sweep]\n\"link.rate\" = [\"5mbit\", \"6mbit\"]")).unwrap();
    assert_eq!(sweep.settings(1, false, 1.0).lanes[0].link.rate, "5mbit");
    let set = sweep.with(0, &set(&[("link.rate", "7mbit")])).unwrap();
    assert_eq!(set.settings(1, false, 1.0).lanes[0].link.rate, "7mbit");
    let fault = text("[lnik]").unwrap_err();
    assert_eq!(fault.field, "text");
    assert!(fault.message.contains("scenario.toml:1:2: `lnik`"), "{fault}");
    assert_eq!(text(&"#".repeat(limits::TEXT + 1)).unwrap_err().field, "text");
}

#[test]
fn a_text_that_is_deep_or_wide_is_refused_in_a_small_stack() {
    let n = limits::TEXT / 4;
    let dots = vec!["a"; n].join(".");
    let group = "[[group]]\nname=\"A\"\ncc=\"reno\"\nrtt=\"1ms\"\nflows=100000\n";
    let texts = [
        format!("a = {}", "[".repeat(n)),
        format!("a = {}{}", "[".repeat(n), "]".repeat(n)),
        format!("a = {}", "{a=".repeat(n)),
        format!("a = {}1{}", "{a=".repeat(n / 2), "}".repeat(n / 2)),
        format!("{dots} = 1"),
        format!("[{dots}]"),
        format!("[[{dots}]]"),
        format!("[sweep]\n{dots} = [1]"),
        format!("[sweep]\n\"{dots}\" = [1]"),
        format!("[[sweep.case]]\n{dots} = 1"),
        format!("x = {{ {dots} = 1 }}"),
        format!("link.rate = \"1mbit\"\n{}", group.repeat(1000)),
        "\"".repeat(n),
        "'''".repeat(n),
        "#".repeat(n),
        "\n".repeat(n),
        "[a]\n".repeat(n),
        "[[group]]\n".repeat(n / 3),
        "[[at]]\n".repeat(n / 3),
    ];
    let refused = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for text in texts {
            assert!(text.len() <= limits::TEXT, "{}", text.len());
            self::text(&text).unwrap_err();
        }
        let deep = [
            "[".repeat(4000),
            "{a=".repeat(1300),
            format!("{{{}=1}}", vec!["a"; 2000].join(".")),
            vec!["a"; 2000].join("."),
        ];
        for value in &deep {
            for key in ["aqm", "link.rate", "group.A.start", "web.A.size", "at", "udp"] {
                live().with(0, &set(&[(key, value)])).unwrap_err();
            }
            live().with(0, &set(&[(value, "1")])).unwrap_err();
            live().with(0, &set(&[(&format!("at.1.{value}"), "1")])).unwrap_err();
        }
    });
    refused.unwrap().join().unwrap();
}

#[test]
fn what_is_too_much_for_a_session_is_refused() {
    let refused = |pairs: &[(&str, &str)]| live().with(0, &set(pairs)).unwrap_err();
    assert_eq!(
        refused(&[("group.A.flows", "98")]).message,
        "found 101 flows of groups and applications, expected at most 100 in a live session"
    );
    assert_eq!(refused(&[("link.rate", "11gbit")]).field, "link.rate");
    assert_eq!(refused(&[("udp.U.rate", "11gbit")]).field, "udp");
    assert_eq!(refused(&[("app.A.rate", "11gbit")]).field, "app");
    assert_eq!(refused(&[("app.A.fps", "10000")]).field, "app");
    assert_eq!(refused(&[("web.*.rate", "501/s")]).field, "web");
    assert_eq!(refused(&[("link.rate", "10gbit"), ("group.A.rtt", "1s")]).field, "group.rtt");
    assert_eq!(refused(&[("link.buffer", "300000p")]).field, "link.buffer");
    assert_eq!(refused(&[("link.buffer", "400mb")]).field, "link.buffer");
    live().with(0, &set(&[("link.rate", "10gbit"), ("group.A.flows", "97")])).unwrap();
    let many: Vec<(String, String)> =
        (0..=limits::KEYS).map(|i| (format!("link.x{i}"), "1".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(refused(&many).field, "set");
}

/// The settings of a command, often almost right.
fn a_change() -> impl Strategy<Value = (String, Option<String>)> {
    const KEYS: &[&str] =
        &["link.rate", "aqm", "aqm.target", "aqm.k", "group.A.cc", "group.*.rtt", "case", "seed"];
    const VALUES: &[&str] =
        &["20mbit", "pie", "7ms", "3", "reno", "PIE", "{ kind = \"codel\" }", "[]", ""];
    let one_of = |words| prop::sample::select(words).prop_map(str::to_owned);
    let key = prop_oneof![8 => one_of(KEYS), 1 => "\\PC{0,12}"];
    let value = prop_oneof![8 => one_of(VALUES), 1 => "\\PC{0,12}"];
    (key, prop::option::weighted(0.8, value))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_life_of_a_session_is_one_that_the_command_line_can_have(
        commands in prop::collection::vec((0..4usize, prop::collection::vec(a_change(), 0..3)), 0..8)
    ) {
        let mut document = live();
        for (what, changes) in commands {
            let changes = Changes(changes);
            let next = match what {
                0 => document.comparing(Some(&changes)),
                1 => document.with(1, &changes),
                _ => document.with(0, &changes),
            };
            match next {
                Ok(next) => document = next,
                Err(fault) => prop_assert!(!fault.message.is_empty()),
            }
            let shown = Plan::parse("again.toml", document.text(), &[]).unwrap();
            prop_assert_eq!(&shown.points[0].scenario, &document.lanes[0].point.scenario);
            let pins: Vec<String> =
                document.settings_of(0).iter().map(|set| set.text().to_owned()).collect();
            let run = bundled::find("live").unwrap().plan(&pins).unwrap();
            prop_assert_eq!(run.points.len(), 1);
            prop_assert_eq!(&run.points[0].scenario, &document.lanes[0].point.scenario);
        }
    }

    #[test]
    fn any_message_is_a_command_or_refused(text in "\\PC{0,80}", what in 0..6usize) {
        use crate::protocol::Command;
        let does = ["set", "load", "compare", "restart", "pause", "speed"][what];
        for message in [text.clone(), format!("{{\"do\":\"{does}\",{text}}}")] {
            if let Err(fault) = Command::read(&message) {
                prop_assert!(!fault.message.is_empty() && fault.message.len() <= 2000);
            }
        }
    }
}

/// A sweep of 65,536 runs, all of them skipped by 2000 tables.
fn endless() -> String {
    let list = |what: &dyn Fn(u32) -> String| (1..=256).map(what).collect::<Vec<_>>().join(", ");
    let bursts = list(&|n| format!("\"{}b\"", 2000 + n));
    let skip = |seed: u32| format!("[[sweep.skip]]\nseed = {seed}\n");
    let skips: String = std::iter::repeat_n(256, 1744).chain(1..=256).map(skip).collect();
    let seeds = list(&|n| n.to_string());
    format!(
        "link.rate = \"10mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
         [sweep]\nseed = [{seeds}]\n\"link.burst\" = [{bursts}]\n{skips}"
    )
}

#[test]
fn a_long_sweep_is_read_at_once_and_not_when_nobody_waits() {
    // It is within the budget: skipped combinations are removed early.
    let fault = text(&endless()).unwrap_err();
    assert!(fault.message.contains("leaves no run"), "{fault}");
    let opening = Opening { start: Start::Text(endless()), set: Changes::default() };
    let given_up = Arc::new(AtomicBool::new(true));
    let fault = presets().open_unless(&opening, given_up).unwrap_err();
    assert!(fault.message.contains("cancelled"), "{fault}");
    // A document that is given up later does no more work.
    let given_up = Arc::new(AtomicBool::new(false));
    let document = presets().open_unless(&Opening::default(), given_up.clone()).unwrap();
    given_up.store(true, Ordering::Relaxed);
    let fault = document.with(0, &set(&[("link.rate", "10mbit")])).unwrap_err();
    assert!(fault.message.contains("cancelled"), "{fault}");
}
