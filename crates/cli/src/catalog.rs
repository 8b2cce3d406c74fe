//! `l4s list`, `l4s aqm`, `l4s cc`: the available scenarios, disciplines and congestion controls.

use l4s_aqm::dualpi2;
use l4s_scenario::{Described, Profile, bundled, controls, disciplines, nearest};
use l4s_units::param::{Configurable, Kind};

use crate::failure::Failure;
use crate::print;
use crate::table::{Align, aligned};

/// Prints the bundled scenarios.
pub fn list() -> Result<(), Failure> {
    let mut rows = vec![cells(["name", "runs", "question"])];
    for bundled in bundled::ALL {
        let plan = bundled.plan(&[])?;
        let question = plan.question.unwrap_or_default();
        rows.push(cells([bundled.name, &plan.points.len().to_string(), &question]));
    }
    print(&aligned(&rows, &[Align::Left, Align::Right]))
}

/// Prints the disciplines, or one of them.
pub fn aqm(kind: Option<&str>, profile: Option<&str>) -> Result<(), Failure> {
    let all = disciplines();
    let Some(kind) = kind else { return print(&kinds(&all, "l4s aqm KIND [PROFILE]")) };
    let described = named(&all, kind, "queue discipline")?;
    let profile = profile_of(described, profile)?;
    let mut text = settings(described, profile);
    if described.kind == dualpi2::Config::KIND {
        if let Some(config) = dualpi2::Config::profile(profile.name) {
            text += &gains(&config);
        }
    }
    print(&text)
}

/// Prints the congestion controls, or one of them.
pub fn cc(kind: Option<&str>, profile: Option<&str>) -> Result<(), Failure> {
    let all = controls();
    let Some(kind) = kind else { return print(&kinds(&all, "l4s cc KIND [PROFILE]")) };
    let described = named(&all, kind, "congestion control")?;
    print(&settings(described, profile_of(described, profile)?))
}

/// Refuses `KIND` or `KIND:PROFILE` that no discipline has, or no congestion control if it is to be one.
pub fn check(name: &str, is_control: bool) -> Result<(), Failure> {
    let (all, what) = match is_control {
        true => (controls(), "congestion control"),
        false => (disciplines(), "queue discipline"),
    };
    let (kind, profile) = name.split_once(':').map_or((name, None), |(k, p)| (k, Some(p)));
    profile_of(named(&all, kind.trim(), what)?, profile).map(|_| ())
}

fn kinds(all: &[Described], more: &str) -> String {
    let rows = all.iter().map(|described| {
        let profiles: Vec<_> = described.profiles.iter().map(|profile| profile.name).collect();
        cells([described.kind, &profiles.join(", "), described.about])
    });
    let head = cells(["kind", "profiles", "about"]);
    let rows: Vec<_> = [head].into_iter().chain(rows).collect();
    format!("{}\nparameters: {more}\n", aligned(&rows, &[]))
}

fn named<'a>(all: &'a [Described], kind: &str, what: &str) -> Result<&'a Described, Failure> {
    all.iter().find(|described| described.kind == kind).ok_or_else(|| {
        let names = || all.iter().map(|described| described.kind);
        unknown(what, kind, names().collect(), nearest(kind, names()))
    })
}

fn profile_of<'a>(described: &'a Described, name: Option<&str>) -> Result<&'a Profile, Failure> {
    let profiles = &described.profiles;
    let Some(name) = name else { return Ok(&profiles[0]) };
    profiles.iter().find(|profile| profile.name == name).ok_or_else(|| {
        let names = || profiles.iter().map(|profile| profile.name);
        let what = format!("profile of {}", described.kind);
        unknown(&what, name, names().collect(), nearest(name, names()))
    })
}

fn unknown(what: &str, found: &str, names: Vec<&str>, near: Option<&str>) -> Failure {
    let message = format!("there is no {what} `{found}`, expected one of {}", names.join(", "));
    let help = near.map(|near| format!("did you mean `{near}`?"));
    Failure::Input { message, help }
}

fn settings(described: &Described, profile: &Profile) -> String {
    let mut out = format!("{}: {}\n\n", described.kind, described.about);
    let profiles = described.profiles.iter().enumerate().map(|(number, profile)| {
        let default = if number == 0 { " (the default)" } else { "" };
        cells([&format!("profile {}", profile.name), &format!("{}{default}", profile.doc)])
    });
    out += &aligned(&profiles.collect::<Vec<_>>(), &[]);
    let head = cells(["parameter", profile.name, "accepted", "meaning"]);
    let rows = profile.settings.iter().map(|setting| {
        let value = setting.value.map_or("-".to_owned(), |value| match setting.kind {
            Kind::Number { unit, .. } if !unit.is_empty() => format!("{value} {unit}"),
            _ => value.to_string(),
        });
        cells([setting.name, &value, &accepted(setting.kind), setting.doc])
    });
    let rows: Vec<_> = [head].into_iter().chain(rows).collect();
    out.push('\n');
    out + &aligned(&rows, &[])
}

/// A range in few words.
fn accepted(kind: Kind) -> String {
    match kind {
        Kind::Bool => "true false".to_owned(),
        Kind::Count { min, max } => format!("{min} .. {max}"),
        Kind::Number { min, max, unit } => format!("{min} .. {max} {unit}").trim_end().to_owned(),
        Kind::Duration { min, max } => format!("{min} .. {max}"),
        Kind::Durations { min, max } => format!("two times, {min} .. {max}"),
        Kind::DurationOrPackets { max, max_packets } => {
            format!("0s .. {max}, 0p .. {max_packets}p")
        }
        Kind::Packets { min, max } => format!("{min}p .. {max}p"),
        Kind::Bytes { min, max } => format!("{min} .. {max}"),
        Kind::Choice(words) => words.join(" "),
    }
}

/// The gains as set, as they apply in fixed point, and as Linux' `tc` would print them.
fn gains(config: &dualpi2::Config) -> String {
    let (alpha, beta) = config.effective_gains();
    let head = cells(["gain", "configured", "effective", "tc shows"]);
    let row = |name: &str, hz: f64, gain: dualpi2::Gain| {
        let (effective, tc) = (gain.effective_hz(), gain.tc_hz());
        let hertz = [hz.to_string(), format!("{effective:.6}"), format!("{tc:.6}")];
        let [hz, effective, tc] = hertz.map(|hz| format!("{hz} Hz"));
        cells([name, &hz, &effective, &tc])
    };
    let rows = [head, row("alpha", config.alpha, alpha), row("beta", config.beta, beta)];
    format!("\n{}", aligned(&rows, &[]))
}

fn cells<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}
