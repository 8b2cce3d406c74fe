//! `[[assert]]`: a condition on the summary of every run.

use l4s_measure::{Assertion, Misread};
use l4s_model::Scenario;

use super::few_tables;
use crate::fault::{Gathered, Place, did_you_mean, listed};
use crate::field::{Field, line, read_table};
use crate::tree::{Node, Table, text};

/// The longest assertion, in characters.
const LONGEST: usize = 300;

/// A condition on the summary of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Assert {
    /// The assertion.
    pub that: Assertion,
    /// The reason, which is printed where it fails.
    pub why: Option<String>,
}

impl Assert {
    /// The memory that it takes, nearly: 32 B were measured for each byte of its text.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Assert>() + 32 * self.that.text().len()
    }
}

/// An `[[assert]]` whose assertion is a text still.
#[derive(Clone, Debug, Default)]
pub(crate) struct AssertDraft {
    pub that: Option<Node>,
    pub why: Option<String>,
}

pub(crate) const ASSERT: &[Field<AssertDraft>] = &[
    Field {
        name: "that",
        doc: "a condition on the summary, such as \"queues.L.delay_ms.p99 < 2\"",
        required: true,
        read: |draft, node| line(node, LONGEST).map(|_| draft.that = Some(node.clone())),
        write: |draft| draft.that.as_ref().map(|node| node.item.clone()),
    },
    Field {
        name: "why",
        doc: "the reason, printed where it fails",
        required: false,
        read: |draft, node| line(node, 200).map(|why| draft.why = Some(why)),
        write: |draft| draft.why.as_deref().map(text),
    },
];

impl AssertDraft {
    pub fn of(assert: &Assert) -> AssertDraft {
        AssertDraft { that: Some(text(assert.that.text()).into()), why: assert.why.clone() }
    }
}

/// Every `[[assert]]` that is right.
pub(super) fn asserts(root: &Table, scenario: &Scenario, gathered: &mut Gathered) -> Vec<Assert> {
    let mut all = Vec::new();
    for (node, table) in few_tables(root, "assert", gathered) {
        let mut draft = AssertDraft::default();
        read_table(table, &node.place, "assert", ASSERT, &[], &mut draft, gathered);
        let AssertDraft { that, why } = draft;
        let that = that.and_then(|that| assertion(&that, "`assert.that`: ", scenario, gathered));
        all.extend(that.map(|that| Assert { that, why }));
    }
    all
}

/// The assertion that is written at `node`. `key` begins the message of a fault.
pub(crate) fn assertion(
    node: &Node,
    key: &str,
    scenario: &Scenario,
    gathered: &mut Gathered,
) -> Option<Assertion> {
    let text = node.text()?;
    let Misread { at, message, known } = match Assertion::read(text, scenario) {
        Ok(assertion) => return Some(assertion),
        Err(misread) => misread,
    };
    // A text without escapes is unchanged in the source, in quotes in a file.
    let Place { source, bytes } = node.place.clone();
    let place = match bytes.len().checked_sub(text.len()) {
        Some(quotes @ (0 | 2)) => {
            let start = bytes.start + quotes / 2;
            Place { source, bytes: start + at.start..start + at.end }
        }
        _ => Place { source, bytes },
    };
    gathered.add_with(&place, || {
        let among =
            if known.is_empty() { String::new() } else { format!(", expected {}", listed(&known)) };
        let help = did_you_mean(&text[at], known.iter().map(String::as_str));
        (format!("{key}{message}{among}"), help)
    });
    None
}
