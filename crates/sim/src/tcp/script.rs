//! Scripts of tests: when sets of tracers are sent, and their outcomes.

use std::sync::{Arc, Mutex};

use l4s_cc::prague::TracerSet;

use crate::packet::MSS;

/// One set of this form per round trip, and their answers. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub set: TracerSet,
    answers: Arc<Mutex<Answers>>,
}

/// The outcomes of the sets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    /// The first byte of the last set.
    last: Option<u64>,
    /// No more are sent.
    stopped: bool,
    /// How many were sent, were overtaken, and came in order.
    pub sent: u32,
    pub overtaken: u32,
    pub in_order: u32,
}

impl Script {
    pub fn new(set: TracerSet) -> Script {
        Script { set, answers: Arc::default() }
    }

    pub fn answers(&self) -> Answers {
        *self.answers.lock().unwrap()
    }

    /// Whether a set goes with the next segment, where these bytes are in flight.
    pub fn wants(&self, una: u64, nxt: u64) -> bool {
        let mut answers = self.answers.lock().unwrap();
        let wants = !answers.stopped && answers.last.is_none_or(|last| una >= last + MSS);
        if wants {
            answers.last = Some(nxt);
            answers.sent += 1;
        }
        wants
    }

    /// No set from now on.
    pub fn stop(&self) {
        self.answers.lock().unwrap().stopped = true;
    }

    /// Whether the last set began with this byte.
    pub fn began_with(&self, front: u64) -> bool {
        self.answers().last == Some(front)
    }

    pub fn traced(&self, overtook: bool) {
        let mut answers = self.answers.lock().unwrap();
        if overtook {
            answers.overtaken += 1;
        } else {
            answers.in_order += 1;
        }
    }
}
