//! A file and the command line's settings, unfolded into runs.

use l4s_model::{Loss, Path, Scenario};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::fault::{Gathered, Place, Source};
use crate::files::Readers;
use crate::schema::{self, Assert, Described};
use crate::sweep::{self, Axis, Setting, Step, Sweep};
use crate::tree::{self, Entry, Item, Node, Table};
use crate::{Faults, Files, shell_word};

/// The most runs that a plan may have.
pub const MAX_POINTS: usize = 100_000;
/// The most flows in all its runs together.
const MOST_FLOWS: usize = 20_000_000;
/// The most memory that all its runs may take before any of them is run.
const MOST_BYTES: usize = 2 << 30;

/// The limit on the cost of making a plan, and whether to continue.
///
/// Reading a text costs time in proportion to its length, which is limited. The cost of the rest
/// is counted in steps: a value that is read for a run, or a `[[sweep.skip]]` that is examined.
/// A step takes some 0.1 us.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// The most steps.
    pub steps: u64,
    /// Asked before every run: whether nobody waits for the plan any more.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl Default for Budget<'_> {
    fn default() -> Self {
        Budget { steps: 500_000_000, cancelled: &|| false }
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("steps", &self.steps).finish_non_exhaustive()
    }
}

/// Everything that a scenario file asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The name of the scenario.
    pub name: String,
    /// The question that it answers.
    pub question: Option<String>,
    /// Its text, as read.
    pub text: String,
    /// The keys that vary from run to run, in order: a key or `case`, and its values as shown.
    pub sweep: Vec<(String, Vec<String>)>,
    /// The runs, at least one.
    pub points: Vec<Point>,
}

/// One run of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The settings of the sweep and the command line, without the seed: key and value, in order.
    pub set: Vec<(String, String)>,
    /// The `--set KEY=VALUE` that make the plan just this run.
    pub pins: Vec<(String, String)>,
    /// The scenario of the run.
    pub scenario: Scenario,
    /// The conditions on its summary.
    pub asserts: Arc<[Assert]>,
}

impl Plan {
    /// Reads a scenario. `name` is the text's name in messages; `set` are `KEY=VALUE` from the
    /// command line. Neither may name a file: [`Plan::open`] and [`Plan::parse_with`] read files.
    pub fn parse(name: &str, text: &str, set: &[String]) -> Result<Plan, Faults> {
        Plan::parse_within(name, text, set, &Budget::default())
    }

    /// As [`Plan::parse`], where text and settings may name files.
    ///
    /// # Errors
    /// The scenario or a setting is refused, or such a file.
    pub fn parse_with(
        name: &str,
        text: &str,
        set: &[String],
        files: &Files,
    ) -> Result<Plan, Faults> {
        let template = Template::parse(name, text)?.with_files(files.clone());
        template.plan_within(&template.read(set), &Budget::default())
    }

    /// As [`Plan::parse`], but of a sweep the first run alone: the others are neither resolved nor
    /// checked, so that it takes no longer than a scenario without a sweep.
    pub fn first(name: &str, text: &str, set: &[String]) -> Result<Plan, Faults> {
        Template::parse(name, text)?.first(set)
    }

    /// As [`Plan::parse`], within a budget.
    ///
    /// # Errors
    /// The scenario or a setting is refused, the budget does not suffice, or it was cancelled.
    pub fn parse_within(
        name: &str,
        text: &str,
        set: &[String],
        budget: &Budget<'_>,
    ) -> Result<Plan, Faults> {
        let template = Template::parse(name, text)?;
        template.plan_within(&template.read(set), budget)
    }

    /// Every run `times` times, with seeds counted up from its own. `None` when that is more
    /// than [`MAX_POINTS`] runs, 20 million flows or 2 GiB, none at all, or more seeds than there are.
    pub fn repeated(self, times: u64) -> Option<Plan> {
        self.repeat(times).ok()
    }

