//! From one file to many runs: `[sweep]`, its cases, and the settings of the command line.
//!
//! The runs are every case with every combination of the other keys' values, the first key
//! slowest, less those that a `[[sweep.skip]]` names. Cases under another name, `[[sweep.NAME]]`
//! with a label each, are an axis of their own. `--set` of a swept key pins it to one value; any
//! other `--set` is applied last.

use std::collections::{HashMap, HashSet};

use crate::MAX_POINTS;
use crate::fault::{Gathered, Place, Source, did_you_mean, listed};
use crate::schema::{HEAD, RADIOS, TABLES, TRACE, naming_key, near_key, settable, source_names};
use crate::tree::{Entry, Item, Node, Table};

/// One key set to one value.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The key, dotted.
    pub path: String,
    /// Where the key was written.
    pub place: Place,
    /// The value.
    pub value: Node,
}

/// The settings together for one step along an axis.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Applied to the base in this order.
    pub settings: Vec<Setting>,
    /// The settings as results show them.
    pub shown: Vec<(String, String)>,
    /// The settings with which `--set` selects the step.
    pub pins: Vec<(String, String)>,
}

/// A key or the list of cases, with its steps.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// The key, or the name of the cases.
    pub path: String,
    /// At least one.
    pub steps: Vec<Step>,
    /// The steps are cases, which `--set` selects by their label.
    pub cases: bool,
}

/// Everything that varies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweep {
    /// The cases first, then the keys as they were written.
    pub axes: Vec<Axis>,
    /// Combinations to leave out: those with all of these values.
    pub skips: Vec<Vec<Setting>>,
}

impl Setting {
    fn step(self) -> Step {
        let shown = (self.path.clone(), self.value.plain());
        let pin = (self.path.clone(), pin_text(&self.value));
        Step { settings: vec![self], shown: vec![shown], pins: vec![pin] }
    }

    /// How many values setting it in `root` goes through.
    pub fn cost(&self, root: &Table) -> usize {
        let list = self.path.split('.').next().unwrap_or_default();
        let tables = root.get(list).and_then(Node::list).map_or(0, <[Node]>::len);
        let set = if self.path.contains('*') { tables } else { 1 };
        1 + tables + set * self.value.size()
    }

    /// Sets the value in `root`. Wildcards set it in every group or source, or at every `[[at]]`.
    pub fn apply(&self, root: &mut Table, gathered: &mut Gathered) {
        let segments: Vec<&str> = self.path.split('.').collect();
        let entry = |key: &str| Entry {
            key: key.to_owned(),
            place: self.place.clone(),
            value: self.value.clone(),
        };
        let applied = match segments.as_slice() {
            [key] if *key == "aqm" || HEAD.iter().any(|f| f.name == *key) => {
                root.set(entry(key));
                true
            }
            [table @ ("link" | "uplink" | "kernel"), key] => {
                root.table_mut(table, &self.place).map(|table| table.set(entry(key))).is_some()
            }
            ["aqm", key] => {
                as_kind_table(root, "aqm");
                root.table_mut("aqm", &self.place).map(|aqm| aqm.set(entry(key))).is_some()
            }
            ["uplink", "aqm", key] => {
                let uplink = root.table_mut("uplink", &self.place);
                uplink.is_some_and(|uplink| {
                    as_kind_table(uplink, "aqm");
                    uplink.table_mut("aqm", &self.place).map(|aqm| aqm.set(entry(key))).is_some()
                })
            }
            [link @ ("link" | "uplink"), radio, key] if RADIOS.iter().any(|name| name == radio) => {
                let link = root.table_mut(link, &self.place);
                let radio = link.and_then(|link| link.table_mut(radio, &self.place));
                radio.map(|radio| radio.set(entry(key))).is_some()
            }
            // All of them at once, so that a case can have its own.
            [
                list @ ("uplink" | "web" | "app" | "program" | "udp" | "hop" | "path" | "at"
                | "assert"),
            ] => {
                root.set(entry(list));
                true
            }
            ["at", number, keys @ .., key] => {
                let tables = numbered_mut(root, "at", number);
                let found = !tables.is_empty();
                for table in tables {
                    if let Some(table) = inner_mut(table, keys, &self.place) {
                        table.set(entry(key));
                    }
                }
                found
            }
            [
                list @ ("group" | "web" | "app" | "program" | "udp" | "hop" | "path"),
                name,
                key @ ..,
            ] if (1..=2).contains(&key.len()) => {
                let mut found = false;
                for table in sources_mut(root, list, name) {
                    found = true;
                    match key {
                        [key] => table.set(entry(key)),
                        [kind, setting]
                            if [("group", "cc"), ("hop", "aqm")].contains(&(list, kind)) =>
                        {
                            as_kind_table(table, kind);
                            if let Some(kind) = table.table_mut(kind, &self.place) {
                                kind.set(entry(setting));
                            }
                        }
                        [radio, setting]
                            if *list == "hop" && RADIOS.iter().any(|name| name == radio) =>
                        {
                            if let Some(radio) = table.table_mut(radio, &self.place) {
                                radio.set(entry(setting));
                            }
                        }
                        _ => found = false,
                    }
                }
                found
            }
            _ => false,
        };
        if !applied {
            gathered.add_with(&self.place, || self.matches_nothing(root));
        }
    }

