//! A file and the command line's settings, unfolded into runs.

use crate::fault::{Gathered, Place, Source};
use crate::schema;
use crate::sweep::{self, Axis, Setting, Step, Sweep};
use crate::tree::{self, Table};
use crate::{Faults, Scenario, shell_word};

/// The most runs that a plan may have.
pub const MAX_POINTS: usize = 100_000;
/// The most flows in all its runs together.
const MOST_FLOWS: usize = 20_000_000;

/// Everything that a scenario file asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The name of the scenario.
    pub name: String,
    /// The question that it answers.
    pub question: Option<String>,
    /// Its text, as read.
    pub text: String,
    /// What varies from run to run, in order: a key or `case`, and its values as shown.
    pub sweep: Vec<(String, Vec<String>)>,
    /// The runs, at least one.
    pub points: Vec<Point>,
}

/// One run of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// What the sweep and the command line set, without the seed: key and value, in order.
    pub set: Vec<(String, String)>,
    /// The `--set KEY=VALUE` that make the plan just this run.
    pub pins: Vec<(String, String)>,
    /// What is run.
    pub scenario: Scenario,
}

impl Plan {
    /// Reads a scenario. `name` is what messages call the text; `set` are `KEY=VALUE` from the
    /// command line.
    pub fn parse(name: &str, text: &str, set: &[String]) -> Result<Plan, Faults> {
        Template::parse(name, text)?.plan(set, MAX_POINTS)
    }

    /// As [`Plan::parse`], but of a sweep the first run alone: the others are neither resolved nor
    /// checked, so that it takes no longer than a scenario without a sweep.
    pub fn first(name: &str, text: &str, set: &[String]) -> Result<Plan, Faults> {
        Template::parse(name, text)?.first(set)
    }

    /// Every run `times` times, with seeds counted up from its own. `None` when that is more
    /// than [`MAX_POINTS`] runs or 20 million flows, none at all, or more seeds than there are.
    pub fn repeated(self, times: u64) -> Option<Plan> {
        let runs = (self.points.len() as u64).checked_mul(times)?;
        let flows = self.points.iter().map(|point| flows(&point.scenario)).sum::<usize>() as u64;
        if !(1..=MAX_POINTS as u64).contains(&runs) || flows * times > MOST_FLOWS as u64 {
            return None;
        }
        let again = |point: &Point, i: u64| {
            let seed = point.scenario.seed.checked_add(i)?;
            let scenario = Scenario { seed, ..point.scenario.clone() };
            Some(Point { scenario, ..point.clone() })
        };
        let points = self.points.iter().flat_map(|point| (0..times).map(move |i| again(point, i)));
        let points = points.collect::<Option<_>>()?;
        Some(Plan { points, ..self })
    }
}

/// The text of a scenario, read once, of which plans can be made with this or that set.
#[derive(Clone, Debug)]
pub struct Template {
    source: Source,
    root: Table,
    sweep: Sweep,
    /// What is wrong with its sweep, told together with what is wrong in its runs.
    gathered: Gathered,
}

impl Template {
    /// Reads a text. `name` is what messages call it.
    ///
    /// # Errors
    /// It is not TOML. All else that may be wrong is found with its runs.
    pub fn parse(name: &str, text: &str) -> Result<Template, Faults> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        let mut gathered = Gathered::default();
        let mut root = tree::parse(&source, 0, &mut gathered);
        if !gathered.is_empty() {
            return Err(gathered.finish(&[source]));
        }
        let sweep = sweep::take(&mut root, &mut gathered);
        Ok(Template { source, root, sweep, gathered })
    }

    /// As [`Plan::first`].
    ///
    /// # Errors
    /// The scenario or a setting is refused.
    pub fn first(&self, set: &[String]) -> Result<Plan, Faults> {
        self.plan(set, 1)
    }

    /// Resolves no more than `most` runs.
    fn plan(&self, set: &[String], most: usize) -> Result<Plan, Faults> {
        let Source { name, text } = &self.source;
        let settings =
            set.iter().map(|text| Source { name: "--set".to_owned(), text: text.clone() });
        let sources: Vec<_> = [self.source.clone()].into_iter().chain(settings).collect();
        let (mut sweep, mut gathered) = (self.sweep.clone(), self.gathered.clone());
        let set = self::settings(&sources, &mut gathered);
        let last = sweep::pin(&mut sweep.axes, set, &mut gathered);
        let stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let default_name = stem.strip_suffix(".toml").unwrap_or(stem);
        let points = points(&self.root, &sweep, &last, default_name, most, &mut gathered);
        match points {
            Some((points, question)) if gathered.is_empty() => {
                let shown = |axis: &Axis| {
                    let value = |step: &Step| match step.shown.as_slice() {
                        [(_, value)] => value.clone(),
                        _ => step.pins[0].1.clone(),
                    };
                    (axis.path.clone(), axis.steps.iter().map(value).collect())
                };
                let name = points[0].scenario.name.clone();
                let sweep = sweep.axes.iter().map(shown).collect();
                Ok(Plan { name, question, text: text.clone(), sweep, points })
            }
            _ => Err(gathered.finish(&sources)),
        }
    }
}

