//! A congestion control that is a class of Python's.
//!
//! Methods that its class does not define are Reno's, and are run here.

use std::sync::Arc;

use l4s_cc::foreign;
use l4s_cc::{
    Congestion, CongestionControl, Connection, Decision, Pause, Recovery, Reducing, WantedEcn,
    WindowRule, reno,
};
use l4s_units::Duration;
use pyo3::intern;
use pyo3::prelude::*;

use crate::returns::{Raised, Sample, fraction, refused, seeded, truth, whole};

/// Bytes per second that no link carries.
const FASTEST: u64 = 1_000_000_000_000;

/// Segments that no window has.
const LARGEST: u32 = u32::MAX / 2 - 1;

/// The news of one acknowledgement for the sender.
///
/// Times are in nanoseconds, data in whole segments.
#[pyclass(frozen, get_all, module = "l4s")]
pub struct Ack {
    /// When it arrived: nanoseconds since the start of the run, from 0.
    now_ns: u64,
    /// Segments newly delivered, cumulatively or selectively: from 0.
    delivered: u32,
    /// How many of those segments met congestion: from 0 to `delivered`; all of them where the echo
    /// does not count.
    delivered_ce: u32,
    /// Whether it echoed congestion: True or False.
    ece: bool,
    /// The round trip of the newest segment it acknowledged: nanoseconds, at least 1; None where
    /// none could be measured.
    rtt_ns: Option<u64>,
    /// The lowest round trip of the connection so far: nanoseconds, at least 1.
    min_rtt_ns: u64,
    /// The smoothed round trip (RFC 6298): nanoseconds, at least 1.
    srtt_ns: u64,
    /// The first segment not yet acknowledged: a count of segments from 0.
    una: u64,
    /// The next segment that will be sent for the first time: a count of segments, at least `una`.
    nxt: u64,
    /// Whether all that the application wrote had been sent: True or False.
    app_limited: bool,
}

#[pymethods]
impl Ack {
    fn __repr__(&self) -> String {
        let Ack { now_ns, delivered, delivered_ce, min_rtt_ns, srtt_ns, una, nxt, .. } = self;
        let rtt = self.rtt_ns.map_or("None".to_owned(), |rtt| rtt.to_string());
        let [ece, app_limited] = [self.ece, self.app_limited].map(truth);
        format!(
            "Ack(now_ns={now_ns}, delivered={delivered}, delivered_ce={delivered_ce}, ece={ece}, \
             rtt_ns={rtt}, min_rtt_ns={min_rtt_ns}, srtt_ns={srtt_ns}, una={una}, nxt={nxt}, \
             app_limited={app_limited})"
        )
    }
}

impl From<&l4s_cc::Ack> for Ack {
    fn from(ack: &l4s_cc::Ack) -> Ack {
        Ack {
            now_ns: ack.now.as_nanos(),
            delivered: ack.delivered,
            delivered_ce: ack.delivered_ce,
            ece: ack.ece,
            rtt_ns: ack.rtt.map(Duration::as_nanos),
            min_rtt_ns: ack.min_rtt.as_nanos(),
            srtt_ns: ack.srtt.as_nanos(),
            una: ack.una,
            nxt: ack.nxt,
            app_limited: ack.unsent == 0,
        }
    }
}

/// The congestion window and the slow-start threshold of a connection, in whole segments.
///
/// Assignments of `on_ack`, `grow` and `on_restart` take effect when these return; `ssthresh` only reads it.
#[pyclass(module = "l4s")]
pub struct Window {
    window: l4s_cc::Window,
}

#[pymethods]
impl Window {
    /// How many segments may be in flight: whole segments, from 1 to 2,147,483,646. Can be set.
    #[getter]
    fn cwnd(&self) -> u32 {
        self.window.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, cwnd: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window.cwnd = segments("cwnd =", cwnd, 1)?;
        Ok(())
    }

    /// Below this the window grows by slow start: whole segments, from 1 to 2,147,483,646; None
    /// before the first reduction. Can be set.
    #[getter]
    fn ssthresh(&self) -> Option<u32> {
        self.window.threshold()
    }

    #[setter]
    fn set_ssthresh(&mut self, ssthresh: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window.ssthresh = match ssthresh.is_none() {
            false => segments("ssthresh =", ssthresh, 1)?,
            true => l4s_cc::Window::NO_THRESHOLD,
        };
        Ok(())
    }

    /// Whether the last flight was as large as the window allowed (RFC 7661): True or False.
    #[getter]
    fn limited(&self) -> bool {
        self.window.limited
    }

    /// Whether the window is below the threshold: True or False.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    /// Grows by one segment per segment acknowledged, up to the threshold (RFC 5681); outside of
    /// slow start it does nothing.
    ///
    /// Returns how many of `acked` are left: from 0 to `acked`.
    fn slow_start(&mut self, acked: u32) -> u32 {
        let left = self.window.slow_start(acked);
        self.window.cwnd = self.window.cwnd.min(LARGEST);
        left
    }