    /// Leaves out the text's capacity of a link, a rate, a trace or a radio, where this one sets another kind of
    /// capacity. Two settings of different kinds exclude each other as in a text.
    pub fn make_room(&self, root: &mut Table) {
        let segments: Vec<&str> = self.path.split('.').collect();
        let (link, kind) = match segments.as_slice() {
            [link, kind @ ("rate" | "trace")] => (*link, *kind),
            [link, kind] | [link, kind, _] if RADIOS.contains(kind) => (*link, *kind),
            _ => return,
        };
        if !["link", "uplink"].contains(&link) || root.entry(link).is_none() {
            return;
        }
        let Some(table) = root.table_mut(link, &self.place) else { return };
        let others = ["rate"].iter().chain(&TRACE).chain(&RADIOS);
        for other in others.filter(|other| !(kind == "trace" && TRACE.contains(other))) {
            if *other != kind {
                table.remove(other);
            }
        }
    }

    /// Message and help where there is nothing of that name.
    fn matches_nothing(&self, root: &Table) -> (String, Option<String>) {
        let segments: Vec<&str> = self.path.split('.').collect();
        let (message, help) = match segments.as_slice() {
            ["at", number, _, ..] => {
                let message = match root.get("at").and_then(Node::list).map_or(0, <[Node]>::len) {
                    0 => format!("`{}`: there is no `[[at]]`", self.path),
                    most => format!(
                        "`{}`: no `[[at]]` of number {number}, expected 1 to {most} or *",
                        self.path
                    ),
                };
                (message, None)
            }
            [
                list @ ("group" | "web" | "app" | "program" | "udp" | "hop" | "path"),
                name,
                _,
                ..,
            ] => {
                let names = source_names(root, list);
                let what = match *list {
                    "group" => "group",
                    "web" => "`[[web]]` of group",
                    "app" => "`[[app]]` of group",
                    "hop" => "hop",
                    "path" => "path",
                    "program" => "program",
                    _ => "UDP source",
                };
                let message = match names.as_slice() {
                    [] if ["web", "app"].contains(list) => {
                        format!("`{}`: there is no `[[{list}]]`", self.path)
                    }
                    [] => format!("`{}`: there is no {what}", self.path),
                    _ => {
                        format!("`{}`: no {what} `{name}`, expected {}", self.path, listed(&names))
                    }
                };
                (message, did_you_mean(name, names))
            }
            _ => {
                let message = format!("`{}`: no such key to set", self.path);
                let some = "keys are such as `link.rate`, `aqm.target`, `group.A.rtt`, `duration`";
                (message, near_key(&self.path, root).or(Some(some.to_owned())))
            }
        };
        (message, help)
    }
}

/// The tables of the groups or sources called `name`, or all of them for `*`.
fn sources_mut<'a>(root: &'a mut Table, list: &str, name: &str) -> Vec<&'a mut Table> {
    let tables = tables_mut(root, list).into_iter();
    let key = naming_key(list);
    let called = |table: &Table| table.get(key).and_then(Node::text) == Some(name);
    tables.filter(|table| name == "*" || called(table)).collect()
}

