//! Assertions: conditions on a summary, such as `queues.L.delay_ms.p99 < 2`.
//!
//! ```text
//! assertion  = product comparison product { comparison product }
//! comparison = "<" | "<=" | ">" | ">=" | "==" | "!="
//! product    = factor { ( "*" | "/" ) factor }
//! factor     = number | path
//! path       = name { "." name }
//! name       = letters, digits, "_" and "-", or any characters in quotes
//! ```
//!
//! A path is that of a number in the JSON of the summary, with the names of queues, groups and hops
//! in the place of their numbers: `hops.access.queues.C.mark`. Bins of completion are
//! `completion.A.1000_3000`. A range is two comparisons: `0.8 < groups.A.rate_bps /
//! groups.B.rate_bps < 1.25`.

mod path;
mod read;

use std::fmt;
use std::ops::Range;

use l4s_model::Scenario;
use serde_json::Value;

use crate::Summary;
use path::Path;

/// Comparisons of numbers of a summary, all of which must hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Assertion {
    text: String,
    first: Product,
    rest: Vec<(Comparison, Product)>,
}

/// Why a text is no assertion about the runs of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misread {
    /// The bytes of the text that are wrong.
    pub at: Range<usize>,
    /// The error, without the names that are accepted.
    pub message: String,
    /// The names that are accepted there.
    pub known: Vec<String>,
}

/// Why an assertion does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unmet {
    /// The comparison that failed, with the value compared with: `< 2`.
    pub expected: String,
    /// The value that was found, or why there is none.
    pub found: String,
}

/// The numbers of a summary by their paths.
#[derive(Clone, Debug)]
pub struct Quantities(Value);

#[derive(Clone, PartialEq, Debug)]
struct Product {
    text: String,
    first: Factor,
    rest: Vec<(Operator, Factor)>,
}

#[derive(Clone, PartialEq, Debug)]
enum Factor {
    Number(f64),
    Path(Path),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Multiply,
    Divide,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    NotEqual,
}

impl Assertion {
    /// Reads an assertion about the runs of `scenario`: each of its paths may have a value in them.
    ///
    /// # Errors
    /// The syntax is wrong, or a path does not exist in a summary of this scenario.
    pub fn read(text: &str, scenario: &Scenario) -> Result<Assertion, Misread> {
        read::assertion(text, scenario)
    }

    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first comparison that does not hold; `None` if all hold. A path without a value and a
    /// division by 0 fail it.
    pub fn unmet(&self, quantities: &Quantities) -> Option<Unmet> {
        let mut left = &self.first;
        for (comparison, right) in &self.rest {
            if let Some(unmet) = comparison.unmet(left, right, quantities) {
                return Some(unmet);
            }
            left = right;
        }
        None
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

impl Quantities {
    /// The numbers of a summary.
    pub fn of(summary: &Summary) -> Quantities {
        Quantities(serde_json::to_value(summary).unwrap_or_default())
    }
}

impl Comparison {
    const ALL: [(&str, Comparison); 6] = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<", Comparison::Below),
        (">", Comparison::Above),
    ];

    fn sign(self) -> &'static str {
        let sign = Comparison::ALL.iter().find(|(_, comparison)| *comparison == self);
        sign.map_or("", |(sign, _)| sign)
    }

    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Below => left < right,
            Comparison::AtMost => left <= right,
            Comparison::Above => left > right,
            Comparison::AtLeast => left >= right,
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
        }
    }

    /// The comparison of the right side with the left one.
    fn mirrored(self) -> Comparison {
        match self {
            Comparison::Below => Comparison::Above,
            Comparison::AtMost => Comparison::AtLeast,
            Comparison::Above => Comparison::Below,
            Comparison::AtLeast => Comparison::AtMost,
            same => same,
        }
    }

    fn unmet(self, left: &Product, right: &Product, quantities: &Quantities) -> Option<Unmet> {
        // The side with a path is found, the other one is expected.
        let (found, comparison, expected) = match left.paths().next() {
            None => (right, self.mirrored(), left),
            Some(_) => (left, self, right),
        };
        let sign = comparison.sign();
        let (value, bound) = match (found.value(quantities), expected.value(quantities)) {
            (Ok(value), Ok(bound)) => (value, bound),
            (Err(why), Ok(bound)) => {
                return Some(Unmet { expected: format!("{sign} {bound}"), found: why });
            }
            (_, Err(why)) => {
                return Some(Unmet { expected: format!("{sign} {}", expected.text), found: why });
            }
        };
        (!comparison.holds(value, bound)).then(|| Unmet {
            expected: format!("{sign} {bound}{}", expected.parts(quantities)),
            found: format!("{value}{}", found.parts(quantities)),
        })
    }
}

impl Product {
    fn factors(&self) -> impl Iterator<Item = &Factor> {
        [&self.first].into_iter().chain(self.rest.iter().map(|(_, factor)| factor))
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.factors().filter_map(|factor| match factor {
            Factor::Path(path) => Some(path),
            Factor::Number(_) => None,
        })
    }

    /// Its value; an error says why there is none.
    fn value(&self, quantities: &Quantities) -> Result<f64, String> {
        let mut product = self.first.value(quantities)?;
        for (operator, factor) in &self.rest {
            let value = factor.value(quantities)?;
            match operator {
                Operator::Multiply => product *= value,
                Operator::Divide => product /= value,
            }
        }
        // A division by 0 is above every bound, or not equal to any.
        let none = || format!("no finite value of `{}`{}", self.text, self.parts(quantities));
        Some(product).filter(|product| product.is_finite()).ok_or_else(none)
    }

    /// ` (groups.A.rate_bps 1, groups.B.rate_bps 2)`: the values of its paths, if it has several
    /// factors.
    fn parts(&self, quantities: &Quantities) -> String {
        let shown = |path: &Path| Some(format!("{} {}", path.text, path.value(quantities)?));
        let parts: Vec<_> = self.paths().filter_map(shown).collect();
        match self.rest.is_empty() || parts.is_empty() {
            true => String::new(),
            false => format!(" ({})", parts.join(", ")),
        }
    }
}

impl Factor {
    fn value(&self, quantities: &Quantities) -> Result<f64, String> {
        match self {
            Factor::Number(number) => Ok(*number),
            Factor::Path(path) => path
                .value(quantities)
                .ok_or_else(|| format!("no value of `{}` ({})", path.text, path.meaning)),
        }
    }
}
