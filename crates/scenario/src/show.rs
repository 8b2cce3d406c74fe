//! The way back: a resolved scenario as TOML, with every default spelled out.

use std::fmt::Write;

use l4s_model::{Change, Group, Link, Scenario, Web};
use l4s_units::param::{Configurable, Profile};
use l4s_units::{Duration, Time};

use crate::field::Field;
use crate::schema::{
    APP, AppDraft, GROUP, GroupDraft, HEAD, HOP, Head, HopDraft, KERNEL, LINK, Start, UDP, WEB,
    WebDraft, set_limit,
};
use crate::tree::{self, quoted};
use crate::{Point, settings};

/// Where comments start, when the value leaves room.
const COMMENT: usize = 36;

/// The run as TOML that reads back as the same scenario, each key with its meaning.
pub fn show(point: &Point, question: Option<&str>) -> String {
    let scenario = &point.scenario;
    let mut out = String::new();
    let head = Head {
        name: scenario.name.clone(),
        question: question.map(str::to_owned),
        duration: scenario.duration,
        warmup: Some(scenario.warmup),
        seed: scenario.seed,
    };
    table(&mut out, HEAD, &head);
    out.push_str("\n[link]\n");
    table(&mut out, LINK, &scenario.link);
    out.push_str("\n[aqm]\n");
    aqm(&mut out, &scenario.aqm, &scenario.link);
    for group in &scenario.groups {
        out.push_str("\n[[group]]\n");
        table(&mut out, GROUP, &draft(group));
        out.push_str("[group.cc]\n");
        control(&mut out, &group.cc);
    }
    for web in &scenario.web {
        out.push_str("\n[[web]]\n");
        table(&mut out, WEB, &web_draft(scenario, web));
    }
    for app in &scenario.apps {
        out.push_str("\n[[app]]\n");
        let group = scenario.groups[app.group].name.clone();
        table(&mut out, APP, &AppDraft { group, app: app.clone() });
    }
    for udp in &scenario.udp {
        out.push_str("\n[[udp]]\n");
        table(&mut out, UDP, udp);
    }
    for hop in &scenario.hops {
        out.push_str("\n[[hop]]\n");
        table(&mut out, HOP, &HopDraft::of(hop, scenario));
        out.push_str("[hop.aqm]\n");
        aqm(&mut out, &hop.aqm, &hop.link);
    }
    for change in &scenario.changes {
        at(&mut out, scenario, change);
    }
    out.push_str("\n[kernel]\n");
    table(&mut out, KERNEL, &scenario.kernel);
    out
}

fn line(out: &mut String, name: &str, width: usize, value: &str, doc: &str) {
    let assignment = format!("{name:width$} = {value}");
    let _ = writeln!(out, "{assignment:COMMENT$}  # {doc}");
}

fn table<T>(out: &mut String, fields: &[Field<T>], value: &T) {
    let width = fields.iter().map(|field| field.name.len()).max().unwrap_or(0);
    for field in fields {
        if let Some(text) = (field.write)(value) {
            line(out, field.name, width, &text, field.doc);
        }
    }
}

fn at(out: &mut String, scenario: &Scenario, change: &Change) {
    out.push_str("\n[[at]]\n");
    line(
        out,
        "time",
        4,
        &quoted(&change.time.to_string()),
        "when it changes, for the rest of the run",
    );
    if let Some(rate) = change.rate {
        line(out, "link.rate", 9, &quoted(&rate.to_string()), "the rate of the link");
    }
    for (group, rtt) in &change.rtts {
        let key = format!("group.{}.rtt", tree::key(&scenario.groups[*group].name));
        line(out, &key, key.len(), &quoted(&rtt.to_string()), "the base round trip: a re-route");
    }
    if let Some(config) = &change.aqm {
        out.push_str("[at.aqm]\n");
        aqm(out, config, &scenario.link);
    }
}

fn aqm(out: &mut String, aqm: &l4s_aqm::Config, link: &Link) {
    macro_rules! write {
        ($variant:ident, $module:ident) => {
            if let l4s_aqm::Config::$variant(config) = aqm {
                // A limit that the buffer sets need not, and in another unit cannot, be said twice.
                let prepare = |start: &mut l4s_aqm::$module::Config| {
                    set_limit(&mut start.limit, link.buffer, link.rate);
                    let of = |limit: &l4s_aqm::Limit| (limit.packets, limit.bytes);
                    if of(&start.limit) == of(&config.limit) { "limit" } else { "" }
                };
                configuration(out, config, &prepare);
            }
        };
    }
    l4s_aqm::for_each_discipline!(write);
}

fn control(out: &mut String, cc: &l4s_cc::Config) {
    macro_rules! write {
        ($variant:ident, $module:ident) => {
            if let l4s_cc::Config::$variant(config) = cc {
                configuration(out, config, &|_| "");
            }
        };
    }
    l4s_cc::for_each_control!(write);
}

/// Writes the profile that `config` is nearest to, and its settings. `prepare` does to a profile what
/// reading does before any setting is applied, and says which setting need not be written then.
fn configuration<C: Configurable + PartialEq>(
    out: &mut String,
    config: &C,
    prepare: &dyn Fn(&mut C) -> &'static str,
) {
    let width = C::PARAMS.iter().map(|param| param.name.len()).max().unwrap_or(0);
    let width = width.max("profile".len());
    line(out, "kind", width, &quoted(C::KIND), C::ABOUT);
    let Some((profile, skip)) = nearest(config, prepare) else { return };
    line(out, "profile", width, &quoted(profile.name), profile.doc);
    for param in C::PARAMS.iter().filter(|param| param.name != skip) {
        if let Some(value) = (param.get)(config) {
            let doc = format!("{} ({})", param.doc, param.kind);
            line(out, param.name, width, &settings::toml(value), &doc);
        }
    }
}

/// The profile that differs in the fewest settings: the one that it was made from, or as good; and
/// the setting that need not be written beside it. As good is only what agrees in settings too that
/// are not shown, since they mean nothing as it is: another one may be changed later, and then they
/// do.
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

fn draft(group: &Group) -> GroupDraft {
    GroupDraft {
        name: group.name.clone(),
        ecn: group.ecn,
        accecn: group.accecn,
        flows: group.starts.len() as u64,
        rtt: group.rtt,
        start: start(&group.starts),
        size: group.size,
    }
}

fn web_draft(scenario: &Scenario, web: &Web) -> WebDraft {
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