/// The table of that number, counted from 1 in the order of the file, or all of them for `*`.
fn numbered_mut<'a>(root: &'a mut Table, list: &str, number: &str) -> Vec<&'a mut Table> {
    let tables = (1..).zip(tables_mut(root, list));
    let wanted = number.parse::<usize>().ok();
    let tables = tables.filter(|(n, _)| number == "*" || Some(*n) == wanted);
    tables.map(|(_, table)| table).collect()
}

fn tables_mut<'a>(root: &'a mut Table, list: &str) -> Vec<&'a mut Table> {
    let entry = root.entries.iter_mut().find(|entry| entry.key == list);
    let Some(Item::List(nodes)) = entry.map(|entry| &mut entry.value.item) else {
        return Vec::new();
    };
    let tables = nodes.iter_mut().filter_map(|node| match &mut node.item {
        Item::Table(table) => Some(table),
        _ => None,
    });
    tables.collect()
}

/// The table under these keys, made where there is none; `None` where something else is there.
fn inner_mut<'a>(table: &'a mut Table, keys: &[&str], place: &Place) -> Option<&'a mut Table> {
    keys.iter().try_fold(table, |table, key| {
        if *key == "aqm" {
            as_kind_table(table, key);
        }
        table.table_mut(key, place)
    })
}

/// Turns `key = "kind"` into `key = { kind = "kind" }`, so that settings can stand beside it.
fn as_kind_table(table: &mut Table, key: &str) {
    let Some(entry) = table.entries.iter_mut().find(|entry| entry.key == key) else { return };
    if entry.value.text().is_some() {
        if let Some(kind) = crate::settings::as_table(&entry.value) {
            entry.value.item = Item::Table(kind);
        }
    }
}

/// A value as `--set` reads it back.
pub(crate) fn pin_text(value: &Node) -> String {
    let text = value.plain();
    let source = Source { name: String::new(), text: text.clone() };
    let read_back = crate::tree::parse_value(&source, 0, 0);
    match (&value.item, &read_back.item) {
        (Item::Text(meant), Item::Text(read)) if meant == read => text,
        (Item::Text(_), _) => value.to_string(),
        _ => text,
    }
}

/// Takes `[sweep]` out of `root`.
pub(crate) fn take(root: &mut Table, gathered: &mut Gathered) -> Sweep {
    let mut sweep = Sweep::default();
    let Some(node) = root.remove("sweep") else { return sweep };
    let Some(table) = node.table() else {
        let message = format!("`sweep`: found {}, expected one table `[sweep]`", node.found());
        gathered.add(&node.place, message, None);
        return sweep;
    };
    let before = gathered.count();
    sweep.axes.extend(table.entry("case").and_then(|entry| cases(entry, gathered)));
    for entry in table.entries.iter().filter(|e| !["case", "skip"].contains(&e.key.as_str())) {
        if is_cases(entry) {
            sweep.axes.extend(cases(entry, gathered));
            continue;
        }
        let mut settings = Vec::new();
        flatten("", entry, &|_, _| false, &mut settings);
        sweep.axes.extend(settings.into_iter().filter_map(|setting| axis(setting, root, gathered)));
    }
    sweep.check_effects(gathered);
    // Of an axis that is refused nothing else is said.
    if let Some(entry) = table.entry("skip").filter(|_| gathered.count() == before) {
        sweep.skips = skips(entry, &sweep.axes, gathered);
    }
    sweep
}

/// `[[sweep.skip]]`: combinations to leave out.
fn skips(entry: &Entry, axes: &[Axis], gathered: &mut Gathered) -> Vec<Vec<Setting>> {
    let Some(tables) = tables(entry, "skip", gathered) else { return Vec::new() };
    let swept: HashSet<&str> = axes.iter().map(|axis| axis.path.as_str()).collect();
    let mut skips = Vec::new();
    for table in tables {
        let mut skip = Vec::new();
        table.entries.iter().for_each(|entry| flatten("", entry, &is_whole, &mut skip));
        for setting in skip.iter().filter(|setting| !swept.contains(&*setting.path)) {
            gathered.add_with(&setting.place, || {
                let paths: Vec<_> = axes.iter().map(|axis| axis.path.as_str()).collect();
                let (path, listed) = (&setting.path, listed(&paths));
                let message = format!("`sweep.skip`: `{path}` is not swept, expected {listed}");
                (message, did_you_mean(path, paths))
            });
        }
        skips.push(skip);
    }
    skips
}

