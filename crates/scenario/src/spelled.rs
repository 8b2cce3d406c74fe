//! A run with every choice made, as keys and values: the setting of each key.

use crate::Point;
use crate::schema::naming_key;
use crate::show::Shown;
use crate::sweep::pin_text;
use crate::tree::{Item, Node};

/// A run as [`show`](crate::show()) spells it out, for programs that show single keys.
#[derive(Clone, Debug)]
pub struct Spelled(Shown);

impl Spelled {
    /// Spells out a run. `question` is the one that its scenario answers.
    pub fn new(point: &Point, question: Option<&str>) -> Spelled {
        Spelled(Shown::new(point, question))
    }

    /// The run as TOML.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The value of a key such as `link.rate`, `group.A.cc.kind` or `web.A.rate`, as `--set` takes
    /// it; the first where several tables go by the name. `None` for a key without a value.
    pub fn get(&self, key: &str) -> Option<String> {
        self.node(key).map(pin_text)
    }

    /// The keys in a table such as `aqm`, with their values as `--set` takes them; none where there
    /// is no such table.
    pub fn table(&self, key: &str) -> Vec<(String, String)> {
        let table = self.node(key).and_then(Node::table);
        let entries = table.map_or(&[][..], |table| &table.entries);
        entries.iter().map(|entry| (entry.key.clone(), pin_text(&entry.value))).collect()
    }

    fn node(&self, key: &str) -> Option<&Node> {
        let mut segments = key.split('.');
        let first = segments.next()?;
        let mut node = self.0.root.get(first)?;
        if let Item::List(tables) = &node.item {
            let name = segments.next();
            let naming = naming_key(first);
            let called = |node: &&Node| {
                node.table().and_then(|t| t.get(naming)).and_then(Node::text) == name
            };
            node = tables.iter().find(called)?;
        }
        segments.try_fold(node, |node, key| node.table()?.get(key))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Plan;
    use crate::any::Dice;
    use crate::fault::{Gathered, Source};
    use crate::tree::{self, Table};

    /// Keys and values, without places.
    fn plain(table: &Table) -> Vec<(&str, String)> {
        table.entries.iter().map(|entry| (&*entry.key, entry.value.to_string())).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_tree_is_that_which_the_text_reads_as(seed: u64) {
            let plan = Plan::parse("any.toml", &Dice(seed).scenario(), &[]);
            for point in plan.iter().flat_map(|plan| &plan.points) {
                let Spelled(Shown { text, root, .. }) = Spelled::new(point, None);
                let source = Source { name: String::new(), text };
                let read = tree::parse(&source, 0, &mut Gathered::default());
                prop_assert_eq!(plain(&root), plain(&read));
            }
        }
    }

    #[test]
    fn every_key_has_the_value_that_would_set_it() {
        let text = "link.rate = \"40mbit\"\naqm = { kind = \"dualpi2\", profile = \"rfc9332\" }\n\
                    [[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\n\
                    [[web]]\ngroup = \"A\"\nrate = \"0/s\"\nsize = \"10kb\"\n\
                    [[udp]]\nname = \"U\"\nrate = \"0bit\"";
        let point = &Plan::parse("t.toml", text, &[]).unwrap().points[0];
        let spelled = Spelled::new(point, None);
        let get = |key| spelled.get(key).unwrap_or_default();
        assert_eq!(get("link.rate"), "40mbit");
        assert_eq!((get("aqm.profile"), get("aqm.target")), ("rfc9332".into(), "15ms".into()));
        assert_eq!((get("group.A.rtt"), get("group.A.cc.kind")), ("10ms".into(), "prague".into()));
        assert_eq!((get("web.A.rate"), get("udp.U.rate")), ("0/s".into(), "0bit".into()));
        for key in ["link.rat", "group.B.rtt", "group.A.rtt.ms", "group", "hop.X.rate", ""] {
            assert!(spelled.get(key).is_none() || key == "group", "{key}");
        }
        // All of a discipline, set one by one, is that discipline.
        let set: Vec<String> =
            spelled.table("aqm").iter().map(|(key, value)| format!("aqm.{key}={value}")).collect();
        assert!(set.len() > 10);
        let again = Plan::parse("t.toml", text, &set).unwrap();
        assert_eq!(again.points[0].scenario.aqm, point.scenario.aqm);
    }
}
