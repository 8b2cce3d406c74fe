//! `l4s shell --live`: the page of `l4s live` on a run that goes on with or without it.
//!
//! The run has an observer slot that is empty until somebody opens the page; the page's session puts a
//! meter there. Changes on the page reach the run through its [`Remote`]. Those that
//! require a new run, such as another group or download rate, are refused, since that would end the shell.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use l4s_live::Meter;
use l4s_live::document::Presets;
use l4s_live::server::{Background, BindError, Limits, Options, Server};
use l4s_model::Scenario;
use l4s_scenario::{Files, Plan};
use l4s_substrate::{Error, Identity, Lane, Lanes, Programs, Remote};
use l4s_units::Time;

use crate::failure::Failure;

/// Where the run has an observer; empty while no page is open.
pub type Seat = Arc<Mutex<Option<Arc<Mutex<Meter>>>>>;

/// How long a session waits for the run to begin: servers are started first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const NAP: Duration = Duration::from_millis(10);

/// A page on a run.
pub struct Page {
    remote: Arc<Remote>,
    seat: Seat,
    url: String,
    _server: Background,
}

impl Page {
    /// Serves a page on the one run of a plan.
    ///
    /// # Errors
    /// The address is in use or not available.
    pub fn open(plan: &Plan, files: &Files, listen: SocketAddr) -> Result<Page, Failure> {
        let failed = |why: String| Failure::Substrate(format!("--live: {why}"));
        let presets = Presets::with_files(plan, &plan.name, None, files)
            .map_err(|fault| failed(format!("`{}`: {fault}", fault.field)))?;
        let remote = Arc::new(Remote::new(&plan.points[0].scenario));
        let seat = Seat::default();
        let substrate = Box::new(Attached { remote: remote.clone(), seat: seat.clone() });
        // One at a time, whose place is soon free for the next.
        let limits = Limits { sessions: 1, unwatched: Duration::from_secs(2), ..Limits::default() };
        let options = Options { substrate, presets, token: None, limits };
        let server = Server::bind(listen, options).map_err(|error| match &error {
            BindError::InUse { free: Some(free), .. } => {
                failed(format!("{error}; the next that is free: --live={free}"))
            }
            _ => failed(error.to_string()),
        })?;
        let url = server.url();
        let server = server.in_background().map_err(|error| failed(error.to_string()))?;
        Ok(Page { remote, seat, url, _server: server })
    }

    /// The URL to open.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The observer of the run.
    pub fn seat(&self) -> Seat {
        self.seat.clone()
    }

    /// Lets the page change a run with these programs.
    pub fn control(&self, programs: &mut Programs) {
        programs.remote = Some(self.remote.clone());
    }
}

/// The run, as a substrate with one lane.
struct Attached {
    remote: Arc<Remote>,
    seat: Seat,
}

impl Identity for Attached {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn has_virtual_time(&self) -> bool {
        false
    }
}

impl Lanes<Meter> for Attached {
    fn lane(&self, scenario: &Scenario, meter: Meter) -> Result<Box<dyn Lane<Meter>>, Error> {
        let mut left = PATIENCE;
        let began = loop {
            match self.remote.now() {
                Some(now) if now > Time::ZERO => break now,
                _ if left.is_zero() => {
                    return Err(Error::Run("the run has not begun yet".to_owned()));
                }
                _ => std::thread::sleep(NAP),
            }
            left = left.saturating_sub(NAP);
        };
        self.remote.adapt(scenario).map_err(|error| Error::Unsupported(error.to_string()))?;
        let meter = Arc::new(Mutex::new(meter.starting_at(began)));
        *lock(&self.seat) = Some(meter.clone());
        let (remote, seat) = (self.remote.clone(), self.seat.clone());
        Ok(Box::new(Attachment { remote, seat, meter, began }))
    }
}

/// The run's parts that a session uses.
struct Attachment {
    remote: Arc<Remote>,
    seat: Seat,
    meter: Arc<Mutex<Meter>>,
    /// The time of the run when the session began.
    began: Time,
}

impl Attachment {
    fn now(&self) -> Time {
        self.remote.now().unwrap_or(self.began)
    }
}

impl Lane<Meter> for Attachment {
    fn advance(&mut self, to: Time) -> Result<(), Error> {
        let until = self.began + to.since(Time::ZERO);
        let left = until.since(self.now());
        std::thread::sleep(Duration::from_nanos(left.as_nanos()));
        Ok(())
    }

    fn adapt(&mut self, scenario: &Scenario) -> bool {
        self.remote.adapt(scenario).is_ok()
    }

    fn observe(&mut self, read: &mut dyn FnMut(&mut Meter, Time)) {
        let now = self.now();
        read(&mut lock(&self.meter), now);
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        // The next session may have it by now.
        lock(&self.seat).take_if(|meter| Arc::ptr_eq(meter, &self.meter));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