/// The tables of `[[sweep.name]]`, at least one.
fn tables<'a>(entry: &'a Entry, name: &str, gathered: &mut Gathered) -> Option<Vec<&'a Table>> {
    let nodes = entry.value.list().unwrap_or_default();
    let tables: Option<Vec<_>> = nodes.iter().map(Node::table).collect();
    let tables = tables.filter(|tables| !tables.is_empty());
    if tables.is_none() {
        let found = entry.value.found();
        let message = format!("`sweep.{name}`: found {found}, expected a list of tables");
        gathered.add(&entry.place, message, Some(format!("write `[[sweep.{name}]]`")));
    }
    tables
}

/// A swept key with its list of values.
fn axis(setting: Setting, root: &Table, gathered: &mut Gathered) -> Option<Axis> {
    let Setting { path, place, value } = setting;
    match value.list() {
        Some([]) => {
            let message = format!("`sweep.{path}`: the list is empty, expected at least one value");
            gathered.add(&value.place, message, None);
            None
        }
        Some(values) if values.len() > MAX_POINTS => {
            let found = values.len();
            let message = format!("`sweep.{path}`: {found} values, expected at most {MAX_POINTS}");
            gathered.add(&value.place, message, None);
            None
        }
        Some(values) => {
            let mut seen = HashSet::new();
            if let Some(again) = values.iter().find(|value| !seen.insert(value.plain())) {
                let message = format!("`sweep.{path}`: {} is there twice", again.found());
                gathered.add(&again.place, message, None);
                return None;
            }
            let step = |value: &Node| {
                Setting { path: path.clone(), place: place.clone(), value: value.clone() }.step()
            };
            Some(Axis { steps: values.iter().map(step).collect(), path, cases: false })
        }
        None => {
            gathered.add_with(&value.place, || {
                let known = settable(root).contains(&path);
                let message =
                    format!("`sweep.{path}`: found {}, expected a list of values", value.found());
                let write = || format!("write [{value}]");
                (message, if known { Some(write()) } else { near_key(&path, root) })
            });
            None
        }
    }
}

/// Whether these are cases under a name of their own: tables with labels, by no name that a
/// scenario has.
fn is_cases(entry: &Entry) -> bool {
    let mut known = HEAD.iter().map(|field| field.name).chain(TABLES.iter().copied());
    let labelled = |node: &Node| node.table().is_some_and(|table| table.get("label").is_some());
    let nodes = entry.value.list().unwrap_or_default();
    !nodes.is_empty() && nodes.iter().all(labelled) && known.all(|name| name != entry.key)
}

/// `[[sweep.case]]`, or cases under another name.
fn cases(entry: &Entry, gathered: &mut Gathered) -> Option<Axis> {
    let axis = entry.key.as_str();
    let tables = tables(entry, axis, gathered)?;
    let mut steps = Vec::new();
    let mut labels: HashSet<String> = HashSet::new();
    for (number, table) in tables.into_iter().enumerate() {
        let mut settings = Vec::new();
        let mut label = None;
        for entry in &table.entries {
            if entry.key != "label" {
                flatten("", entry, &is_whole, &mut settings);
                continue;
            }
            match crate::field::line(&entry.value, 100) {
                Ok(text) => label = Some(text),
                Err(refusal) => {
                    refusal.report(&format!("sweep.{axis}.label"), &entry.value, gathered)
                }
            }
        }
        let name = label.clone().unwrap_or_else(|| (number + 1).to_string());
        if !labels.insert(name.clone()) {
            let place = table.get("label").map_or(&entry.place, |label| &label.place);
            let message = format!("`sweep.{axis}`: two cases are called `{name}`");
            gathered.add(place, message, None);
        }
        let shown = match &label {
            Some(label) => vec![(axis.to_owned(), label.clone())],
            None => settings.iter().map(|s| (s.path.clone(), s.value.plain())).collect(),
        };
        steps.push(Step { settings, shown, pins: vec![(axis.to_owned(), name)] });
    }
    Some(Axis { path: axis.to_owned(), steps, cases: true })
}

