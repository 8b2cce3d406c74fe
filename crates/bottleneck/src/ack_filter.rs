//! A filter that takes redundant acknowledgements out of a queue, where a slow link up would limit a fast one down.
//!
//! The rules are those of CAKE (CAKE §III-D; Linux: `cake_ack_filter` of net/sched/sch_cake.c), within the advice of
//! RFC 3449 §5.2.1. When a packet with an acknowledgement joins the queue, at most one earlier packet of its flow leaves it,
//! the one closest to the head that may go. Such a packet
//!
//! - is a pure acknowledgement, with no flag but ACK, ECE and CWR, and no option but time stamps, SACK and MD5;
//! - acknowledges no byte that the new one does not, in its number and in its blocks of SACK (RFC 2018 §3);
//! - is no duplicate and reports none (RFC 2883 §4): duplicates start a fast retransmission (RFC 5681 §3.2);
//! - has time stamps that are not later than those of the new one (RFC 7323 §3.2);
//! - is followed by another one that may go, or, in aggressive mode, by the new one. Between the two is no packet of the
//!   flow with other ECN flags, so no change of these is lost.
//!
//! With Accurate ECN a packet stays that has its flag AE or its option (RFC 9768 §3.2.3): CAKE does not read them. A packet
//! goes only while ACE, then below 4, is the same. So a sender sees each step of that counter, and RFC 9768 §3.3.3 asks for
//! as many as show that it wrapped.
//!
//! Three things differ from CAKE. Its queues have one flow each, where these may have many: "followed by" means among the
//! packets of the flow. It compares ECE and CWR, and here AE counts too, since ACE may go from 1 to 5 and on to 1. And the
//! discipline decides about the new packet first. One that it drops at its arrival replaces nothing, so a flow's last
//! acknowledgement is never lost to the filter.

use l4s_aqm::Redundancy;
use l4s_model::AckFilter;
use l4s_units::Time;

/// The fields of a packet with an acknowledgement that a filter reads. Numbers are those of TCP, modulo 2³².
///
/// Example: [`Acknowledgements`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// The next byte that its sender expects.
    pub number: u32,
    /// Whether it is nothing but an acknowledgement: it has no payload, no flag but ACK, ECE and CWR, and no option but
    /// time stamps, SACK and MD5.
    pub is_pure: bool,
    /// AE, CWR and ECE, the most significant first, as in the counter ACE (RFC 9768 §3.2.2).
    pub ace: u8,
    /// Its time stamps, TSval and TSecr (RFC 7323 §3.2).
    pub stamps: Option<(u32, u32)>,
    /// Its blocks of SACK.
    pub blocks: Blocks,
}

/// The blocks of a SACK option, from the first byte up to the one behind the last: four at most (RFC 2018 §3).
///
/// ```
/// use l4s_bottleneck::Blocks;
///
/// let blocks = Blocks::from_iter([(3000, 4500), (9000, 10_500)]);
/// assert_eq!(blocks.as_slice(), [(3000, 4500), (9000, 10_500)]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl Blocks {
    /// Them, in the order of the option.
    #[inline]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Those beyond four have no room in a header, and are left out.
impl FromIterator<(u32, u32)> for Blocks {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(blocks: I) -> Blocks {
        let mut all = Blocks::default();
        for (place, block) in all.blocks.iter_mut().zip(blocks) {
            *place = block;
            all.count += 1;
        }
        all
    }
}

/// Reads acknowledgements out of packets.
///
/// ```
/// use l4s_aqm::{DropCause, MarkCause, Packet, Queue, Watch, fifo};
/// use l4s_bottleneck::{Ack, Acknowledgements, Route};
/// use l4s_model::{AckFilter, Link, Scenario, Uplink};
/// use l4s_units::{Bytes, Duration, Ecn, Rate, Time};
///
/// /// An acknowledgement of the only flow.
/// #[derive(Debug)]
/// struct Acknowledged(u32);
/// # impl Packet for Acknowledged {
/// #     fn size(&self) -> Bytes { Bytes::new(66) }
/// #     fn ecn(&self) -> Ecn { Ecn::NotEct }
/// #     fn set_ce(&mut self) {}
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
///
/// #[derive(Default)]
/// struct Reader {
///     filtered: u32,
/// }
///
/// impl Acknowledgements<Acknowledged> for Reader {
///     fn are_of_one_flow(&self, _: &Acknowledged, _: &Acknowledged) -> bool { true }
///
///     fn acknowledgement(&self, packet: &Acknowledged) -> Option<Ack> {
///         Some(Ack { number: packet.0, is_pure: true, ..Ack::default() })
///     }
/// }
/// impl Watch<Acknowledged> for Reader {
///     fn marked(&mut self, _: &Acknowledged, _: Queue, _: MarkCause, _: Time) {}
///
///     fn dropped(&mut self, _: Acknowledged, _: Queue, cause: DropCause, _: Time) {
///         self.filtered += u32::from(cause == DropCause::AckFilter);
///     }
/// }
///
/// let fifo = l4s_aqm::Config::Fifo(fifo::Config::linux());
/// let link = Link::new(Rate::from_mbps(1));
/// let mut scenario = Scenario::new("up", Duration::from_secs(1), link.clone(), fifo.clone());
/// scenario.uplink = Some(Uplink { link, aqm: fifo, ack_filter: AckFilter::On });
/// let mut route = Route::new(&scenario);
/// let uplink = route.uplink().map(|number| route.link(number)).unwrap();
///
/// // Of five acknowledgements in the queue the last two stay.
/// let mut reader = Reader::default();
/// for number in [1000, 2000, 3000, 4000, 5000] {
///     uplink.enqueue(Acknowledged(number), Time::ZERO, &mut reader);
/// }
/// assert_eq!(uplink.queue.backlog().packets, 2);
/// assert_eq!(reader.filtered, 3);
/// let head = uplink.queue.transmit(Time::ZERO, &mut reader).unwrap();
/// assert_eq!(head.packet.0, 4000);
/// ```
pub trait Acknowledgements<P> {
    /// Whether both have the same addresses, ports and protocol, in the same order.
    fn are_of_one_flow(&self, one: &P, other: &P) -> bool;

