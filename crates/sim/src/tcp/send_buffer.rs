//! A send buffer whose size the application set (SO_SNDBUF), and the server that fills it.
//!
//! The server writes 256 KiB at a time, as the server of the lab does, until the socket takes no
//! more. It goes on when a third of the buffer is free. Linux counts the memory of the buffers of
//! its queue (`sk_buff`) and checks it only where a write begins a new one (`tcp_sendmsg_locked`).
//! A full buffer at the head of the queue is sent at once, one unit of segmentation offload of it
//! (`tcp_push_one`). If the unit is smaller than the buffer, the rest of the buffer takes as much
//! more without a check, so that a write is accepted whole while the congestion window has room. If
//! the unit is as large as the buffer, each 64 KiB of a write needs free memory.

use std::collections::VecDeque;

/// Bytes of a write.
const WRITE: u64 = 256 << 10;
/// Memory of a buffer in addition to its data: `SKB_TRUESIZE` of a head with room for every header
/// (`tcp_stream_alloc_skb`).
const OVERHEAD: u64 = 896;
/// The most bytes that one unit of segmentation offload holds (`GSO_LEGACY_MAX_SIZE`).
const GSO_MAX: u64 = 65_536;
/// The smallest send buffer (`SOCK_MIN_SNDBUF`).
const LEAST: u64 = 2 * (2048 + 256);

/// The state of the send buffer. Positions are bytes of the stream.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    /// The number of bytes to write in all; `u64::MAX` without end.
    pub total: u64,
    /// The limit of its memory in bytes.
    limit: u64,
    /// Payload of a full segment in bytes.
    pub payload: u64,
    /// The largest receive window that the client advertised, in bytes.
    window: u64,
    /// The end of the bytes that were last sent as far as possible (`pushed_seq`).
    pushed: u64,
    /// The end of each unit that was sent and is not acknowledged: each is a buffer.
    units: VecDeque<u64>,
    /// The begin of the last buffer of the queue.
    tail: u64,
    /// The bytes left of the write in progress.
    left: u64,
    /// The server waits until a third is free (SOCK_NOSPACE).
    waits: bool,
}

/// The segments to send after a step of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Push {
    /// None: the buffer that was filled is not at the head of the queue.
    None,
    /// One unit of the buffer at the head, which is full (`tcp_push_one`).
    Unit,
    /// All that may leave: at the end of a write, and after half of the receive window
    /// (`forced_push`).
    All,
}

impl SendBuffer {
    /// An empty send buffer with SO_SNDBUF of `sndbuf` bytes, for `total` bytes in segments of
    /// `payload`.
    pub fn new(sndbuf: u64, total: u64, payload: u16) -> SendBuffer {
        SendBuffer {
            total,
            limit: (2 * sndbuf).max(LEAST),
            payload: payload.into(),
            window: 0,
            pushed: 0,
            units: VecDeque::new(),
            tail: 0,
            left: 0,
            waits: false,
        }
    }

    /// The maximum of bytes in one buffer of the queue: whole segments, up to the limit of offload
    /// and half of the receive window (`tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`).
    fn goal(&self) -> u64 {
        (GSO_MAX.min(self.window / 2) / self.payload).max(1) * self.payload
    }

    /// The client advertised this receive window.
    pub fn advertised(&mut self, window: u64) {
        self.window = self.window.max(window);
    }

    /// A unit was sent that ends at `to`.
    pub fn sent(&mut self, to: u64) {
        self.units.push_back(to);
    }

    /// Memory in use, where all before `una` is acknowledged, all before `nxt` sent.
    fn memory(&mut self, written: u64, una: u64, nxt: u64) -> u64 {
        while self.units.front().is_some_and(|end| *end <= una) {
            self.units.pop_front();
        }
        let buffers = self.units.len() as u64 + (written - nxt).div_ceil(self.goal());
        written - una + OVERHEAD * buffers
    }

    /// Whether the server writes (`sk_stream_is_writable`): half of the memory in use is free.
    pub fn is_writable(&mut self, written: u64, una: u64, nxt: u64) -> bool {
        let memory = self.memory(written, una, nxt);
        !self.waits || memory + memory / 2 <= self.limit
    }

