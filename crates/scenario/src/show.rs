//! The way back: a resolved scenario as TOML, with every default spelled out.

use std::fmt::Write;

use l4s_model::{Change, Group, Link, Radio, Scenario, Web};
use l4s_units::param::{Configurable, Profile};
use l4s_units::{Duration, Time};

use crate::field::Field;
use crate::schema::{
    APP, ASSERT, AppDraft, AssertDraft, CELL, GROUP, GroupDraft, HEAD, HOP, Head, HopDraft, KERNEL,
    LINK, LinkDraft, PATH, PROGRAM, PathDraft, ProgramDraft, Start, UDP, WEB, WIFI, WebDraft,
    jitter_item, loss_item, set_limit, uplink_draft, uplink_fields,
};
use crate::tree::{self, Entry, Item, Table, text};
use crate::{Point, settings};

/// Where comments start, when the value leaves room.
const COMMENT: usize = 36;

/// The run as TOML that reads back as the same scenario, each key with its meaning.
pub fn show(point: &Point, question: Option<&str>) -> String {
    Shown::new(point, question).text
}

/// A run as text, and as the tree that this text reads as.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub text: String,
    pub root: Table,
    /// The table that is written: its key, and the key of a table within it.
    at: Vec<&'static str>,
}

impl Shown {
    pub fn new(point: &Point, question: Option<&str>) -> Shown {
        let scenario = &point.scenario;
        let mut out = Shown::default();
        let head = Head {
            name: scenario.name.clone(),
            question: question.map(str::to_owned),
            duration: scenario.duration,
            warmup: Some(scenario.warmup),
            seed: scenario.seed,
            host_jitter: scenario.host_jitter,
        };
        out.fields(HEAD, &head);
        out.table("link");
        out.fields(LINK, &LinkDraft::of(&scenario.link));
        out.radio(&scenario.link);
        out.table("aqm");
        out.aqm(&scenario.aqm, &scenario.link);
        if let Some(uplink) = &scenario.uplink {
            out.table("uplink");
            out.fields(&uplink_fields(), &uplink_draft(uplink));
            out.radio(&uplink.link);
            out.inner("aqm");
            out.aqm(&uplink.aqm, &uplink.link);
        }
        for group in &scenario.groups {
            out.next_of("group");
            out.fields(GROUP, &draft(group));
            out.inner("cc");
            out.control(&group.cc);
        }
        for web in &scenario.web {
            out.next_of("web");
            out.fields(WEB, &web_draft(scenario, web));
        }
        for app in &scenario.apps {
            out.next_of("app");
            let group = scenario.groups[app.group].name.clone();
            out.fields(APP, &AppDraft { group, app: app.clone() });
        }
        for program in &scenario.programs {
            out.next_of("program");
            let group = scenario.groups[program.group].name.clone();
            out.fields(PROGRAM, &ProgramDraft { group, program: program.clone() });
        }
        for udp in &scenario.udp {
            out.next_of("udp");
            out.fields(UDP, udp);
        }
        for hop in &scenario.hops {
            out.next_of("hop");
            out.fields(HOP, &HopDraft::of(hop, scenario));
            out.radio(&hop.link);
            out.inner("aqm");
            out.aqm(&hop.aqm, &hop.link);
        }
        for path in &scenario.paths {
            out.next_of("path");
            out.fields(PATH, &PathDraft::of(path, scenario));
        }
        for change in &scenario.changes {
            out.change(scenario, change);
        }
        for assert in &*point.asserts {
            out.next_of("assert");
            out.fields(ASSERT, &AssertDraft::of(assert));
        }
        out.table("kernel");
        out.fields(KERNEL, &scenario.kernel);
        out
    }

    /// Begins `[key]`.
    fn table(&mut self, key: &'static str) {
        let _ = write!(self.text, "\n[{key}]\n");
        self.at = vec![key];
    }

    /// Begins the next `[[list]]`.
    fn next_of(&mut self, list: &'static str) {
        let _ = write!(self.text, "\n[[{list}]]\n");
        self.at = vec![list];
        self.root.push(list);
    }

    /// Begins `[list.key]`, within the last `[[list]]`.
    fn inner(&mut self, key: &'static str) {
        self.at.push(key);
        let _ = writeln!(self.text, "[{}]", self.at.join("."));
    }

    /// Writes a key, dotted where there are several, into the table that was begun.
    fn line(&mut self, keys: &[&str], width: usize, value: Item, doc: &str) {
        let name = keys.iter().map(|key| tree::key(key)).collect::<Vec<_>>().join(".");
        let assignment = format!("{name:width$} = {value}");
        let _ = writeln!(self.text, "{assignment:COMMENT$}  # {doc}");
        let mut table = &mut self.root;
        for key in &self.at {
            table = table.last_mut(key);
        }
        if let [tables @ .., key] = keys {
            for key in tables {
                table = table.last_mut(key);
            }
            table.set(Entry::new(key, value));
        }
    }

    fn fields<T>(&mut self, fields: &[Field<T>], value: &T) {
        let width = fields.iter().map(|field| field.name.len()).max().unwrap_or(0);
        for field in fields {
            if let Some(item) = (field.write)(value) {
                self.line(&[field.name], width, item, field.doc);
            }
        }
    }

    /// Writes the radio of a link into its table, which was begun.
    fn radio(&mut self, link: &Link) {
        let Some(radio) = &link.radio else { return };
        self.inner(radio.name());
        match radio {
            Radio::Wifi(wifi) => self.fields(WIFI, wifi),
            Radio::Cell(cell) => self.fields(CELL, cell),
        }
        self.at.pop();
    }

