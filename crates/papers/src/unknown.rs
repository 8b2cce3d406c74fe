//! Errors about names that the data files use and nobody knows.

use l4s_scenario::nearest;

/// The message for a name that is not known, with the known name that is spelled most like it.
pub(crate) fn unknown<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    match nearest(name, known) {
        Some(near) => format!("unknown {kind} `{name}`, did you mean `{near}`?"),
        None => format!("unknown {kind} `{name}`"),
    }
}
