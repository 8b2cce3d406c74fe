//! A session: a thread that runs one or two lanes at the pace of the clock, and reports to its
//! viewers.
//!
//! Orders come in over a bounded channel. Settings go out as the latest ones, states as a bounded
//! backlog: a viewer that is slow misses states, and nobody waits for it.

mod runner;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use l4s_substrate::Lanes;
use tokio::sync::{broadcast, mpsc, watch};

use crate::Meter;
use crate::budget::{Budget, Semaphore};
use crate::document::Presets;
use crate::pace::STEP;
use crate::protocol::{Command, Done, Fault, Opening};
use runner::Runner;

/// Orders that may wait.
const ORDERS: usize = 64;
/// States that a viewer may be behind.
const STATES: usize = 16;

/// The common parts of all sessions of a server.
pub(crate) struct Ground {
    /// The substrate of their lanes.
    pub substrate: Box<dyn Lanes<Meter>>,
    /// Their presets.
    pub presets: Presets,
    /// How long a session goes on without viewers.
    pub unwatched: Duration,
    /// The memory that all of them may take.
    pub budget: Arc<Budget>,
    /// Limits the scenarios that are read at a time.
    pub readers: Semaphore,
}

/// The status of a session.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    /// Its scenario is being read.
    Starting,
    /// It runs.
    On {
        /// The message about its settings.
        settings: Arc<str>,
        /// Its scenario.
        text: Arc<str>,
    },
    /// It is over, or never began: by a fault, where there is one.
    Over(Option<Fault>),
}

/// A command, and where its answer goes.
#[derive(Debug)]
pub(crate) struct Order {
    pub command: Command,
    pub answer: mpsc::Sender<Arc<str>>,
}

/// A session, from outside of its thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Session {
    orders: SyncSender<Order>,
    standing: watch::Receiver<Standing>,
    states: broadcast::Sender<Arc<str>>,
    signs: Arc<Signs>,
}

/// Shared between a session's thread and its server.
#[derive(Debug, Default)]
struct Signs {
    ending: Arc<AtomicBool>,
    viewers: AtomicUsize,
}

/// Counts as a viewer of a session as long as it lives.
#[derive(Debug)]
pub(crate) struct Watching(Arc<Signs>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Session {
    /// Starts a session. `ended` is called on its thread when it is over, whyever.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        ground: Arc<Ground>,
        opening: Opening,
        ended: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<(Session, JoinHandle<()>)> {
        let (orders, inbox) = sync_channel(ORDERS);
        let (standing, stands) = watch::channel(Standing::Starting);
        let states = broadcast::Sender::new(STATES);
        let signs = Arc::new(Signs::default());
        let (told, seen) = (states.clone(), signs.clone());
        let work = move || {
            let _ended = OnDrop(Some(ended));
            let run = || {
                let runner = Runner::open(ground, &opening, told, &standing, &seen.ending)?;
                work(runner, &inbox, &seen).map_err(|message| Fault::new("session", message))
            };
            let over = match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Ok(())) => None,
                // A command to end is no fault.
                Ok(Err(fault)) => (!seen.ending.load(Ordering::Relaxed)).then_some(fault),
                Err(panic) => Some(Fault::new("session", broke_down(&*panic))),
            };
            standing.send_replace(Standing::Over(over));
        };
        let thread = std::thread::Builder::new().name("session".to_owned()).spawn(work)?;
        Ok((Session { orders, standing: stands, states, signs }, thread))
    }

    /// How it stands, from now on.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// Its states, from now on.
    pub fn states(&self) -> broadcast::Receiver<Arc<str>> {
        self.states.subscribe()
    }

    /// One more viewer.
    pub fn watching(&self) -> Watching {
        self.signs.viewers.fetch_add(1, Ordering::Relaxed);
        Watching(self.signs.clone())
    }

    /// Gives an order.
    ///
    /// # Errors
    /// More wait already than a session takes, or it is over.
    pub fn order(&self, order: Order) -> Result<(), Fault> {
        self.orders.try_send(order).map_err(|refused| match refused {
            TrySendError::Full(order) => {
                Fault::new("session", "too many commands wait").to(order.command.id())
            }
            TrySendError::Disconnected(order) => {
                Fault::new("session", "the session is over").to(order.command.id())
            }
        })
    }

    /// Whether it is to end.
    pub fn is_ending(&self) -> bool {
        self.signs.ending.load(Ordering::Relaxed)
    }

    /// Lets it end soon.
    pub fn end(&self) {
        self.signs.ending.store(true, Ordering::Relaxed);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// Calls its function when it is dropped, on every path.
struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

/// Runs until it is to end, or has no viewers.
fn work(
    mut runner: Runner<'_>,
    inbox: &std::sync::mpsc::Receiver<Order>,
    signs: &Signs,
) -> Result<(), String> {
    let start = Instant::now();
    let clock = || l4s_units::Duration::from_nanos(start.elapsed().as_nanos() as u64);
    let step = Duration::from_nanos(STEP.as_nanos());
    let (mut due, mut watched) = (start + step, start);
    loop {
        let now = Instant::now();
        if signs.viewers.load(Ordering::Relaxed) > 0 {
            watched = now;
        }
        let unwatched = now.duration_since(watched) >= runner.unwatched();
        if unwatched || signs.ending.load(Ordering::Relaxed) {
            return Ok(());
        }
        if now >= due {
            runner.step(&clock)?;
            // Steps that were missed are not made up for: the pace counts the delay.
            due = (due + step).max(Instant::now());
            continue;
        }
        match inbox.recv_timeout(due - now) {
            Ok(Order { command, answer }) => {
                let id = command.id();
                let said = match runner.obey(command, clock()) {
                    Ok(()) => to_json(&Done { id }),
                    Err(fault) => to_json(&fault.to(id)),
                };
                // A viewer that takes no answers gets none.
                let _ = answer.try_send(said);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// A message as it is sent.
pub(crate) fn to_json(message: &impl serde::Serialize) -> Arc<str> {
    match serde_json::to_string(message) {
        Ok(text) => text.into(),
        // Nothing that is sent can fail to be written.
        Err(error) => format!("{{\"type\":\"error\",\"message\":\"{}\"}}", error.line()).into(),
    }
}

fn broke_down(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    format!("the session failed, which is a defect of l4s: {text}")
}

#[cfg(test)]
mod tests;
