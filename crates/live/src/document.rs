//! The scenario of a session: a parsed text, a run of it, and the keys that were set since.
//!
//! A text and a value are read when a person wrote them, and not again when another key changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use l4s_aqm::Queue;
use l4s_measure::queues_of;
use l4s_model::{Direction, Distribution, Link, Loss, Scenario};
use l4s_scenario::{
    Budget, Faults, Files, Override, Plan, Point, Spelled, Template, covers, shell_word,
};
use l4s_units::Duration;

use crate::limits;
use crate::protocol::{self, Changes, Fault, Opening, Preset, Settings, Start};

/// A session has no end; its scenario's duration is for `l4s run`.
pub(crate) const ENDLESS: Duration = Duration::from_secs(1_000_000);
/// The longest key, and the longest value.
const MOST_CHARACTERS: usize = 4096;

/// Keys with their values, in the order in which they were set.
type Set = Vec<Override>;

/// The scenario that a server was started with, and its runs to choose from.
#[derive(Clone, Debug)]
pub struct Presets {
    base: Arc<Base>,
    points: Vec<(Preset, Set)>,
}

/// A scenario, read.
#[derive(Debug)]
struct Base {
    template: Template,
    /// The name for `l4s run`, where that is the same text everywhere.
    bundled: Option<&'static str>,
}

/// The scenario of a session.
#[derive(Clone, Debug)]
pub struct Document {
    base: Arc<Base>,
    /// The preset.
    point: Option<usize>,
    /// The settings that select the run.
    pins: Set,
    /// The settings since.
    set: Set,
    /// The differences of the second lane; `None` where there is none.
    overlay: Option<Set>,
    lanes: Vec<Resolved>,
    /// Bytes that its lanes may come to need.
    memory: u64,
    /// Whether nobody waits for it any more, which ends reading.
    given_up: Arc<AtomicBool>,
}

/// The scenario of a lane.
#[derive(Clone, Debug)]
struct Resolved {
    spelled: Spelled,
    /// With its own duration.
    point: Point,
    /// Without an end.
    endless: Scenario,
}

impl Presets {
    /// The runs of a plan, 50 of them at most. `name` is the name of its text in messages.
    ///
    /// # Errors
    /// The first run is too much for a session.
    pub fn new(plan: &Plan, name: &str, bundled: Option<&'static str>) -> Result<Presets, Fault> {
        Presets::of(plan, name, bundled, None)
    }

    /// As [`Presets::new`], of a plan that may name these files. Settings and texts of viewers may name none.
    ///
    /// # Errors
    /// The first run is too much for a session.
    pub fn with_files(
        plan: &Plan,
        name: &str,
        bundled: Option<&'static str>,
        files: &Files,
    ) -> Result<Presets, Fault> {
        Presets::of(plan, name, bundled, Some(files))
    }

    fn of(
        plan: &Plan,
        name: &str,
        bundled: Option<&'static str>,
        files: Option<&Files>,
    ) -> Result<Presets, Fault> {
        let template = read(name, &plan.text)?;
        let template = match files {
            Some(files) => template.with_files(files.clone()),
            None => template,
        };
        let base = Base { template, bundled };
        let points = &plan.points[..plan.points.len().min(limits::PRESETS)];
        // Neither pins nor the shown settings have the seed.
        let seeds = plan.sweep.iter().any(|(key, values)| key == "seed" && values.len() > 1);
        let seed =
            |point: &Point| seeds.then(|| ("seed".to_owned(), point.scenario.seed.to_string()));
        let shown = |point: &Point| -> Vec<(String, String)> {
            point.set.iter().cloned().chain(seed(point)).collect()
        };
        let varies = |pair: &(String, String)| points.iter().any(|p| !shown(p).contains(pair));
        let points = points.iter().enumerate().map(|(number, point)| {
            let words: Vec<String> = (shown(point).iter().filter(|pair| varies(pair)))
                .map(|(key, value)| match key.as_str() {
                    "case" => value.clone(),
                    key => format!("{key}={value}"),
                })
                .collect();
            let label = if words.is_empty() { plan.name.clone() } else { words.join(", ") };
            let pins = point.pins.iter().cloned().chain(seed(point));
            let pin = |(key, value): (String, String)| match files {
                Some(files) => assign(&key, &value).with_files(files.of_user()),
                None => assign(&key, &value),
            };
            (Preset { number, label }, pins.map(pin).collect())
        });
        let presets = Presets { points: points.collect(), base: Arc::new(base) };
        presets.open(&Opening::default())?;
        Ok(presets)
    }

    /// The available presets.
    pub fn list(&self) -> Vec<Preset> {
        self.points.iter().map(|(preset, _)| preset.clone()).collect()
    }

