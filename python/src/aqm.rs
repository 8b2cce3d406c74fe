//! A queue discipline that is a class of Python's.

use std::sync::Arc;

use l4s_aqm::foreign::{self, Context, Policy, Verdict};
use l4s_aqm::{Backlog, Limit, Queue, Signal};
use l4s_units::{Duration, Ecn, Probability, Time};
use pyo3::intern;
use pyo3::prelude::*;

use crate::returns::{Raised, Sample, fraction, seeded, wrong};

/// A packet at a queue, and the state of the queue. Times are in nanoseconds.
#[pyclass(frozen, get_all, module = "l4s")]
pub struct Packet {
    /// When the question is asked: nanoseconds since the start of the run, from 0.
    now_ns: u64,
    /// Its size on the link: bytes, at least 1.
    size: u64,
    /// Its ECN field as the header has it: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    ecn: u8,
    /// A hash of its 5-tuple: from 0 to 2³² - 1.
    flow: u32,
    /// Its queue: L or C, or Q where there is one; where that is the question, the one that it
    /// would go to by RFC 9332.
    queue: &'static str,
    /// How long it has waited: nanoseconds; 0 at its arrival.
    sojourn_ns: u64,
    /// The backlog of its queue, or of both before it is in one: packets, from 0.
    waiting_packets: usize,
    /// The size of the backlog: bytes, from 0.
    waiting_bytes: u64,
}

#[pymethods]
impl Packet {
    /// Whether it can be marked instead of dropped: True or False.
    #[getter]
    fn is_capable(&self) -> bool {
        self.ecn != Ecn::NotEct as u8
    }

    /// Whether it says that its sender is an L4S one, by ECT(1) or CE (RFC 9331): True or False.
    #[getter]
    fn is_l4s(&self) -> bool {
        self.ecn & 1 == 1
    }

    fn __repr__(&self) -> String {
        let Packet { now_ns, size, ecn, flow, queue, sojourn_ns, .. } = self;
        let Packet { waiting_packets, waiting_bytes, .. } = self;
        format!(
            "Packet(now_ns={now_ns}, size={size}, ecn={ecn}, flow={flow}, queue='{queue}', \
             sojourn_ns={sojourn_ns}, waiting_packets={waiting_packets}, \
             waiting_bytes={waiting_bytes})"
        )
    }
}

impl Packet {
    fn new(context: &Context, queue: Queue) -> Packet {
        Packet {
            now_ns: context.now.as_nanos(),
            size: context.size.get(),
            ecn: context.ecn as u8,
            flow: context.flow,
            queue: queue.name(),
            sojourn_ns: context.sojourn.as_nanos(),
            waiting_packets: context.backlog.packets,
            waiting_bytes: context.backlog.bytes.get(),
        }
    }
}

/// The discipline that `make` makes for each run.
pub fn config(make: &Bound<'_, PyAny>, raised: Raised) -> PyResult<foreign::Config> {
    let sample = Sample::of(make, "Aqm")?;
    let defines = |method| sample.defines(method);
    let defined = Defined {
        enqueue: defines("enqueue")?,
        dequeue: defines("dequeue")?,
        classify: defines("classify")?,
        l_goes_first: defines("l_goes_first")?,
        probability: defines("probability")?,
    };
    let name = sample.name()?;
    let dual = sample.flag("dual")?;
    if !dual {
        for method in ["classify", "l_goes_first"] {
            sample.never_called(method, "there is one queue, and two with dual = True")?;
        }
    }
    let limit = sample.attribute("limit", "packets, from 1 to 100,000,000", |limit| {
        limit.extract().ok().filter(|limit| (1..=100_000_000).contains(limit))
    })?;
    let tick_ns = sample.attribute("tick_ns", "nanoseconds, at least 1000, or None", |tick| {
        let tick: Option<u64> = tick.extract().ok()?;
        tick.is_none_or(|tick| tick >= 1000).then_some(tick)
    })?;
    // Only so that it is refused where it would not run.
    sample.defines("tick")?;
    if tick_ns.is_none() {
        sample.never_called("tick", "tick_ns, the nanoseconds between its calls, is not set")?;
    }
    let (make, class) = (make.clone().unbind(), Arc::<str>::from(sample.class()?));
    let factory = move |seed: u64| -> Box<dyn Policy> {
        let instance = Python::attach(|py| {
            raised.unless(|| seeded(py, &make, seed)).unwrap_or_else(|| py.None())
        });
        Box::new(Bench { instance, class: class.clone(), defined, raised: raised.clone() })
    };
    let tick = tick_ns.map(Duration::from_nanos);
    let limit = Limit::packets(limit);
    Ok(foreign::Config { name: name.into(), dual, limit, tick, factory: Arc::new(factory) })
}