    /// As [`Plan::repeated`].
    ///
    /// # Errors
    /// The plan would be too large.
    pub fn repeat(self, times: u64) -> Result<Plan, String> {
        let all = |one: usize| (one as u64).saturating_mul(times);
        let runs = all(self.points.len());
        if runs == 0 {
            return Err("no run".to_owned());
        }
        let flows = self.points.iter().map(|point| point.scenario.long_flows()).sum::<usize>();
        let bytes = self.points.iter().map(Point::bytes).sum::<usize>();
        let amounts = [
            (runs, MAX_POINTS, "runs"),
            (all(flows), MOST_FLOWS, "flows in all runs together"),
            (all(bytes), MOST_BYTES, "bytes of memory for the settings of all runs"),
        ];
        if let Some((found, most, what)) = amounts.iter().find(|(n, most, _)| *n > *most as u64) {
            return Err(format!("{found} {what}, expected at most {most}"));
        }
        let again = |point: &Point, i: u64| {
            let seed =
                point.scenario.seed.checked_add(i).filter(|seed| *seed <= i64::MAX as u64)?;
            let scenario = Scenario { seed, ..point.scenario.clone() };
            Some(Point { scenario, ..point.clone() })
        };
        let points = self.points.iter().flat_map(|point| (0..times).map(move |i| again(point, i)));
        let points = points.collect::<Option<_>>();
        let points = points.ok_or_else(|| format!("seeds above {}", i64::MAX))?;
        Ok(Plan { points, ..self })
    }
}

impl Plan {
    /// Adds assertions about the summary of every run, of the command line.
    ///
    /// # Errors
    /// The syntax of one is wrong, or it names a quantity that the summary of a run does not have.
    pub fn assert(mut self, texts: &[String]) -> Result<Plan, Faults> {
        let source = |text: &String| Source { name: "--assert".to_owned(), text: text.clone() };
        let sources: Vec<_> = texts.iter().map(source).collect();
        let (mut gathered, many) = (Gathered::default(), self.points.len() > 1);
        let mut lists = Lists::default();
        for Point { set, scenario, asserts, .. } in &mut self.points {
            gathered.begin_run(many.then(|| run_text(set)));
            let mut all = asserts.to_vec();
            for (number, source) in sources.iter().enumerate() {
                let place = Place { source: number, bytes: 0..source.text.len() };
                let node = Node { item: Item::Text(source.text.clone()), place };
                let that = schema::assertion(&node, "", scenario, &mut gathered);
                all.extend(that.map(|that| Assert { that, why: None }));
            }
            *asserts = lists.share(all);
        }
        match gathered.is_empty() {
            true => Ok(self),
            false => Err(gathered.finish(&sources.iter().collect::<Vec<_>>())),
        }
    }
}

/// The text of a scenario, read once. Plans with different settings can be made of it.
#[derive(Clone, Debug)]
pub struct Template {
    source: Source,
    root: Table,
    sweep: Sweep,
    /// The faults of its sweep, reported together with those of its runs.
    gathered: Gathered,
    /// The files that it may name.
    files: Option<Files>,
}

impl Template {
    /// Reads a text. `name` is its name in messages.
    ///
    /// # Errors
    /// It is not TOML. All else that may be wrong is found with its runs.
    pub fn parse(name: &str, text: &str) -> Result<Template, Faults> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        let mut gathered = Gathered::default();
        let mut root = tree::parse(&source, 0, &mut gathered);
        if !gathered.is_empty() {
            return Err(gathered.finish(&[&source]));
        }
        let sweep = sweep::take(&mut root, &mut gathered);
        Ok(Template { source, root, sweep, gathered, files: None })
    }

    /// The same text, which may name files.
    pub fn with_files(self, files: Files) -> Template {
        Template { files: Some(files), ..self }
    }

    /// The same runs without assertions, for those who change the scenario in mid-run.
    pub fn without_asserts(mut self) -> Template {
        self.root.remove("assert");
        for step in self.sweep.axes.iter_mut().flat_map(|axis| &mut axis.steps) {
            step.settings.retain(|setting| setting.path != "assert");
        }
        self
    }

    /// As [`Plan::first`].
    ///
    /// # Errors
    /// The scenario or a setting is refused.
    pub fn first(&self, set: &[String]) -> Result<Plan, Faults> {
        self.first_within(&self.read(set), &Budget::default())
    }

    /// Reads several `KEY=VALUE`, which may name files if the text may.
    fn read(&self, set: &[String]) -> Vec<Override> {
        let files = self.files.as_ref().map(Files::of_user);
        set.iter().map(|text| Override { files: files.clone(), ..Override::new(text) }).collect()
    }

    /// As [`Template::first`], within a budget.
    ///
    /// # Errors
    /// The scenario or a setting is refused, the budget does not suffice, or it was cancelled.
    pub fn first_within(&self, set: &[Override], budget: &Budget<'_>) -> Result<Plan, Faults> {
        self.plan(set, 1, budget)
    }

    /// Every run, within a budget.
    ///
    /// # Errors
    /// The scenario or a setting is refused, the budget does not suffice, or it was cancelled.
    pub fn plan_within(&self, set: &[Override], budget: &Budget<'_>) -> Result<Plan, Faults> {
        self.plan(set, MAX_POINTS, budget)
    }

    /// The name of the text in messages.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Resolves no more than `most` runs.
    fn plan(&self, set: &[Override], most: usize, budget: &Budget<'_>) -> Result<Plan, Faults> {
        let Source { name, text } = &self.source;
        let (mut sweep, mut gathered) = (self.sweep.clone(), self.gathered.clone());
        let settings = (1..).zip(set).filter_map(|(n, set)| set.setting(n, &mut gathered));
        let settings = settings.collect();
        let last = sweep::pin(&mut sweep.axes, settings, &mut gathered);
        let stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let default_name = stem.strip_suffix(".toml").unwrap_or(stem);
        let of_set = set.iter().map(|set| set.files.as_ref());
        let readers = Readers([self.files.as_ref()].into_iter().chain(of_set).collect());
        let (root, sweep, last) = (&self.root, &sweep, &last);
        let asked = Asked { root, sweep, last, default_name, most, readers };
        match asked.points(budget, &mut gathered) {
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
            _ => {
                let set = set.iter().map(|set| &set.source);
                Err(gathered.finish(&[&self.source].into_iter().chain(set).collect::<Vec<_>>()))
            }
        }
    }
}