    /// The name of the scenario.
    pub fn name(&self) -> &str {
        self.base.bundled.unwrap_or(self.base.template.name())
    }

    /// A session's scenario: a preset, or another text.
    ///
    /// # Errors
    /// There is no such preset, or a fault in the text or a key.
    pub fn open(&self, opening: &Opening) -> Result<Document, Fault> {
        self.open_unless(opening, Arc::default())
    }

    /// As [`Presets::open`], unless it is given up: that ends every later operation of this document.
    ///
    /// # Errors
    /// It was given up, there is no such preset, or a fault in the text or a key.
    pub fn open_unless(
        &self,
        opening: &Opening,
        given_up: Arc<AtomicBool>,
    ) -> Result<Document, Fault> {
        let (base, point, pins) = match &opening.start {
            Start::Point(number) => {
                let Some((_, pins)) = self.points.get(*number) else {
                    let most = self.points.len().saturating_sub(1);
                    let message = format!("found {number}, expected a preset from 0 to {most}");
                    return Err(Fault::new("point", message));
                };
                (self.base.clone(), Some(*number), pins.clone())
            }
            Start::Text(text) if text.len() > limits::TEXT => {
                let (found, most) = (text.len(), limits::TEXT);
                let message = format!("found {found} bytes, expected at most {most}");
                return Err(Fault::new("text", message));
            }
            Start::Text(text) => {
                let base = Base { template: read("scenario.toml", text)?, bundled: None };
                (Arc::new(base), None, Vec::new())
            }
        };
        let (set, overlay, lanes, memory) = Default::default();
        let mut document = Document { base, point, pins, set, overlay, lanes, memory, given_up };
        document.set = apply(Vec::new(), &opening.set)?;
        document.resolved(&opening.set)
    }
}

impl Document {
    /// The same with these keys set, or taken back where they have no value: all or none. `lane` is
    /// 0 for all lanes, 1 for the discipline of the second.
    ///
    /// # Errors
    /// A key or value is refused.
    pub fn with(&self, lane: usize, changes: &Changes) -> Result<Document, Fault> {
        let mut next = self.clone();
        match (lane, &self.overlay) {
            (0, _) => next.set = apply(next.set, changes)?,
            (1, Some(overlay)) => {
                of_the_discipline(changes)?;
                next.overlay = Some(apply(overlay.clone(), changes)?);
            }
            (1, None) => {
                return Err(Fault::new("lane", "there is no second lane: no comparison is active"));
            }
            _ => return Err(Fault::new("lane", format!("found {lane}, expected 0 or 1"))),
        }
        next.resolved(changes)
    }

    /// The same with a second lane whose discipline these keys change, or without one.
    ///
    /// # Errors
    /// A key is refused, or not of the discipline.
    pub fn comparing(&self, changes: Option<&Changes>) -> Result<Document, Fault> {
        let mut next = self.clone();
        next.overlay = match changes {
            Some(changes) => {
                of_the_discipline(changes)?;
                Some(apply(Vec::new(), changes)?)
            }
            None => None,
        };
        next.resolved(changes.unwrap_or(&Changes::default()))
    }

    /// The scenario of each lane, without an end.
    pub fn scenarios(&self) -> impl ExactSizeIterator<Item = &Scenario> {
        self.lanes.iter().map(|lane| &lane.endless)
    }

    /// Bytes that its lanes may come to need.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The scenario as TOML that `l4s run` reads.
    pub fn text(&self) -> &str {
        self.lanes.first().map_or("", |lane| lane.spelled.text())
    }

    /// The scenario as sent to viewers.
    pub fn settings(&self, number: u64, paused: bool, speed: f64) -> Settings {
        let map = |set: &Set| {
            let pairs = set.iter().map(|set| (set.key().to_owned(), set.value().to_owned()));
            pairs.collect::<BTreeMap<_, _>>()
        };
        let overlays =
            [Some(&Vec::new()), self.overlay.as_ref()].map(|o| o.map_or(BTreeMap::new(), map));
        let lanes = self.lanes.iter().zip(overlays);
        Settings {
            number,
            name: self.lanes.first().map_or(String::new(), |l| l.point.scenario.name.clone()),
            point: self.point,
            text: self.text().to_owned(),
            command: self.command(),
            set: map(&self.set),
            paused,
            speed,
            lanes: lanes.map(|(lane, set)| lane.settings(set)).collect(),
            groups: self.lanes.first().map_or(Vec::new(), Resolved::groups),
            udp: self.lanes.first().map_or(Vec::new(), Resolved::udp),
            paths: self.lanes.first().map_or(Vec::new(), Resolved::paths),
        }
    }