    /// Grows by one segment for every `per` segments acknowledged; `acked` further ones are acknowledged.
    fn additive_increase(&mut self, per: u32, acked: u32) {
        self.window.additive_increase(per, acked);
        self.window.cwnd = self.window.cwnd.min(LARGEST);
    }

    fn __repr__(&self) -> String {
        let ssthresh = self.ssthresh().map_or("None".to_owned(), |segments| segments.to_string());
        let limited = truth(self.window.limited);
        format!("Window(cwnd={}, ssthresh={ssthresh}, limited={limited})", self.window.cwnd)
    }
}

/// A number of segments, at least `least`, and fewer than any window needs.
fn segments(said: &str, number: &Bound<'_, PyAny>, least: u32) -> PyResult<u32> {
    whole(said, number, u64::from(least)..=u64::from(LARGEST), "whole segments")
        .map(|segments| segments as u32)
}

/// Which methods a class defines itself.
#[derive(Clone, Copy, Debug)]
struct Defined {
    on_ack: bool,
    grow: bool,
    ssthresh: bool,
    alpha: bool,
    pacing_rate: bool,
    on_restart: bool,
}

impl Defined {
    fn by(sample: &Sample<'_>) -> PyResult<Defined> {
        let defines = |method| sample.defines(method);
        Ok(Defined {
            on_ack: defines("on_ack")?,
            grow: defines("grow")?,
            ssthresh: defines("ssthresh")?,
            alpha: defines("alpha")?,
            pacing_rate: defines("pacing_rate")?,
            on_restart: defines("on_restart")?,
        })
    }
}

/// The congestion control that `make` makes for each connection.
pub fn config(py: Python<'_>, make: Py<PyAny>, raised: Raised) -> PyResult<foreign::Config> {
    let sample = Sample::of(make.bind(py), "CongestionControl")?;
    let defined = Defined::by(&sample)?;
    let name = sample.name()?;
    let wants = sample.attribute("ecn", "\"off\", \"dctcp\" or \"l4s\"", |ecn| {
        match ecn.extract().ok()? {
            "off" => Some(WantedEcn::Off),
            "dctcp" => Some(WantedEcn::Classic),
            "l4s" => Some(WantedEcn::L4s),
            _ => None,
        }
    })?;
    let pacing = sample.flag("pacing")?;
    let steers_alone = sample.flag("steers_alone")?;
    if steers_alone {
        sample.never_called("grow", "with steers_alone = True, on_ack sets the window")?;
    } else {
        sample.never_called("pacing_rate", "that needs steers_alone = True")?;
    }
    let class: Arc<str> = sample.class()?.into();
    let make = move |connection: &Connection| -> Box<dyn foreign::Control> {
        let instance = Python::attach(|py| {
            let made = raised.unless(|| seeded(py, &make, connection.seed));
            made.unwrap_or_else(|| py.None())
        });
        let raised = raised.clone();
        let reno = reno::Rule::new(&reno::Config::default());
        let control = Control { instance, class: class.clone(), defined, raised, reno };
        if steers_alone {
            Box::new(Alone {
                control,
                connection: *connection,
                pacing,
                decision: connection.initial(),
            })
        } else {
            Box::new(Reducing::new(control, pacing, connection))
        }
    };
    Ok(foreign::Config { name: name.into(), wants, make: Arc::new(make) })
}

/// The state of a connection.
#[derive(Debug)]
struct Control {
    instance: Py<PyAny>,
    /// The name of its class, for messages.
    class: Arc<str>,
    defined: Defined,
    raised: Raised,
    reno: reno::Rule,
}

impl Control {
    /// Lets Python change the window.
    fn steer(
        &self,
        window: &mut l4s_cc::Window,
        ask: impl FnOnce(Python<'_>, &Bound<'_, Window>) -> PyResult<()>,
    ) {
        Python::attach(|py| {
            let steered = self.raised.unless(|| {
                let handed = Bound::new(py, Window { window: *window })?;
                ask(py, &handed)?;
                Ok(handed.borrow().window)
            });
            *window = steered.unwrap_or(*window);
        });
    }
}

impl WindowRule for Control {
    fn observe(&mut self, window: &mut l4s_cc::Window, ack: &l4s_cc::Ack) {
        if self.defined.on_ack {
            self.steer(window, |py, window| {
                let on_ack = intern!(py, "on_ack");
                self.instance.call_method1(py, on_ack, (window, Ack::from(ack))).map(drop)
            });
        }
    }

    fn grow(&mut self, window: &mut l4s_cc::Window, ack: &l4s_cc::Ack) {
        if !self.defined.grow {
            return self.reno.grow(window, ack);
        }
        self.steer(window, |py, window| {
            let grow = intern!(py, "grow");
            self.instance.call_method1(py, grow, (window, Ack::from(ack))).map(drop)
        });
    }