/// The keys under an entry: a table is gone into, unless it is a value of its own.
fn flatten(
    prefix: &str,
    entry: &Entry,
    is_whole: &dyn Fn(&str, &Table) -> bool,
    settings: &mut Vec<Setting>,
) {
    let path = match prefix {
        "" => entry.key.clone(),
        prefix => format!("{prefix}.{}", entry.key),
    };
    match entry.value.table() {
        Some(table) if !table.entries.is_empty() && !is_whole(&path, table) => {
            for entry in &table.entries {
                flatten(&path, entry, is_whole, settings);
            }
        }
        _ => {
            settings.push(Setting { path, place: entry.place.clone(), value: entry.value.clone() })
        }
    }
}

/// Whether a table in a case is a value: a discipline or congestion control as a whole, a start,
/// a size, or an imperfection of a path, unless dotted keys set parts of it.
fn is_whole(path: &str, table: &Table) -> bool {
    let last = path.rsplit('.').next();
    !table.dotted
        && matches!(last, Some("aqm" | "cc" | "start" | "size" | "loss" | "jitter" | "reorder"))
}

/// Lets the command line pin axes. Returns the settings that are left for the end of every run.
pub(crate) fn pin(
    axes: &mut Vec<Axis>,
    set: Vec<Setting>,
    gathered: &mut Gathered,
) -> Vec<Setting> {
    let mut last = Vec::new();
    for setting in set {
        let axis = axes.iter_mut().find(|axis| axis.cases && axis.path == setting.path);
        if axis.is_some() || setting.path == "case" {
            pin_case(axis, &setting, gathered);
        } else if let Some(axis) = axes.iter_mut().find(|axis| axis.path == setting.path) {
            // One of its own values is that of the text: a file is relative to the text's folder then.
            let pinned = setting.value.plain();
            let own = axis
                .steps
                .iter()
                .find(|step| matches!(&step.settings[..], [own] if own.value.plain() == pinned));
            axis.steps = vec![own.cloned().unwrap_or_else(|| setting.step())];
        } else {
            axes.retain(|axis| !covers(&setting.path, &axis.path));
            last.push(setting);
        }
    }
    last
}

fn pin_case(axis: Option<&mut Axis>, setting: &Setting, gathered: &mut Gathered) {
    let Some(axis) = axis else {
        let message = "`case`: this scenario has no cases".to_owned();
        return gathered.add(&setting.place, message, None);
    };
    let wanted = setting.value.plain();
    let name = |step: &Step| step.pins[0].1.clone();
    match axis.steps.iter().find(|step| name(step) == wanted) {
        Some(step) => axis.steps = vec![step.clone()],
        None => {
            let names: Vec<_> = axis.steps.iter().map(name).collect();
            let message =
                format!("`{}`: found \"{wanted}\", expected {}", axis.path, listed(&names));
            let help = did_you_mean(&wanted, names.iter().map(String::as_str));
            gathered.add(&setting.value.place, message, help);
        }
    }
}

/// Whether setting the key `outer` overrides an earlier setting of the key `inner` completely: it is
/// the same key, a table around it (`aqm` around `aqm.target`), or has a wildcard in its place.
pub fn covers(outer: &str, inner: &str) -> bool {
    let mut inner = inner.split('.');
    outer.split('.').all(|segment| match inner.next() {
        Some(other) => segment == "*" || segment == other,
        None => false,
    })
}

/// All keys that cover this one, for one of no more segments than keys of scenarios have.
fn covering(inner: &str) -> Vec<String> {
    const MOST_SEGMENTS: usize = 6;
    let mut found = Vec::new();
    let mut longest = vec![String::new()];
    for segment in inner.split('.').take(MOST_SEGMENTS) {
        let longer = longest.iter().flat_map(|key| {
            let dot = if key.is_empty() { "" } else { "." };
            [segment, "*"].map(|segment| format!("{key}{dot}{segment}"))
        });
        longest = longer.collect();
        found.extend_from_slice(&longest);
    }
    found
}