    fn change(&mut self, scenario: &Scenario, change: &Change) {
        self.next_of("at");
        let doc = "when it changes, for the rest of the run";
        self.line(&["time"], 4, text(change.time), doc);
        if let Some(rate) = change.rate {
            self.line(&["link", "rate"], 9, text(rate), "the rate of the link");
        }
        for (group, rtt) in &change.rtts {
            let name = &scenario.groups[*group].name;
            let doc = "the base round trip: a re-route";
            self.line(&["group", name, "rtt"], 0, text(rtt), doc);
        }
        if let Some(rate) = change.uplink_rate {
            self.line(&["uplink", "rate"], 11, text(rate), "the rate of the uplink");
        }
        for (path, change) in &change.paths {
            let name = &scenario.paths[*path].name;
            if let Some(loss) = &change.loss {
                self.line(&["path", name, "loss"], 0, loss_item(loss), "which packets it loses");
            }
            if let Some(jitter) = &change.jitter {
                self.line(&["path", name, "jitter"], 0, jitter_item(jitter), "its random delay");
            }
        }
        if let Some(config) = &change.aqm {
            self.inner("aqm");
            self.aqm(config, &scenario.link);
        }
        if let Some((config, uplink)) = change.uplink_aqm.as_ref().zip(scenario.uplink.as_ref()) {
            self.at = vec!["at", "uplink"];
            self.inner("aqm");
            self.aqm(config, &uplink.link);
        }
    }

    fn aqm(&mut self, aqm: &l4s_aqm::Config, link: &Link) {
        macro_rules! write {
            ($variant:ident, $module:ident) => {
                if let l4s_aqm::Config::$variant(config) = aqm {
                    // A limit that the buffer sets need not, and in another unit cannot, be said
                    // twice.
                    let prepare = |start: &mut l4s_aqm::$module::Config| {
                        set_limit(start, |c| &mut c.limit, link.buffer, link.rate);
                        let of = |limit: &l4s_aqm::Limit| (limit.packets, limit.bytes);
                        if of(&start.limit) == of(&config.limit) { "limit" } else { "" }
                    };
                    self.configuration(config, &prepare);
                }
            };
        }
        l4s_aqm::for_each_discipline!(write);
    }

    fn control(&mut self, cc: &l4s_cc::Config) {
        macro_rules! write {
            ($variant:ident, $module:ident) => {
                if let l4s_cc::Config::$variant(config) = cc {
                    self.configuration(config, &|_| "");
                }
            };
        }
        l4s_cc::for_each_control!(write);
    }

    /// Writes the profile that `config` is nearest to, and its settings. `prepare` changes a
    /// profile as reading does before any setting is applied, and returns a setting that need not be
    /// written then.
    fn configuration<C: Configurable + PartialEq>(
        &mut self,
        config: &C,
        prepare: &dyn Fn(&mut C) -> &'static str,
    ) {
        let width = C::PARAMS.iter().map(|param| param.name.len()).max().unwrap_or(0);
        let width = width.max("profile".len());
        self.line(&["kind"], width, text(C::KIND), C::ABOUT);
        let Some((profile, skip)) = nearest(config, prepare) else { return };
        self.line(&["profile"], width, text(profile.name), profile.doc);
        for param in C::PARAMS.iter().filter(|param| param.name != skip) {
            if let Some(value) = (param.get)(config) {
                let doc = format!("{} ({})", param.doc, param.kind);
                self.line(&[param.name], width, settings::item(value), &doc);
            }
        }
    }
}

/// The profile that differs in the fewest settings: the original one, or an equivalent; and
/// the setting that need not be written beside it. An equivalent profile also agrees in settings that
/// are not shown because they have no effect at present: a later change of another setting may give
/// them one.
fn nearest<C: Configurable + PartialEq>(
    config: &C,
    prepare: &dyn Fn(&mut C) -> &'static str,
) -> Option<(&'static Profile<C>, &'static str)> {
    let tried = C::PROFILES.iter().map(|profile| {
        let (mut start, mut different) = ((profile.make)(), 0);
        let skip = prepare(&mut start);
        for param in C::PARAMS.iter().filter(|param| param.name != skip) {
            let value = (param.get)(config);
            different += usize::from((param.get)(&start) != value);
            if let Some(value) = value {
                (param.set)(&mut start, value);
            }
        }
        ((start != *config, different), (profile, skip))
    });
    tried.min_by_key(|(difference, _)| *difference).map(|(_, best)| best)
}

pub(crate) fn draft(group: &Group) -> GroupDraft {
    GroupDraft {
        name: group.name.clone(),
        direction: group.direction,
        endpoint: group.endpoint,
        ack_eliciting_threshold: group.ack_eliciting_threshold.into(),
        ecn: group.ecn,
        peer: group.peer,
        accecn: group.accecn,
        flows: group.starts.len() as u64,
        rtt: group.rtt,
        start: start(&group.starts),
        size: group.size,
        mss: group.mss,
        initial_window: group.initial_window.into(),
        rcvbuf: group.rcvbuf,
        sndbuf: group.sndbuf,
    }
}

pub(crate) fn web_draft(scenario: &Scenario, web: &Web) -> WebDraft {
    let group = scenario.groups[web.group].name.clone();
    let Web { rate, size, start, stop, .. } = *web;
    WebDraft { group, rate, per_mbit: false, size, start, stop }
}

/// The shortest way to write these starts.
fn start(starts: &[Time]) -> Start {
    match starts {
        [] => Start::At(Time::ZERO),
        [first, rest @ ..] if rest.iter().all(|start| start == first) => Start::At(*first),
        [first, second, ..] => {
            let span: Duration = second.since(*first);
            let even = (0..).zip(starts).all(|(i, start)| *start == Time::ZERO + span * i);
            if even { Start::Every(span) } else { Start::List(starts.to_vec()) }
        }
        [only] => Start::At(*only),
    }
}
