//! Observers made of observers: none, one by reference, one or none, two.
//!
//! Each is its own type, so that a run without a trace has no trace in its code.

use std::sync::{Arc, Mutex, PoisonError};

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_cc::classic_ecn::Report;
use l4s_model::{FlowId, PathEvent, Scenario, SourceId};
use l4s_units::{Bytes, Duration, Time};

use crate::{FlowState, FrameEvent, HopEvent, LinkState, Observer, OnWire, Traced, Wants};

/// Writes the methods of an observer that passes every event on. The text after `|self, tell|` is
/// the body of each; in it `tell!(observer)` calls the same method of that observer.
macro_rules! pass_on {
    (|$self:ident, $call:ident| $($to:tt)*) => {
        pass_on! { @method $self $call [$($to)*]
            arrived(packet: &P, now: Time);
            marked(packet: &P, queue: Queue, cause: MarkCause, now: Time);
            departed(packet: &P, queue: Queue, sojourn: Duration, now: Time);
            dropped(packet: &P, queue: Queue, cause: DropCause, now: Time);
            answered(packet: &dyn OnWire, now: Time);
            at_hop(hop: u16, packet: &P, queue: Queue, what: HopEvent, now: Time);
            at_path(path: u16, source: SourceId, what: PathEvent, now: Time);
            straddled(hop: Option<u16>, before: Bytes, after: Bytes);
            opened(flow: FlowId, group: SourceId, size: Option<Bytes>, now: Time);
            closed(flow: FlowId, now: Time);
            gave_up(flow: FlowId, now: Time);
            turned_away(flow: FlowId, group: SourceId, now: Time);
            detected(flow: FlowId, report: Report, now: Time);
            round_trip(flow: FlowId, rtt: Duration, now: Time);
            delivered(flow: FlowId, group: SourceId, bytes: u64, now: Time);
            retransmitted(flow: FlowId, now: Time);
            frame(flow: FlowId, group: SourceId, what: FrameEvent, now: Time);
            sample_link(state: LinkState, now: Time);
            sample_uplink(state: LinkState, now: Time);
            sample_flow(state: FlowState, now: Time);
            adapted(scenario: &Scenario, now: Time);
        }
    };
    (@method $self:ident $call:ident $to:tt $($name:ident($($arg:ident: $type:ty),*);)+) => {
        $(pass_on! { @one $self $call $to $name($($arg: $type),*) })+
    };
    (@one $self:ident $call:ident [$($to:tt)*] $name:ident($($arg:ident: $type:ty),*)) => {
        #[inline(always)]
        fn $name(&mut $self, $($arg: $type),*) {
            macro_rules! $call { ($observer:expr) => { $observer.$name($($arg),*) }; }
            // An observer that passes nothing on uses no argument.
            let _ = ($($arg,)*);
            $($to)*
        }
    };
}

/// Listens to nothing.
impl<P: Traced> Observer<P> for () {
    pass_on! { |self, _tell| {} }

    fn wants(&self) -> Wants {
        Wants::NOTHING
    }
}

impl<P: Traced, O: Observer<P> + ?Sized> Observer<P> for &mut O {
    pass_on! { |self, tell| tell!((**self)); }

    fn sampling_interval(&self) -> Option<Duration> {
        (**self).sampling_interval()
    }

    fn wants(&self) -> Wants {
        (**self).wants()
    }
}

/// Listens while somebody else may look, from another thread.
impl<P: Traced, O: Observer<P>> Observer<P> for Arc<Mutex<O>> {
    pass_on! { |self, tell| tell!(self.lock().unwrap_or_else(PoisonError::into_inner)); }

    fn sampling_interval(&self) -> Option<Duration> {
        self.lock().unwrap_or_else(PoisonError::into_inner).sampling_interval()
    }

    fn wants(&self) -> Wants {
        self.lock().unwrap_or_else(PoisonError::into_inner).wants()
    }
}

/// Listens, if there is anyone.
impl<P: Traced, O: Observer<P>> Observer<P> for Option<O> {
    pass_on! { |self, tell| if let Some(observer) = self { tell!(observer); } }

    fn sampling_interval(&self) -> Option<Duration> {
        self.as_ref().and_then(|observer| observer.sampling_interval())
    }

    fn wants(&self) -> Wants {
        self.as_ref().map_or(Wants::NOTHING, |observer| observer.wants())
    }
}

/// Passes events to both, in order. Both are sampled at the higher of the two frequencies.
impl<P: Traced, A: Observer<P>, B: Observer<P>> Observer<P> for (A, B) {
    pass_on! { |self, tell| tell!(self.0); tell!(self.1); }

    fn sampling_interval(&self) -> Option<Duration> {
        match (self.0.sampling_interval(), self.1.sampling_interval()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn wants(&self) -> Wants {
        self.0.wants() | self.1.wants()
    }
}