    /// The command that runs it.
    fn command(&self) -> Option<String> {
        let mut command = format!("l4s run {}", self.base.bundled?);
        for set in self.settings_of(0) {
            command += &format!(" --set {}", shell_word(set.text()));
        }
        Some(command)
    }

    /// All that is set in a lane, in order.
    fn settings_of(&self, lane: usize) -> Set {
        let overlay = self.overlay.iter().filter(|_| lane == 1).flatten();
        let all = self.pins.iter().chain(&self.set).chain(overlay);
        let mut kept: Set = Vec::new();
        for set in all {
            kept.retain(|old| !covers(set.key(), old.key()));
            kept.push(set.clone());
        }
        kept
    }

    /// Resolves each lane's scenario, after these changes.
    fn resolved(mut self, changes: &Changes) -> Result<Document, Fault> {
        let set = self.set.iter().chain(self.overlay.iter().flatten());
        let size = set.clone().map(|set| set.key().len() + set.value().len()).sum::<usize>();
        if size > limits::TEXT || set.count() > limits::KEYS {
            let (keys, bytes) = (limits::KEYS, limits::TEXT);
            let message =
                format!("too many settings: expected at most {keys} keys of {bytes} bytes");
            return Err(Fault::new("set", message));
        }
        let lanes = if self.overlay.is_some() { 2 } else { 1 };
        let lanes = (0..lanes).map(|lane| self.lane(lane, changes));
        self.lanes = lanes.collect::<Result<_, _>>()?;
        self.memory = limits::memory(self.scenarios())?;
        Ok(self)
    }

    fn lane(&self, lane: usize, changes: &Changes) -> Result<Resolved, Fault> {
        let cancelled = || self.given_up.load(Ordering::Relaxed);
        let budget = Budget { steps: limits::STEPS, cancelled: &cancelled };
        let plan = self.base.template.first_within(&self.settings_of(lane), &budget);
        let mut plan = plan.map_err(|faults| refusal(&faults, changes, lane))?;
        let Some(point) = plan.points.pop() else {
            return Err(Fault::new("text", "there is no run in it"));
        };
        limits::check(&point.scenario)?;
        let spelled = Spelled::new(&point, plan.question.as_deref());
        let endless =
            Scenario { duration: ENDLESS, warmup: Duration::ZERO, ..point.scenario.clone() };
        Ok(Resolved { spelled, point, endless })
    }
}

/// Reads a scenario's text. `name` is its name in messages. Its assertions are left out: they are about
/// a run without changes.
fn read(name: &str, text: &str) -> Result<Template, Fault> {
    let template = Template::parse(name, text).map(Template::without_asserts);
    template.map_err(|faults| refusal(&faults, &Changes::default(), 0))
}

/// Reads a value for a key.
fn assign(key: &str, value: &str) -> Override {
    Override::new(&format!("{key}={value}"))
}

/// Sets keys; removes keys that a new one overrides completely. `None` resets a key.
fn apply(mut set: Set, changes: &Changes) -> Result<Set, Fault> {
    for (key, value) in &changes.0 {
        let key = key.trim();
        let fits = |text: &str| {
            text.chars().count() <= MOST_CHARACTERS && !text.chars().any(char::is_control)
        };
        if key.is_empty() || key.contains('=') || !fits(key) {
            let message = "expected a key such as `link.rate`";
            return Err(Fault::new(key.chars().take(100).collect::<String>(), message));
        }
        match value {
            None => set.retain(|old| old.key() != key),
            Some(value) if !fits(value) => {
                let message = format!(
                    "`{key}`: expected a text on one line, of at most {MOST_CHARACTERS} characters"
                );
                return Err(Fault::new(key, message));
            }
            Some(value) => {
                set.retain(|old| !covers(key, old.key()));
                set.push(assign(key, value));
            }
        }
    }
    Ok(set)
}

/// The traffic of both lanes is the same.
fn of_the_discipline(changes: &Changes) -> Result<(), Fault> {
    let other = |key: &&String| *key != "aqm" && !key.starts_with("aqm.");
    match changes.0.iter().map(|(key, _)| key).find(other) {
        Some(key) => {
            let message =
                format!("`{key}`: only `aqm` and its settings can differ in the second lane");
            Err(Fault::new(key.chars().take(100).collect::<String>(), message))
        }
        None => Ok(()),
    }
}

