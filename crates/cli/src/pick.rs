//! From what the user called it to a plan: a bundled name or a file.

use std::fs;
use std::io::Read;

use l4s_scenario::{Plan, bundled, nearest};

use crate::failure::Failure;

/// Larger files are no scenarios.
const MOST_BYTES: u64 = 16 << 20;

/// The plan of `scenario`, with these `--set`.
pub fn plan(scenario: &str, set: &[String]) -> Result<Plan, Failure> {
    if let Some(bundled) = bundled::find(scenario) {
        return Ok(bundled.plan(set)?);
    }
    Ok(Plan::parse(scenario, &read(scenario)?, set)?)
}

fn read(path: &str) -> Result<String, Failure> {
    let refused = |error: std::io::Error| {
        let names = bundled::ALL.iter().map(|bundled| bundled.name);
        let help = match nearest(path, names.clone()) {
            Some(near) if error.kind() == std::io::ErrorKind::NotFound => {
                format!("did you mean the bundled scenario `{near}`?")
            }
            _ => format!("bundled scenarios are {}", names.collect::<Vec<_>>().join(", ")),
        };
        Failure::input_with(format!("{path}: cannot read this scenario: {error}"), help)
    };
    let file = fs::File::open(path).map_err(refused)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Failure::input(format!("{path}: more than 16 MiB, which no scenario needs")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        let before = good.iter().rev().take_while(|b| **b != b'\n').count();
        let start = good.len() - before;
        let column = String::from_utf8_lossy(&good[start..]).chars().count() + 1;
        Failure::input(format!("{path}:{line}:{column}: not a text: expected UTF-8"))
    })
}