impl Point {
    /// The memory that it takes, nearly.
    fn bytes(&self) -> usize {
        let Scenario { groups, udp, web, apps, hops, paths, changes, .. } = &self.scenario;
        let text = |pairs: &[(String, String)]| {
            pairs.iter().map(|(key, value)| key.len() + value.len() + 48).sum::<usize>()
        };
        size_of::<Point>()
            + text(&self.set)
            + text(&self.pins)
            + size_of_val(&groups[..])
            + groups.iter().map(|group| group.name.len() + 8 * group.starts.len()).sum::<usize>()
            + size_of_val(&udp[..])
            + size_of_val(&web[..])
            + size_of_val(&apps[..])
            + size_of_val(&hops[..])
            + hops.iter().map(|hop| 8 * hop.sources.len()).sum::<usize>()
            + paths.iter().map(path_bytes).sum::<usize>()
            + size_of_val(&changes[..])
            + changes.iter().map(|change| size_of_val(&change.rtts[..])).sum::<usize>()
    }

    /// The command that repeats just this run, on the substrate `on`. `scenario` is the user's name
    /// for it.
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

/// A key and the value that it is set to, as a person wrote them: `KEY=VALUE`. It is read once and
/// may be applied often.
#[derive(Clone, Debug)]
pub struct Override {
    source: Source,
    /// `None` where the text is no `KEY=VALUE`, which is a fault of every plan that it is applied to.
    setting: Option<Setting>,
    /// The files that it may name.
    files: Option<Files>,
}

impl Override {
    /// Reads `KEY=VALUE`. It may name no file.
    pub fn new(text: &str) -> Override {
        let source = Source { name: "--set".to_owned(), text: text.to_owned() };
        let key = text.split_once('=').map(|(key, _)| key).filter(|key| !key.trim().is_empty());
        let setting = key.map(|key| Setting {
            path: key.trim().to_owned(),
            place: Place { source: 0, bytes: 0..key.len() },
            value: tree::parse_value(&source, 0, key.len() + 1),
        });
        Override { source, setting, files: None }
    }

    /// The same setting, which may name files.
    pub fn with_files(self, files: Files) -> Override {
        Override { files: Some(files), ..self }
    }

    /// The key, without the blanks around it; the whole text where that is no `KEY=VALUE`.
    pub fn key(&self) -> &str {
        self.setting.as_ref().map_or(&self.source.text, |setting| &setting.path)
    }

    /// The original text, `KEY=VALUE`.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The original text of the value.
    pub fn value(&self) -> &str {
        self.source.text.split_once('=').map_or("", |(_, value)| value)
    }