impl Sweep {
    /// Refuses a setting that a later axis always replaces: the label of its runs would be wrong.
    fn check_effects(&self, gathered: &mut Gathered) {
        let keys = self.axes.iter().enumerate().filter(|(_, axis)| !axis.cases);
        let places: HashMap<&str, usize> = keys.map(|(n, axis)| (axis.path.as_str(), n)).collect();
        for (number, axis) in self.axes.iter().enumerate() {
            for setting in axis.steps.iter().flat_map(|step| &step.settings) {
                let found = covering(&setting.path);
                let places = found.iter().filter_map(|key| places.get(key.as_str()).copied());
                let later = places.filter(|place| *place > number).min();
                let Some(later) = later.map(|place| &self.axes[place]) else { continue };
                let message = format!(
                    "`{}` has no effect here: `sweep.{}` sets it in every run, and comes later",
                    setting.path, later.path
                );
                let help = match axis.cases {
                    true => "leave one of them out",
                    false => "put the more general key first, or leave one of them out",
                };
                gathered.add(&setting.place, message, Some(help.to_owned()));
                if !axis.cases {
                    break;
                }
            }
        }
    }

    /// How many combinations there are; `None` for more than a machine can count.
    pub fn combinations(&self) -> Option<usize> {
        self.axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.steps.len()))
    }

    /// The combinations, those that are to be left out aside.
    pub fn runs(&self) -> Runs<'_> {
        Runs::new(self)
    }
}

/// The combinations in their order: an odometer, the last axis the fastest.
///
/// A skip is a conjunction of conditions, each of which some steps fulfil. Those that the steps chosen
/// so far leave possible are sorted once by the step of the next axis that they go with. So a skip is
/// looked at for the steps that it names alone, and combinations that are skipped are so at once.
pub(crate) struct Runs<'a> {
    axes: &'a [Axis],
    /// For each axis, its meaning for a skip, by its number.
    parts: Vec<HashMap<usize, Part>>,
    /// The step of each axis.
    digits: Vec<usize>,
    /// For each axis, the skips that are possible before its step is chosen.
    open: Vec<Vec<Open>>,
    /// For each axis, those of them that are so with each of its steps, and with any.
    with: Vec<(Vec<Vec<Open>>, Vec<Open>)>,
    /// The first axis whose step is to be looked at; `None` at the end.
    next: Option<usize>,
    /// How many skips were looked at.
    looked: u64,
}

/// A skip that is possible: its number, and a bit for each condition that is left.
type Open = (usize, u64);

/// The meaning of an axis for a skip.
#[derive(Default)]
struct Part {
    /// The conditions that each of these steps fulfils.
    steps: Vec<(usize, u64)>,
    /// Those that no axis behind this one fulfils.
    due: u64,
}