    fn ssthresh(&mut self, window: &l4s_cc::Window, congestion: Congestion) -> u32 {
        let reno = self.reno.ssthresh(window, congestion);
        if !self.defined.ssthresh {
            return reno;
        }
        let why = match congestion {
            Congestion::Ecn => "ecn",
            Congestion::Loss | Congestion::LossByTimer => "loss",
            Congestion::Timeout | Congestion::Handshake => "timeout",
        };
        Python::attach(|py| {
            let answer = self.raised.unless(|| {
                let handed = Bound::new(py, Window { window: *window })?;
                let arguments = (handed.clone(), why);
                let answer = self.instance.call_method1(py, intern!(py, "ssthresh"), arguments)?;
                if handed.borrow().window != *window {
                    let message = format!(
                        "{}.ssthresh changed the window: expected that it returns the threshold; cwnd is \
                         set in on_ack or grow",
                        self.class
                    );
                    return Err(refused(py, &message));
                }
                segments(&format!("{}.ssthresh returned", self.class), answer.bind(py), 2)
            });
            answer.unwrap_or(reno)
        })
    }

    fn alpha(&self) -> Option<f64> {
        if !self.defined.alpha {
            return None;
        }
        Python::attach(|py| {
            let alpha = || {
                let alpha = self.instance.call_method0(py, intern!(py, "alpha"))?;
                fraction(&format!("{}.alpha returned", self.class), alpha.bind(py))
            };
            self.raised.unless(alpha).flatten()
        })
    }

    fn restart(&mut self, window: &mut l4s_cc::Window, pause: Pause, initial_window: u32) {
        if !self.defined.on_restart {
            return window.restart(pause, initial_window);
        }
        self.steer(window, |py, window| {
            let (length, rto) = (pause.length.as_nanos(), pause.rto.as_nanos());
            let arguments = (window, pause.now.as_nanos(), length, rto);
            self.instance.call_method1(py, intern!(py, "on_restart"), arguments).map(drop)
        });
    }
}

/// One that sets its window by itself, in every state of the transport.
#[derive(Debug)]
struct Alone {
    control: Control,
    connection: Connection,
    pacing: bool,
    decision: Decision,
}

impl Alone {
    /// Bytes per second at which it sends, if it defines a rate.
    fn pacing_rate(&self, ack: &l4s_cc::Ack) -> Option<u64> {
        let Control { instance, class, defined, raised, .. } = &self.control;
        if !defined.pacing_rate {
            return None;
        }
        Python::attach(|py| {
            let rate = || {
                let arguments = (ack.in_flight, self.connection.mss, ack.srtt.as_nanos());
                let rate = instance.call_method1(py, intern!(py, "pacing_rate"), arguments)?;
                let rate = rate.bind(py);
                let said = format!("{class}.pacing_rate returned");
                let bytes = "None, or whole bytes per second";
                (!rate.is_none()).then(|| whole(&said, rate, 1..=FASTEST, bytes)).transpose()
            };
            raised.unless(rate).flatten()
        })
    }
}

impl CongestionControl for Alone {
    fn on_established(&mut self, connection: &Connection) {
        self.connection = *connection;
    }

    fn on_ack(&mut self, ack: &l4s_cc::Ack) -> Decision {
        let mut window = self.decision.window;
        window.limited = ack.limited;
        self.control.observe(&mut window, ack);
        let usual = self.connection.pacing_rate(&window, ack.nxt - ack.una, ack.srtt);
        let rate = self.pacing_rate(ack).unwrap_or(usual);
        let quantum = self.connection.quantum(rate, ack.min_rtt, 1);
        self.decision = self.connection.decide(window, rate, self.pacing, quantum);
        self.decision
    }

    /// Its method `ssthresh` answers congestion; the window stays its own, except for the first
    /// retransmission and timeouts.
    fn on_congestion(
        &mut self,
        congestion: Congestion,
        answered: bool,
        at: &l4s_cc::Ack,
    ) -> Decision {
        let window = &mut self.decision.window;
        match congestion {
            Congestion::Handshake => window.cwnd = 1,
            Congestion::Ecn => window.ssthresh = self.control.ssthresh(window, congestion),
            Congestion::Loss | Congestion::LossByTimer if answered => {}
            Congestion::Loss | Congestion::LossByTimer => {
                window.ssthresh = self.control.ssthresh(window, congestion);
                // The first lost segment is sent again, independent of the flight (RFC 6675 §5 step 4.3).
                window.cwnd = window.cwnd.max(at.in_flight + 1);
            }
            Congestion::Timeout => {
                let ssthresh = self.control.ssthresh(window, congestion);
                if !answered {
                    window.ssthresh = ssthresh;
                }
                window.cwnd = at.in_flight + 1;
            }
        }
        self.decision
    }

    fn on_recovered(&mut self, recovery: Recovery) -> Decision {
        if let Recovery::Spurious(Some(prior)) = recovery {
            self.decision.window.undo(prior);
        }
        self.decision
    }

    fn on_restart(&mut self, pause: Pause) -> Decision {
        let initial_window = self.connection.initial_window;
        self.control.restart(&mut self.decision.window, pause, initial_window);
        self.decision
    }

    fn alpha(&self) -> Option<f64> {
        self.control.alpha()
    }
}