    /// The setting, as `sources[number]`.
    fn setting(&self, number: usize, gathered: &mut Gathered) -> Option<Setting> {
        let Some(mut setting) = self.setting.clone() else {
            let place = Place { source: number, bytes: 0..self.source.text.len() };
            gathered.add(&place, "expected KEY=VALUE, such as link.rate=40mbit", None);
            return None;
        };
        setting.place.source = number;
        let place = Place { source: number, ..setting.value.place.clone() };
        tree::set_place(&mut setting.value, &place);
        Some(setting)
    }
}

/// The discipline of this kind with these settings, which are those of `[aqm]`.
///
/// # Errors
/// A setting is refused.
pub fn discipline(kind: &'static str, set: &[Override]) -> Result<l4s_aqm::Config, Faults> {
    let (mut gathered, mut table) = (Gathered::default(), Table::default());
    for (number, set) in (1..).zip(set) {
        if let Some(Setting { path: key, place, value }) = set.setting(number, &mut gathered) {
            table.set(Entry { key, place, value });
        }
    }
    let config = schema::discipline(&table, kind, &mut gathered);
    let none = Source { name: "--set".to_owned(), text: String::new() };
    let sources: Vec<_> = [&none].into_iter().chain(set.iter().map(|set| &set.source)).collect();
    config.filter(|_| gathered.is_empty()).ok_or_else(|| gathered.finish(&sources))
}

type Points = (Vec<Point>, Option<String>);

/// The parts of a run.
struct Asked<'a> {
    root: &'a Table,
    sweep: &'a Sweep,
    /// Set at the end of every run.
    last: &'a [Setting],
    default_name: &'a str,
    /// The maximum number of runs.
    most: usize,
    /// Who may name files.
    readers: Readers<'a>,
}

impl Asked<'_> {
    /// Every run, resolved; `None` where `gathered` says why not.
    fn points(&self, budget: &Budget<'_>, gathered: &mut Gathered) -> Option<Points> {
        let Asked { root, sweep, last, most, .. } = *self;
        let top = Place::default();
        let Some(runs) = sweep.combinations().filter(|runs| *runs <= MAX_POINTS) else {
            let axes = sweep.axes.iter().map(|axis| axis.steps.len());
            let sizes: Vec<_> = axes.filter(|n| *n > 1).map(|n| n.to_string()).collect();
            let sizes = sizes.join(" × ");
            let message = format!("`sweep`: {sizes} runs, expected at most {MAX_POINTS}");
            gathered.add(&top, message, None);
            return None;
        };
        let (mut points, mut question) = (Vec::with_capacity(runs.min(most)), None);
        let (mut flows, mut bytes, mut wrong) = (0, 0, 0);
        let mut lists = Lists::default();
        let mut spent = Spent { left: budget.steps, budget };
        let size = root.size() as u64;
        // Not in half of its runs is it said to be too much.
        let least = size.saturating_mul(runs.min(most) as u64);
        if least > budget.steps {
            let steps = budget.steps;
            let message = format!(
                "`sweep`: {runs} runs of {size} values each, expected at most {steps} in all"
            );
            gathered.add(&top, message, None);
            return None;
        }
        let mut combinations = sweep.runs();
        loop {
            let steps = combinations.next();
            let looked = combinations.looked();
            if !spent.may(looked, &top, gathered) {
                return None;
            }
            let Some(steps) = steps else { break };
            let Some(steps) = steps else { continue };
            let settings = || steps.iter().flat_map(|step| &step.settings).chain(last);
            let cost = settings().map(|setting| setting.cost(root)).sum::<usize>();
            if !spent.may(size + cost as u64, &top, gathered) {
                return None;
            }
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
            settings().for_each(|setting| setting.make_room(&mut root));
            for setting in settings() {
                setting.apply(&mut root, gathered);
            }
            schema::add_other_halves(&mut root);
            schema::add_instances(&mut root, gathered);
            if let Some(described) =
                schema::scenario(&root, self.default_name, &self.readers, gathered)
            {
                let Described { scenario, asserts, question: asked } = described;
                question = asked;
                flows += scenario.long_flows();
                let asserts = lists.share(asserts);
                let point = Point { set, pins, scenario, asserts };
                bytes += point.bytes();
                let amounts = [
                    (flows, MOST_FLOWS, "flows in all runs together"),
                    (
                        bytes + lists.bytes,
                        MOST_BYTES,
                        "bytes of memory for the settings of all runs",
                    ),
                ];
                if let Some((_, most, what)) = amounts.iter().find(|(n, most, _)| n > most) {
                    gathered.add(&top, format!("more than {most} {what}"), None);
                    return None;
                }
                if gathered.is_empty() {
                    points.push(point);
                }
            }
            // Other runs may have other faults, but nobody waits for the last of them.
            wrong += usize::from(!gathered.is_empty());
            let enough = gathered.is_full() || wrong > MOST_WRONG || (most == 1 && wrong > 0);
            if enough || points.len() >= most {
                break;
            }
        }
        if points.is_empty() && gathered.is_empty() {
            gathered.add(&top, "`sweep.skip` leaves no run", None);
        }
        gathered.is_empty().then_some((points, question))
    }
}

/// Lists of assertions: those of most runs of a sweep are the same, and kept once.
#[derive(Default)]
struct Lists {
    known: Vec<Arc<[Assert]>>,
    /// The memory that they take, nearly.
    bytes: usize,
}