impl<'a> Runs<'a> {
    fn new(sweep: &'a Sweep) -> Runs<'a> {
        let axes = &sweep.axes;
        let mut conditions: HashMap<(&str, String), Vec<(usize, usize)>> = HashMap::new();
        for setting in sweep.skips.iter().flatten() {
            conditions.entry((&setting.path, setting.value.plain())).or_default();
        }
        for (axis, steps) in axes.iter().map(|axis| &axis.steps).enumerate() {
            for (step, pairs) in steps.iter().enumerate() {
                for (path, value) in pairs.shown.iter().chain(&pairs.pins) {
                    if let Some(steps) = conditions.get_mut(&(path.as_str(), value.clone())) {
                        if steps.last() != Some(&(axis, step)) {
                            steps.push((axis, step));
                        }
                    }
                }
            }
        }
        let mut parts: Vec<HashMap<usize, Part>> = axes.iter().map(|_| HashMap::new()).collect();
        let (mut all, mut known) = (Vec::new(), HashSet::new());
        for skip in &sweep.skips {
            let keys = skip.iter().map(|setting| (setting.path.as_str(), setting.value.plain()));
            let mut steps: Vec<_> = keys.filter_map(|key| conditions.get(&key)).collect();
            // A condition that every combination fulfils is none.
            let is_sure = |(axis, _): &(usize, usize)| axes[*axis].steps.len() == 1;
            steps.retain(|steps| !steps.iter().any(is_sure));
            steps.sort();
            // There are 2^64 combinations where there are more.
            let possible = steps.iter().all(|steps| !steps.is_empty()) && steps.len() < 64;
            if !possible || !known.insert(steps.clone()) {
                continue;
            }
            let number = all.len();
            for (bit, steps) in steps.iter().enumerate() {
                for (axis, step) in *steps {
                    let part = parts[*axis].entry(number).or_default();
                    match part.steps.iter_mut().find(|(known, _)| known == step) {
                        Some((_, bits)) => *bits |= 1 << bit,
                        None => part.steps.push((*step, 1 << bit)),
                    }
                }
                if let Some((axis, _)) = steps.iter().max() {
                    parts[*axis].entry(number).or_default().due |= 1 << bit;
                }
            }
            all.push((number, (1 << steps.len()) - 1));
        }
        let with = axes.iter().map(|axis| (vec![Vec::new(); axis.steps.len()], Vec::new()));
        let (with, mut open) = (with.collect(), vec![Vec::new(); axes.len() + 1]);
        let none = axes.iter().any(|axis| axis.steps.is_empty());
        // A skip without conditions leaves nothing.
        let next = (!none && all.iter().all(|(_, left)| *left != 0)).then_some(0);
        open[0] = all;
        Runs { axes, parts, digits: vec![0; axes.len()], open, with, next, looked: 0 }
    }

    /// How many skips were looked at since this was asked.
    pub fn looked(&mut self) -> u64 {
        std::mem::take(&mut self.looked)
    }

    /// Sorts the skips that are possible before the step of an axis by their state with each.
    fn sort(&mut self, axis: usize) {
        let (with, any) = &mut self.with[axis];
        with.iter_mut().for_each(Vec::clear);
        any.clear();
        for (skip, left) in &self.open[axis] {
            self.looked += 1;
            let Some(Part { steps, due }) = self.parts[axis].get(skip) else {
                any.push((*skip, *left));
                continue;
            };
            for (step, fulfilled) in steps {
                let left = left & !fulfilled;
                if left & due == 0 {
                    with[*step].push((*skip, left));
                }
            }
            // Another axis may fulfil it with the other steps.
            let others =
                (0..with.len()).filter(|step| steps.iter().all(|(known, _)| known != step));
            for step in others.filter(|_| left & due == 0) {
                with[step].push((*skip, *left));
                self.looked += 1;
            }
        }
    }

    /// Takes the step of an axis: which skips are possible behind it. `false` where one is fulfilled.
    fn take(&mut self, axis: usize) -> bool {
        let step = self.digits[axis];
        if step == 0 {
            self.sort(axis);
        }
        let (with, any) = &self.with[axis];
        let possible = with[step].iter().chain(any);
        let behind = &mut self.open[axis + 1];
        behind.clear();
        behind.extend(possible);
        self.looked += behind.len() as u64;
        behind.iter().all(|(_, left)| *left != 0)
    }

    /// Goes to the next combination of the axes up to `axis`.
    fn advance(&mut self, axis: usize) {
        let carries = |axis: &usize| self.digits[*axis] + 1 < self.axes[*axis].steps.len();
        self.next = (0..=axis).rev().find(carries);
        if let Some(axis) = self.next {
            self.digits[axis] += 1;
            self.digits[axis + 1..].fill(0);
        }
    }
}

impl<'a> Iterator for Runs<'a> {
    /// The steps of a combination; `None` where one or several are left out.
    type Item = Option<Vec<&'a Step>>;

    fn next(&mut self) -> Option<Option<Vec<&'a Step>>> {
        let first = self.next?;
        let skipped = (first..self.axes.len()).find(|axis| !self.take(*axis));
        if let Some(axis) = skipped {
            self.advance(axis);
            return Some(None);
        }
        let steps = self.axes.iter().zip(&self.digits).map(|(axis, step)| &axis.steps[*step]);
        let steps = steps.collect();
        match self.axes.len() {
            0 => self.next = None,
            axes => self.advance(axes - 1),
        }
        Some(Some(steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All keys of up to three segments.
    #[test]
    fn the_keys_that_cover_one_are_all_that_do() {
        let mut keys = vec![String::new()];
        for _ in 0..3 {
            let longer = keys.iter().flat_map(|key| {
                ["a", "b", "*"]
                    .map(|segment| format!("{key}.{segment}").trim_matches('.').to_owned())
            });
            let longer: Vec<_> = longer.collect();
            keys.extend(longer);
        }
        keys.retain(|key| !key.is_empty());
        for inner in &keys {
            let found = covering(inner);
            for outer in &keys {
                assert_eq!(found.contains(outer), covers(outer, inner), "{outer} {inner}");
            }
        }
    }
}