/// The first fault, preferably one of the new settings.
fn refusal(faults: &Faults, changes: &Changes, lane: usize) -> Fault {
    let key = |fault: &l4s_scenario::Fault| {
        let set = fault.source_name == "--set";
        let key = fault.excerpt.split_once('=').map(|(key, _)| key.trim().to_owned());
        key.filter(|_| set)
    };
    let of_changes = |fault: &&l4s_scenario::Fault| {
        key(fault).is_some_and(|key| changes.0.iter().any(|(changed, _)| changed.trim() == key))
    };
    let Some(fault) = faults.0.iter().find(of_changes).or(faults.0.first()) else {
        return Fault::new("text", faults.to_string());
    };
    let (field, message) = match key(fault) {
        Some(key) => (key, fault.message.clone()),
        None => ("text".to_owned(), faults.to_string()),
    };
    let message = if lane == 1 { format!("in the second lane: {message}") } else { message };
    Fault { help: fault.help.clone(), ..Fault::new(field, message) }
}

impl Resolved {
    fn settings(&self, set: BTreeMap<String, String>) -> protocol::Lane {
        let scenario = &self.point.scenario;
        protocol::Lane {
            set,
            link: self.link("link", &scenario.link),
            aqm: self.aqm("aqm", &scenario.aqm),
            uplink: scenario.uplink.as_ref().map(|uplink| protocol::Uplink {
                link: self.link("uplink", &uplink.link),
                aqm: self.aqm("uplink.aqm", &uplink.aqm),
            }),
        }
    }

    /// The discipline of a table of this name.
    fn aqm(&self, table: &str, aqm: &l4s_aqm::Config) -> protocol::Aqm {
        let mut values: BTreeMap<String, String> = self.spelled.table(table).into_iter().collect();
        values.remove("kind");
        protocol::Aqm {
            kind: aqm.kind().to_owned(),
            profile: values.remove("profile").unwrap_or_default(),
            values,
            queues: queues_of([aqm]).into_iter().map(Queue::name).collect(),
        }
    }

    /// The link of a table of this name.
    fn link(&self, table: &str, link: &Link) -> protocol::Link {
        protocol::Link {
            rate: self.get(table, "rate"),
            rate_bps: link.rate.as_bps() as f64,
            trace: match (&link.trace, &link.radio) {
                (Some(capacity), _) => Some(capacity.file().to_owned()),
                (None, Some(radio)) => Some(radio.name().to_owned()),
                (None, None) => None,
            },
            buffer: self.get(table, "buffer"),
        }
    }

    fn groups(&self) -> Vec<protocol::Group> {
        let Scenario { groups, web, apps, .. } = &self.point.scenario;
        let shown = groups.iter().enumerate().map(|(number, group)| {
            let name = &group.name;
            let get = |list: &str, key: &str| self.get(&format!("{list}.{name}"), key);
            let web = web.iter().find(|web| web.group == number);
            let app = apps.iter().find(|app| app.group == number);
            protocol::Group {
                name: name.clone(),
                up: group.direction == Direction::Up,
                cc: group.cc.kind().to_owned(),
                cc_profile: get("group", "cc.profile"),
                ecn: get("group", "ecn"),
                flows: group.starts.len(),
                rtt: get("group", "rtt"),
                rtt_ms: group.rtt.as_millis_f64(),
                web: web.map(|web| protocol::Web {
                    rate: get("web", "rate"),
                    per_s: web.rate.as_per_second_f64(),
                }),
                app: app.map(|app| protocol::App {
                    rate: get("app", "rate"),
                    rate_bps: app.rate.as_bps() as f64,
                    fps: app.fps,
                    adapt: app.adapt,
                    flows: app.flows,
                }),
            }
        });
        shown.collect()
    }

    fn udp(&self) -> Vec<protocol::Udp> {
        let shown = self.point.scenario.udp.iter().map(|udp| {
            let get = |key: &str| self.get(&format!("udp.{}", udp.name), key);
            protocol::Udp {
                name: udp.name.clone(),
                up: udp.direction == Direction::Up,
                rate: get("rate"),
                rate_bps: udp.rate.as_bps() as f64,
                ecn: get("ecn"),
                packet: get("packet"),
            }
        });
        shown.collect()
    }

    fn paths(&self) -> Vec<protocol::Path> {
        let shown = self.point.scenario.paths.iter().map(|path| {
            let get = |key: &str| self.get(&format!("path.{}", path.name), key);
            let in_order =
                path.jitter.distribution == Distribution::Uniform && !path.jitter.reordering;
            protocol::Path {
                name: path.name.clone(),
                up: path.direction == Direction::Up,
                loss: get("loss"),
                loss_chance: match path.loss {
                    Loss::Independent(chance) => Some(chance),
                    _ => None,
                },
                jitter: get("jitter"),
                jitter_ms: in_order.then(|| (path.jitter.mean * 2).as_millis_f64()),
            }
        });
        shown.collect()
    }

    fn get(&self, table: &str, key: &str) -> String {
        self.spelled.get(&format!("{table}.{key}")).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
