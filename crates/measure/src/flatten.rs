//! A summary as one row: a column per quantity.
//!
//! The name of a column is the path to the quantity in the summary, with the unit at the end:
//! `queues[name = L].delay_ms.mean` becomes `queue_L_delay_mean_ms`.

use serde_json::{Map, Value};

/// The quantities of a summary, as JSON, by column, in the order of the summary; settings are
/// `set_link.rate` and so on.
pub(crate) fn flatten(summary: Map<String, Value>) -> Map<String, Value> {
    let mut row = Row(Map::new());
    for (key, value) in summary {
        match (key.as_str(), value) {
            ("set", Value::Object(set)) => {
                set.into_iter().for_each(|(key, value)| row.put(format!("set_{key}"), value));
            }
            ("queues", Value::Array(queues)) => row.named("queue", queues),
            ("groups", Value::Array(groups)) => row.named("group", groups),
            ("hops", Value::Array(hops)) => row.named("hop", hops),
            ("paths", Value::Array(paths)) => row.named("path", paths),
            ("completion", Value::Array(bins)) => bins.into_iter().for_each(|bin| row.bin(bin)),
            ("ratios", value) => row.descend("ratio".to_owned(), "", value),
            (_, value) => row.descend(key, "", value),
        }
    }
    row.0
}

struct Row(Map<String, Value>);

impl Row {
    /// Things that have a name of their own.
    fn named(&mut self, kind: &str, things: Vec<Value>) {
        for thing in things {
            let prefix = format!("{kind}_{}", thing["name"].as_str().unwrap_or_default());
            for (key, value) in members(thing) {
                match value {
                    Value::Array(queues) if key == "queues" => {
                        self.named(&format!("{prefix}_queue"), queues);
                    }
                    value if key != "name" => self.key(&prefix, "", &key, value),
                    _ => {}
                }
            }
        }
    }

    /// Completion in one bin: `completion_A_1000_3000_time_mean_ms`.
    fn bin(&mut self, bin: Value) {
        let group = bin["group"].as_str().unwrap_or_default();
        let prefix = format!("completion_{group}_{}_{}", bin["bin_bytes"][0], bin["bin_bytes"][1]);
        for (key, value) in members(bin) {
            if key != "group" && key != "bin_bytes" {
                self.key(&prefix, "", &key, value);
            }
        }
    }

    /// `value` under `prefix`, whose unit is still to be said.
    fn descend(&mut self, mut prefix: String, unit: &str, value: Value) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    self.key(&prefix, unit, &key, value);
                }
            }
            Value::Null => {}
            value => {
                prefix.push_str(unit);
                self.put(prefix, value);
            }
        }
    }

    fn key(&mut self, prefix: &str, unit: &str, key: &str, value: Value) {
        // `delay_ms: { mean }` says the unit before the statistic; a column says it after.
        let (quantity, unit) = ["_ms", "_us", "_bps"]
            .into_iter()
            .find_map(|u| key.strip_suffix(u).map(|quantity| (quantity, u)))
            .unwrap_or((key, unit));
        let mut name = String::with_capacity(prefix.len() + key.len() + 8);
        name.push_str(prefix);
        name.push('_');
        name.push_str(quantity);
        self.descend(name, unit, value);
    }

    /// Names of groups are free, so two paths may give one name: then the later one is numbered.
    fn put(&mut self, name: String, value: Value) {
        if !self.0.contains_key(&name) {
            self.0.insert(name, value);
            return;
        }
        let free = (2..).map(|n| format!("{name}_{n}")).find(|free| !self.0.contains_key(free));
        self.0.extend(free.map(|free| (free, value)));
    }
}

fn members(thing: Value) -> Map<String, Value> {
    match thing {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
