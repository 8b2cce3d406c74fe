//! When tests send sets of tracers, and what became of them.

use std::sync::{Arc, Mutex};

/// One set per round trip, and their answers. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script(Arc<Mutex<Answers>>);

/// What became of the sets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    /// The tail of the last set.
    last: Option<u64>,
    /// How many were sent, were overtaken, and came in order.
    pub sent: u32,
    pub overtaken: u32,
    pub in_order: u32,
}

impl Script {
    pub fn answers(&self) -> Answers {
        *self.0.lock().unwrap()
    }

    pub fn wants(&self, una: u64, nxt: u64) -> bool {
        let mut answers = self.0.lock().unwrap();
        let wants = answers.last.is_none_or(|last| una > last);
        if wants {
            answers.last = Some(nxt + 1);
            answers.sent += 1;
        }
        wants
    }

    pub fn traced(&self, overtook: bool) {
        let mut answers = self.0.lock().unwrap();
        if overtook {
            answers.overtaken += 1;
        } else {
            answers.in_order += 1;
        }
    }
}
