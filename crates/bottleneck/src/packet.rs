//! The properties of packets that are the same on every substrate, so that decisions are too.

use l4s_model::FlowId;
use l4s_units::Bytes;

/// The hash input of disciplines that separate flows. The number of the flow stands for its
/// addresses and ports, so any mixing will do.
#[inline]
pub fn flow_hash(flow: FlowId) -> u32 {
    (flow.get() ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b).rotate_left(15).wrapping_mul(0xc2b2_ae35)
}

/// The memory of a packet of `size` on the link in a Linux `skb`: the packet with head room and
/// shared info in a power of two, and the structure itself. 2304 B for a full packet.
#[inline]
pub fn skb_memory(size: Bytes) -> Bytes {
    const HEAD_ROOM_AND_INFO: u64 = 64 + 320;
    const SKB: u64 = 256;
    Bytes::new((size.get() + HEAD_ROOM_AND_INFO).next_power_of_two() + SKB)
}
