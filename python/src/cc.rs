//! A congestion control that is a class of Python's.
//!
//! What its class does not define itself is Reno's, and is done here.

use std::sync::Arc;

use l4s_cc::foreign;
use l4s_cc::{Congestion, CongestionControl, Pause, WantedEcn, reno};
use l4s_units::Duration;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use crate::own::{Raised, Sample, shown};

/// What one acknowledgement told the sender. Times are in nanoseconds.
#[pyclass(frozen, get_all, module = "l4s")]
pub struct Ack {
    now_ns: u64,
    delivered: u32,
    delivered_ce: u32,
    ece: bool,
    rtt_ns: Option<u64>,
    min_rtt_ns: u64,
    srtt_ns: u64,
    una: u64,
    nxt: u64,
    app_limited: bool,
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
            app_limited: ack.app_limited,
        }
    }
}

/// The congestion window and the slow-start threshold of a connection, in whole segments.
#[pyclass(module = "l4s")]
pub struct Window {
    window: l4s_cc::Window,
}

#[pymethods]
impl Window {
    #[getter]
    fn cwnd(&self) -> u32 {
        self.window.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, cwnd: i64) -> PyResult<()> {
        self.window.cwnd = segments("cwnd", cwnd, 1)?;
        Ok(())
    }

    /// `None` before the first reduction.
    #[getter]
    fn ssthresh(&self) -> Option<u32> {
        self.window.threshold()
    }

    #[setter]
    fn set_ssthresh(&mut self, ssthresh: Option<i64>) -> PyResult<()> {
        self.window.ssthresh = match ssthresh {
            Some(ssthresh) => segments("ssthresh", ssthresh, 1)?,
            None => l4s_cc::Window::NO_THRESHOLD,
        };
        Ok(())
    }

    /// Whether the last flight was as large as the window allowed.
    #[getter]
    fn limited(&self) -> bool {
        self.window.limited
    }

    #[getter]
    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    fn slow_start(&mut self, acked: u32) -> u32 {
        self.window.slow_start(acked)
    }

    fn additive_increase(&mut self, per: u32, acked: u32) {
        self.window.additive_increase(per, acked);
    }

    fn __repr__(&self) -> String {
        let ssthresh = self.ssthresh().map_or("None".to_owned(), |segments| segments.to_string());
        format!("Window(cwnd={}, ssthresh={ssthresh})", self.window.cwnd)
    }
}

/// So many segments, of which there are at least `least`, and fewer than any window needs.
fn segments(what: &str, number: i64, least: u32) -> PyResult<u32> {
    u32::try_from(number).ok().filter(|n| (least..u32::MAX / 2).contains(n)).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{what} = {number}: expected whole segments, from {least} to {}",
            u32::MAX / 2 - 1
        ))
    })
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
    let sample = sample.instance;
    let name: String = sample.getattr("name")?.extract()?;
    let ecn: String = sample.getattr("ecn")?.extract()?;
    let wants = match ecn.as_str() {
        "off" => WantedEcn::Off,
        "dctcp" => WantedEcn::Classic,
        "l4s" => WantedEcn::L4s,
        other => {
            return Err(PyValueError::new_err(format!(
                "{name}.ecn = {other:?}: expected \"off\", \"dctcp\" or \"l4s\""
            )));
        }
    };
    let pacing = sample.getattr("pacing")?.extract()?;
    let steers_alone = sample.getattr("steers_alone")?.extract()?;
    let control_name: Arc<str> = name.as_str().into();
    let make = move || -> Box<dyn foreign::Control> {
        let instance =
            Python::attach(|py| raised.unless(|| make.call0(py)).unwrap_or_else(|| py.None()));
        let raised = raised.clone();
        let reno = reno::Control::new(&reno::Config::default());
        let name = control_name.clone();
        Box::new(Control { instance, name, steers_alone, defined, raised, reno })
    };
    Ok(foreign::Config { name: name.into(), wants, pacing, make: Arc::new(make) })
}

/// The state of a connection.
#[derive(Debug)]
struct Control {
    instance: Py<PyAny>,
    name: Arc<str>,
    steers_alone: bool,
    defined: Defined,
    raised: Raised,
    reno: reno::Control,
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

impl CongestionControl for Control {
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
            Congestion::Loss => "loss",
            Congestion::Timeout => "timeout",
            Congestion::Ecn => "ecn",
        };
        Python::attach(|py| {
            let answer = self.raised.unless(|| {
                let window = Bound::new(py, Window { window: *window })?;
                let answer =
                    self.instance.call_method1(py, intern!(py, "ssthresh"), (window, why))?;
                let number = answer.extract(py).map_err(|_| {
                    PyTypeError::new_err(format!(
                        "{}.ssthresh returned {}: expected whole segments, at least 2",
                        self.name,
                        shown(answer.bind(py))
                    ))
                })?;
                segments(&format!("{}.ssthresh returned a threshold", self.name), number, 2)
            });
            answer.unwrap_or(reno)
        })
    }

    fn alpha(&self) -> Option<f64> {
        if !self.defined.alpha {
            return None;
        }
        Python::attach(|py| {
            let alpha = || self.instance.call_method0(py, intern!(py, "alpha"))?.extract(py);
            self.raised.unless(alpha).flatten()
        })
    }

    fn steers_alone(&self) -> bool {
        self.steers_alone
    }

    fn restart(&mut self, window: &mut l4s_cc::Window, pause: Pause) {
        if !self.defined.on_restart {
            return window.restart(pause);
        }
        self.steer(window, |py, window| {
            let (length, rto) = (pause.length.as_nanos(), pause.rto.as_nanos());
            let arguments = (window, pause.now.as_nanos(), length, rto);
            self.instance.call_method1(py, intern!(py, "on_restart"), arguments).map(drop)
        });
    }

    fn pacing_rate(&self, in_flight: u32, _left: u64, mss: u32, srtt: Duration) -> Option<u64> {
        if !self.defined.pacing_rate {
            return None;
        }
        Python::attach(|py| {
            let rate = || {
                let arguments = (in_flight, mss, srtt.as_nanos());
                let rate = self.instance.call_method1(py, intern!(py, "pacing_rate"), arguments)?;
                rate.extract(py).map_err(|_| {
                    PyTypeError::new_err(format!(
                        "{}.pacing_rate returned {}: expected bytes per second, or None",
                        self.name,
                        shown(rate.bind(py))
                    ))
                })
            };
            self.raised.unless(rate).flatten()
        })
    }
}
