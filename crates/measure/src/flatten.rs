//! A summary as one row: a column per quantity.
//!
//! The name of a column is the path to the quantity in the summary, with the unit at the end:
//! `queues[name = L].delay_ms.mean` becomes `queue_L_delay_mean_ms`.

use serde_json::{Map, Value};

use crate::Summary;

/// The quantities of a summary by column, in the order of the summary; what was set is
/// `set_link.rate` and so on.
pub(crate) fn flatten(summary: &Summary) -> Map<String, Value> {
    let mut row = Row(Map::new());
    let Ok(Value::Object(whole)) = serde_json::to_value(summary) else {
        unreachable!("a summary is a JSON object");
    };
    for (key, value) in &whole {
        match (key.as_str(), value) {
            ("set", Value::Object(set)) => {
                set.iter().for_each(|(key, value)| row.put(format!("set_{key}"), value));
            }
            ("queues", Value::Array(queues)) => row.named("queue", queues),
            ("groups", Value::Array(groups)) => row.named("group", groups),
            ("hops", Value::Array(hops)) => row.named("hop", hops),
            ("completion", Value::Array(bins)) => bins.iter().for_each(|bin| row.bin(bin)),
            ("ratios", value) => row.descend("ratio", "", value),
            (key, value) => row.descend(key, "", value),
        }
    }
    row.0
}

struct Row(Map<String, Value>);

impl Row {
    /// Things that have a name of their own.
    fn named(&mut self, kind: &str, things: &[Value]) {
        for thing in things {
            let name = thing["name"].as_str().unwrap_or_default();
            for (key, value) in thing.as_object().into_iter().flatten() {
                match value {
                    Value::Array(queues) if key == "queues" => {
                        self.named(&format!("{kind}_{name}_queue"), queues);
                    }
                    value if key != "name" => self.key(&format!("{kind}_{name}"), "", key, value),
                    _ => {}
                }
            }
        }
    }

    /// Completion in one bin: `completion_A_1000_3000_time_mean_ms`.
    fn bin(&mut self, bin: &Value) {
        let group = bin["group"].as_str().unwrap_or_default();
        let prefix = format!("completion_{group}_{}_{}", bin["bin_bytes"][0], bin["bin_bytes"][1]);
        for (key, value) in bin.as_object().into_iter().flatten() {
            if key != "group" && key != "bin_bytes" {
                self.key(&prefix, "", key, value);
            }
        }
    }

    /// `value` under `prefix`, whose unit is still to be said.
    fn descend(&mut self, prefix: &str, unit: &str, value: &Value) {
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(key, value)| self.key(prefix, unit, key, value));
            }
            Value::Null => {}
            value => self.put(format!("{prefix}{unit}"), value),
        }
    }

    fn key(&mut self, prefix: &str, unit: &str, key: &str, value: &Value) {
        // `delay_ms: { mean }` says the unit before the statistic; a column says it after.
        let (quantity, unit) = ["_ms", "_us", "_bps"]
            .into_iter()
            .find_map(|u| key.strip_suffix(u).map(|quantity| (quantity, u)))
            .unwrap_or((key, unit));
        self.descend(&format!("{prefix}_{quantity}"), unit, value);
    }

    /// Names of groups are free, so two paths may give one name: then the later one is numbered.
    fn put(&mut self, name: String, value: &Value) {
        let mut free = name.clone();
        let mut n = 2;
        while self.0.contains_key(&free) {
            free = format!("{name}_{n}");
            n += 1;
        }
        self.0.insert(free, value.clone());
    }
}