/// Which methods a class defines itself.
#[derive(Clone, Copy, Debug)]
struct Defined {
    enqueue: bool,
    dequeue: bool,
    classify: bool,
    l_goes_first: bool,
    probability: bool,
}

/// The state of a run.
#[derive(Debug)]
struct Bench {
    instance: Py<PyAny>,
    /// The name of its class, for messages.
    class: Arc<str>,
    defined: Defined,
    raised: Raised,
}

impl Bench {
    /// Asks Python for one of a few words.
    fn word<T: Copy>(
        &self,
        method: &str,
        packet: Packet,
        words: &[(Option<&str>, T)],
        else_: T,
    ) -> T {
        Python::attach(|py| {
            let word = self.raised.unless(|| {
                let answer = self.instance.call_method1(py, method, (packet,))?;
                let answer = answer.bind(py);
                let said: Option<Option<&str>> = answer.extract().ok();
                let known = said.and_then(|said| words.iter().find(|(word, _)| *word == said));
                known.map(|(_, value)| *value).ok_or_else(|| {
                    let all: Vec<_> = words
                        .iter()
                        .map(|(word, _)| word.map_or("None".to_owned(), |word| format!("{word:?}")))
                        .collect();
                    wrong(&format!("{}.{method} returned", self.class), answer, &all.join(", "))
                })
            });
            word.unwrap_or(else_)
        })
    }

    fn verdict(&self, method: &str, context: &Context, queue: Queue) -> Verdict {
        const WORDS: [(Option<&str>, Verdict); 4] = [
            (None, Verdict::Forward),
            (Some("forward"), Verdict::Forward),
            (Some("mark"), Verdict::Mark),
            (Some("drop"), Verdict::Drop),
        ];
        self.word(method, Packet::new(context, queue), &WORDS, Verdict::Forward)
    }
}

impl Policy for Bench {
    fn classify(&mut self, context: &Context) -> Queue {
        // As RFC 9332 §2.3 has it.
        let usual = if context.ecn as u8 & 1 == 1 { Queue::L } else { Queue::C };
        if !self.defined.classify {
            return usual;
        }
        let words = [(Some("L"), Queue::L), (Some("C"), Queue::C)];
        self.word("classify", Packet::new(context, usual), &words, usual)
    }

    fn arrive(&mut self, context: &Context, queue: Queue) -> Verdict {
        if !self.defined.enqueue {
            return Verdict::Forward;
        }
        self.verdict("enqueue", context, queue)
    }

    fn l_goes_first(&mut self, l: Duration, c: Duration, now: Time) -> bool {
        if !self.defined.l_goes_first {
            return true;
        }
        Python::attach(|py| {
            let first = self.raised.unless(|| {
                let waited = (l.as_nanos(), c.as_nanos(), now.as_nanos());
                let first = self.instance.call_method1(py, intern!(py, "l_goes_first"), waited)?;
                let said = || format!("{}.l_goes_first returned", self.class);
                first.extract(py).map_err(|_| wrong(&said(), first.bind(py), "True or False"))
            });
            first.unwrap_or(true)
        })
    }

    fn depart(&mut self, context: &Context, queue: Queue) -> Verdict {
        if !self.defined.dequeue {
            return Verdict::Forward;
        }
        self.verdict("dequeue", context, queue)
    }

    fn tick(&mut self, waiting: [Backlog; 2], heads: [Duration; 2], now: Time) {
        let bytes = waiting.map(|backlog| backlog.bytes.get());
        let heads = heads.map(Duration::as_nanos);
        Python::attach(|py| {
            self.raised.unless(|| {
                let told = (now.as_nanos(), (heads[0], heads[1]), (bytes[0], bytes[1]));
                self.instance.call_method1(py, intern!(py, "tick"), told).map(drop)
            });
        });
    }

    fn signal(&self) -> Option<Signal> {
        if !self.defined.probability {
            return None;
        }
        let base = Python::attach(|py| {
            self.raised.unless(|| {
                let p = self.instance.call_method0(py, intern!(py, "probability"))?;
                fraction(&format!("{}.probability returned", self.class), p.bind(py))
            })
        });
        let base = Probability::from_f64(base.flatten()?);
        Some(Signal { base, ..Signal::default() })
    }
}