    /// The acknowledgement of a packet. `None` where it has none: it is not of TCP, lacks ACK, or is a SYN.
    fn acknowledgement(&self, packet: &P) -> Option<Ack>;
}

/// Finds the acknowledgement that the packet which just came makes redundant.
pub(crate) struct Redundant<'a, R> {
    pub read: &'a R,
    /// When it came.
    pub now: Time,
    pub filter: AckFilter,
}

impl<P, R: Acknowledgements<P>> Redundancy<P> for Redundant<'_, R> {
    fn find<'a>(
        &mut self,
        newest: &P,
        arrival: Time,
        older: impl Iterator<Item = &'a P>,
    ) -> Option<usize>
    where
        P: 'a,
    {
        // Otherwise the discipline put it into another queue, or dropped it.
        let is_here = arrival == self.now;
        is_here.then(|| redundant(self.read, self.filter, newest, older)).flatten()
    }
}

/// The place, among `older` packets in a queue, of the acknowledgement that the `newest` makes redundant. The head of the
/// queue is first. `None` if all stay, as with [`AckFilter::Off`].
///
/// ```
/// use l4s_bottleneck::{Ack, Acknowledgements, redundant};
/// use l4s_model::AckFilter;
///
/// /// Reads the acknowledgements of one flow, which are numbers.
/// struct Numbers;
///
/// impl Acknowledgements<u32> for Numbers {
///     fn are_of_one_flow(&self, _: &u32, _: &u32) -> bool { true }
///
///     fn acknowledgement(&self, number: &u32) -> Option<Ack> {
///         Some(Ack { number: *number, is_pure: true, ..Ack::default() })
///     }
/// }
///
/// let find = |filter, older: &[u32]| redundant(&Numbers, filter, &3000, older.iter());
/// assert_eq!(find(AckFilter::On, &[1000]), None);
/// assert_eq!(find(AckFilter::Aggressive, &[1000]), Some(0));
/// assert_eq!(find(AckFilter::On, &[4000, 1000, 2000]), Some(1));
/// assert_eq!(find(AckFilter::Off, &[1000, 2000]), None);
/// ```
pub fn redundant<'a, P: 'a>(
    read: &impl Acknowledgements<P>,
    filter: AckFilter,
    newest: &P,
    older: impl Iterator<Item = &'a P>,
) -> Option<usize> {
    if filter.is_off() {
        return None;
    }
    let later = read.acknowledgement(newest)?;
    let mut first: Option<Candidate> = None;
    for (place, packet) in older.enumerate() {
        if !read.are_of_one_flow(newest, packet) {
            continue;
        }
        let ack = read.acknowledgement(packet);
        if let Some(ack) = &ack {
            first = first.filter(|first| first.ace == ack.ace);
        }
        match (&mut first, ack.filter(|ack| is_redundant(ack, &later))) {
            (Some(first), Some(_)) => return Some(first.place),
            (Some(first), None) => first.is_last = false,
            (None, Some(Ack { ace, .. })) => first = Some(Candidate { place, ace, is_last: true }),
            (None, None) => {}
        }
    }
    let goes = |first: &Candidate| {
        filter == AckFilter::Aggressive && first.is_last && first.ace == later.ace
    };
    first.filter(goes).map(|first| first.place)
}

/// An acknowledgement that may go if another one follows it.
struct Candidate {
    place: usize,
    /// Its ECN flags.
    ace: u8,
    /// Whether no packet of its flow is between it and the newest one.
    is_last: bool,
}

/// Whether all that an acknowledgement says is said by a later one.
fn is_redundant(ack: &Ack, later: &Ack) -> bool {
    let stamps_advance = match (ack.stamps, later.stamps) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some((sent, echo)), Some((later_sent, later_echo))) => {
            !is_after(sent, later_sent) && !is_after(echo, later_echo)
        }
    };
    if !ack.is_pure || !stamps_advance || is_after(ack.number, later.number) {
        return false;
    }
    match further_bytes(ack, later) {
        None => false,
        Some(0) => ack.number != later.number,
        Some(_) => true,
    }
}

/// How many bytes more the blocks of a later acknowledgement have. `None` if those of the earlier one have some that the
/// later ones lack, or report a duplicate, which is below the number that it acknowledges.
fn further_bytes(ack: &Ack, later: &Ack) -> Option<u32> {
    let size = |ack: &Ack| {
        let sizes = ack.blocks.as_slice().iter().map(|(from, to)| to.wrapping_sub(*from));
        sizes.fold(0, u32::saturating_add)
    };
    let covers = |(from, to): &(u32, u32)| {
        let mut blocks = later.blocks.as_slice().iter();
        let is_news = !is_after(ack.number, *from);
        is_news && blocks.any(|block| !is_after(block.0, *from) && !is_after(*to, block.1))
    };
    ack.blocks.as_slice().iter().all(covers).then(|| size(later).saturating_sub(size(ack)))
}

/// Of two numbers less than 2³¹ apart, whether the first is beyond the other (RFC 7323 §5.2).
#[inline]
fn is_after(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) > 0
}

#[cfg(test)]
mod tests;