impl Lists {
    fn share(&mut self, list: Vec<Assert>) -> Arc<[Assert]> {
        // Only the latest lists: few are needed, and a case may have its own.
        if let Some(known) = self.known.iter().rev().take(100).find(|known| ***known == *list) {
            return known.clone();
        }
        self.bytes += list.iter().map(Assert::bytes).sum::<usize>();
        self.known.push(list.into());
        self.known[self.known.len() - 1].clone()
    }
}

/// After this number of runs with faults the search ends.
const MOST_WRONG: usize = 1000;

/// The rest of a budget.
struct Spent<'a> {
    left: u64,
    budget: &'a Budget<'a>,
}

impl Spent<'_> {
    /// Whether this number of steps may be taken; `gathered` gets the reason if not.
    fn may(&mut self, steps: u64, place: &Place, gathered: &mut Gathered) -> bool {
        if (self.budget.cancelled)() {
            gathered.add(place, "reading it was cancelled", None);
            return false;
        }
        let left = self.left.checked_sub(steps);
        if left.is_none() {
            let most = self.budget.steps;
            let message = format!(
                "`sweep`: more than {most} values and `[[sweep.skip]]` in all runs together"
            );
            gathered.add(place, message, None);
        }
        left.map(|left| self.left = left).is_some()
    }
}

/// The memory that a path takes, nearly.
fn path_bytes(path: &Path) -> usize {
    let numbers = match &path.loss {
        Loss::Packets(numbers) => numbers.len(),
        _ => 0,
    };
    size_of::<Path>() + path.name.len() + 8 * (path.sources.len() + numbers)
}

/// The last value of each key, in the place of its first. The seed goes: results have it apart.
fn once_each(pairs: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<(String, String)> = Vec::new();
    for (key, value) in pairs {
        match places.get(&key) {
            Some(place) => kept[*place].1 = value,
            None => {
                places.insert(key.clone(), kept.len());
                kept.push((key, value));
            }
        }
    }
    kept.retain(|(key, _)| key != "seed");
    kept
}

fn run_text(set: &[(String, String)]) -> String {
    let pairs: Vec<_> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("in the run with {}", pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::any::Dice;

    const SET: &[&str] = &[
        "link.rate=20mbit",
        "aqm=pie",
        "aqm={ kind = \"fifo\", limit = \"50p\" }",
        "group.*.rtt=7ms",
        "group.*.cc=reno",
        "group.A.flows=2",
        "seed=5",
        "duration=9s",
        "no key",
    ];

    #[test]
    fn a_discipline_by_itself_is_that_of_a_scenario() {
        let text = "link.rate = \"1gbit\"\n[[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";
        for (kind, set) in [
            ("dualpi2", &["profile=linux", "target=20ms", "k=3"][..]),
            ("dualpi2", &["step_thresh=5p", "step_thresh=2ms"]),
            ("fifo", &["limit=50p"]),
            ("fifo", &["limit=100b"]),
            ("pie", &["targt=20ms"]),
            ("pie", &["kind=codel", "target=3ms"]),
        ] {
            let keys: Vec<_> = set.iter().map(|set| format!("aqm.{set}")).collect();
            let keys = [vec![format!("aqm={kind}")], keys].concat();
            let plan = Plan::parse("t.toml", text, &keys);
            let set: Vec<_> = set.iter().map(|set| Override::new(set)).collect();
            let messages = |faults: Faults| faults.0.into_iter().map(|fault| fault.message);
            assert_eq!(
                discipline(kind, &set).map_err(|faults| messages(faults).collect::<Vec<_>>()),
                plan.map(|plan| plan.points[0].scenario.aqm.clone())
                    .map_err(|faults| messages(faults).collect()),
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Without its text a template gives the same runs, and so does a value without its own.
        #[test]
        fn a_text_and_a_value_are_read_once(
            seed: u64,
            set in prop::collection::vec(prop::sample::select(SET), 0..4),
        ) {
            let text = Dice(seed).scenario();
            let mut template = Template::parse("any.toml", &text).unwrap();
            let mut overrides: Vec<_> = set.iter().map(|text| Override::new(text)).collect();
            let set: Vec<_> = set.iter().map(|text| (*text).to_owned()).collect();
            let expected = Plan::first("any.toml", &text, &set).map(|plan| plan.points);
            template.source.text.clear();
            overrides.iter_mut().for_each(|set| set.source.text.clear());
            let plan = template.first_within(&overrides, &Budget::default());
            match expected {
                Ok(points) => prop_assert_eq!(plan.unwrap().points, points),
                Err(_) => prop_assert!(plan.is_err()),
            }
        }
    }
}