impl Point {
    /// The command that repeats just this run, on the substrate `on`. `scenario` is what the user
    /// called it.
    pub fn command(&self, scenario: &str, on: &str) -> String {
        let mut command = format!("l4s run {}", shell_word(scenario));
        if on != "sim" {
            command += &format!(" --on {on}");
        }
        for (key, value) in &self.pins {
            command += &format!(" --set {}", shell_word(&format!("{key}={value}")));
        }
        command + &format!(" --seed {}", self.scenario.seed)
    }
}

/// The settings of the command line, `sources[1..]`.
fn settings(sources: &[Source], gathered: &mut Gathered) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (number, source) in sources.iter().enumerate().skip(1) {
        let place = |bytes| Place { source: number, bytes };
        let Some((key, _)) = source.text.split_once('=').filter(|(key, _)| !key.trim().is_empty())
        else {
            let message = "expected KEY=VALUE, such as link.rate=40mbit";
            gathered.add(&place(0..source.text.len()), message, None);
            continue;
        };
        let value = tree::parse_value(source, number, key.len() + 1);
        let path = key.trim().to_owned();
        settings.push(Setting { path, place: place(0..key.len()), value });
    }
    settings
}

type Points = (Vec<Point>, Option<String>);

/// Every run, resolved; `None` where `gathered` says why not.
fn points(
    root: &Table,
    sweep: &Sweep,
    last: &[Setting],
    default_name: &str,
    most: usize,
    gathered: &mut Gathered,
) -> Option<Points> {
    let top = Place::default();
    let Some(runs) = sweep.combinations().filter(|runs| *runs <= MAX_POINTS) else {
        let sizes: Vec<_> = sweep.axes.iter().map(|axis| axis.steps.len().to_string()).collect();
        let message = format!("`sweep`: {} runs, expected at most {MAX_POINTS}", sizes.join(" × "));
        gathered.add(&top, message, None);
        return None;
    };
    let (mut points, mut question, mut flows) = (Vec::with_capacity(runs), None, 0);
    for number in 0..runs {
        let Some(steps) = sweep.steps(number) else { continue };
        let (mut set, mut pins) = (Vec::new(), Vec::new());
        for step in &steps {
            set.extend(step.shown.iter().cloned());
            pins.extend(step.pins.iter().cloned());
        }
        for Setting { path, value, .. } in last {
            set.push((path.clone(), value.plain()));
            pins.push((path.clone(), sweep::pin_text(value)));
        }
        let (set, pins) = (once_each(set), once_each(pins));
        gathered.begin_run((runs > 1).then(|| run_text(&set)));
        let mut root = root.clone();
        for setting in steps.iter().flat_map(|step| &step.settings).chain(last) {
            setting.apply(&mut root, gathered);
        }
        if let Some((scenario, asked)) = schema::scenario(&root, default_name, gathered) {
            flows += self::flows(&scenario);
            if flows > MOST_FLOWS {
                let message = format!("more than {MOST_FLOWS} flows in all runs together");
                gathered.add(&top, message, None);
            }
            question = asked;
            if gathered.is_empty() {
                points.push(Point { set, pins, scenario });
            }
        }
        let ends = points.len() >= most || (most == 1 && !gathered.is_empty());
        if gathered.is_full() || flows > MOST_FLOWS || ends {
            break;
        }
    }
    if points.is_empty() && gathered.is_empty() {
        gathered.add(&top, "`sweep.skip` leaves no run", None);
    }
    gathered.is_empty().then_some((points, question))
}

fn flows(scenario: &Scenario) -> usize {
    scenario.groups.iter().map(|group| group.starts.len()).sum()
}

/// The last value of each key, in the place of its first. The seed goes: results have it apart.
fn once_each(pairs: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = Vec::new();
    for (key, value) in pairs {
        match kept.iter_mut().find(|(old, _)| *old == key) {
            Some(old) => old.1 = value,
            None => kept.push((key, value)),
        }
    }
    kept.retain(|(key, _)| key != "seed");
    kept
}

fn run_text(set: &[(String, String)]) -> String {
    let pairs: Vec<_> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("in the run with {}", pairs.join(", "))
}