    /// The server writes up to the end of the last buffer of the queue, or into a new one; `None`
    /// if there is no free memory, or nothing to write.
    pub fn step(&mut self, written: u64, una: u64, nxt: u64) -> Option<(u64, Push)> {
        if self.left == 0 {
            self.left = (self.total - written).min(WRITE);
        }
        if self.left == 0 {
            return None;
        }
        let mut room = 0;
        if written > nxt {
            self.tail = self.tail.max(nxt);
            room = self.goal().saturating_sub(written - self.tail);
        }
        if room == 0 {
            if self.memory(written, una, nxt) >= self.limit {
                (self.left, self.waits) = (0, true);
                return None;
            }
            (self.tail, room) = (written, self.goal());
        }
        let more = room.min(self.left);
        self.left -= more;
        self.waits = false;
        let end = written + more;
        let push = if self.left == 0 || end > self.pushed + self.window / 2 {
            self.pushed = end;
            Push::All
        } else if self.tail <= nxt {
            Push::Unit
        } else {
            Push::None
        };
        Some((more, push))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full buffer of the queue: 45 segments.
    const FULL: u64 = 45 * 1448;

    fn buffer(sndbuf: u64, total: u64) -> SendBuffer {
        let mut buffer = SendBuffer::new(sndbuf, total, 1448);
        buffer.advertised(4 << 20);
        buffer
    }

    #[test]
    fn what_leaves_in_part_takes_the_rest_of_a_write_without_free_memory() {
        // After each step a unit of 10 segments leaves. Of 2 * 2304 B of memory nothing is free.
        let mut buffer = buffer(0, u64::MAX);
        let (mut written, mut nxt, mut pushes) = (0, 0, Vec::new());
        while let Some((more, push)) = buffer.step(written, 0, nxt) {
            written += more;
            pushes.push((more, push));
            nxt = if push == Push::All { written } else { nxt + 14_480 };
            buffer.sent(nxt);
        }
        // 262,144 B are 65,160 + 13 * 14,480 + 8744 B.
        let mut expected = vec![(FULL, Push::Unit)];
        expected.extend([(14_480, Push::Unit); 13]);
        expected.push((8744, Push::All));
        assert_eq!(pushes, expected);
        assert!(!buffer.is_writable(written, 0, nxt));
    }

    #[test]
    fn what_leaves_as_a_whole_needs_free_memory() {
        // 131,072 B of memory: two buffers of 65,160 + 896 B are more.
        let mut buffer = buffer(64 << 10, u64::MAX);
        for n in 0..2 {
            assert_eq!(buffer.step(n * FULL, 0, n * FULL), Some((FULL, Push::Unit)));
            buffer.sent((n + 1) * FULL);
        }
        assert_eq!(buffer.step(2 * FULL, 0, 2 * FULL), None);
        // It goes on where the memory in use and half of it fit: 87,381 B, 85,589 B of data.
        let una = 2 * FULL - 85_589;
        assert!(!buffer.is_writable(2 * FULL, una - 1, 2 * FULL));
        assert!(buffer.is_writable(2 * FULL, una, 2 * FULL));
    }

    #[test]
    fn half_of_the_receive_window_limits_a_buffer_and_forces_a_push() {
        // Half of 65,536 B: 22 segments.
        let mut buffer = SendBuffer::new(64 << 10, u64::MAX, 1448);
        buffer.advertised(65_536);
        assert_eq!(buffer.step(0, 0, 0), Some((22 * 1448, Push::Unit)));
        assert_eq!(buffer.step(22 * 1448, 0, 0), Some((22 * 1448, Push::All)));
        assert_eq!(buffer.step(44 * 1448, 0, 0), Some((22 * 1448, Push::None)));
    }

    #[test]
    fn the_server_writes_no_more_than_there_is() {
        let mut buffer = buffer(1 << 20, 1000);
        assert_eq!(buffer.step(0, 0, 0), Some((1000, Push::All)));
        assert_eq!(buffer.step(1000, 0, 0), None);
        assert_eq!(buffer.step(1000, 1000, 1000), None);
    }
}
