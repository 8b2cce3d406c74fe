//! Every packet that passes a device, with the time at which it did.
//!
//! A packet socket gets each packet with the kernel's time stamp. On arrival that is the moment at
//! which the server's end of the cable hands it to the router (`netif_rx`), on departure that of
//! the hand-over to the device (`xmit_one`), right after the dequeue. In virtual time code takes
//! none, so that these are the instants of the enqueue and the dequeue. In real time the softirq
//! that receives and routes the packet is between the first and the enqueue.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use l4s_os::OsError;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

/// As much of a packet as is kept: IPv6 and TCP headers with all options take 100 bytes.
pub const SNAP: usize = 128;
/// Packets that are read at once.
const BATCH: usize = 64;
/// The maximum backlog to be read: far more than can come between two looks.
const ROOM: usize = 256 << 20;
/// Room for one control message with a time stamp.
const CONTROL: usize = 64;

/// Which way a packet passed a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It came in by the device.
    In,
    /// It left by it.
    Out,
}

/// A socket that sees the packets of one device.
#[derive(Debug)]
pub struct Tap {
    reader: Reader<SNAP, BATCH>,
    only: Option<Way>,
}

/// A packet socket, and room for the first `LENGTH` bytes of packets that are read at once.
#[derive(Debug)]
pub(crate) struct Reader<const LENGTH: usize, const BATCH: usize> {
    /// The socket.
    pub socket: OwnedFd,
    room: Box<Room<LENGTH, BATCH>>,
}

/// Where packets are read to.
struct Room<const LENGTH: usize, const BATCH: usize> {
    packets: [[u8; LENGTH]; BATCH],
    controls: [[u64; CONTROL / 8]; BATCH],
    addresses: [libc::sockaddr_ll; BATCH],
}

impl<const LENGTH: usize, const BATCH: usize> std::fmt::Debug for Room<LENGTH, BATCH> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Room")
    }
}

impl Tap {
    /// Sees the packets of device number `index` from the network header on: of one direction, or of
    /// both.
    pub fn open(index: u32, only: Option<Way>) -> Result<Tap, OsError> {
        Ok(Tap { reader: Reader::open(index, only, ROOM)?, only })
    }

    /// Passes on every packet that came since the last time: its stamp in nanoseconds of
    /// CLOCK_REALTIME, its direction, and its first bytes.
    pub fn drain(&mut self, mut take: impl FnMut(u64, Way, &[u8])) -> Result<(), OsError> {
        loop {
            let Tap { reader, only } = self;
            let asked = |way| only.is_none_or(|only| only == way);
            let read = reader.read(BATCH, |stamp, way, packet| {
                if asked(way) {
                    take(stamp, way, packet);
                }
            });
            let read = read.map_err(|error| {
                OsError::Run(format!("reading packets at the bottleneck: {error}"))
            })?;
            if read < BATCH {
                return self.complete();
            }
        }
    }

    /// Whether the kernel had room for all of them.
    fn complete(&self) -> Result<(), OsError> {
        let lost = statistics(&self.reader.socket)
            .map_err(|error| OsError::Run(format!("packets at the bottleneck: {error}")))?;
        match lost {
            0 => Ok(()),
            lost => Err(OsError::Run(format!("{lost} packets at the bottleneck were not seen"))),
        }
    }
}

impl<const LENGTH: usize, const BATCH: usize> Reader<LENGTH, BATCH> {
    /// At device number `index`. Up to `room` bytes may wait to be read.
    pub fn open(index: u32, only: Option<Way>, room: usize) -> Result<Self, OsError> {
        Ok(Reader { socket: socket(index, only, room)?, room: Room::new() })
    }

    /// Reads up to `most` packets, and up to `BATCH`: of each its stamp in nanoseconds of CLOCK_REALTIME, its
    /// direction, and its first bytes. Returns how many there were.
    #[allow(unsafe_code)]
    pub fn read(
        &mut self,
        most: usize,
        mut take: impl FnMut(u64, Way, &[u8]),
    ) -> io::Result<usize> {
        let Room { packets, controls, addresses } = &mut *self.room;
        let mut pieces: [libc::iovec; BATCH] = core::array::from_fn(|n| libc::iovec {
            iov_base: packets[n].as_mut_ptr().cast(),
            iov_len: LENGTH,
        });
        let mut messages: [libc::mmsghdr; BATCH] = core::array::from_fn(|n| {
            // SAFETY: a header of integers and pointers, for which zero bytes are a value.
            let mut message: libc::mmsghdr = unsafe { core::mem::zeroed() };
            message.msg_hdr.msg_name = (&raw mut addresses[n]).cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
            message.msg_hdr.msg_iov = &raw mut pieces[n];
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = controls[n].as_mut_ptr().cast();
            // glibc and musl have these integers in different sizes.
            message.msg_hdr.msg_controllen = CONTROL as _;
            message
        });
        // SAFETY: every header points to a name, to one piece and to control space that live in
        // `self.room`, apart from each other and as large as is said; the descriptor is open.
        let read = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                most.min(BATCH) as u32,
                libc::MSG_DONTWAIT as _,
                core::ptr::null_mut(),
            )
        };
        if read < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                // The removal of its device is reported once, and earlier packets are still there.
                io::ErrorKind::WouldBlock
                | io::ErrorKind::Interrupted
                | io::ErrorKind::NetworkDown => Ok(0),
                _ => Err(error),
            };
        }
        for n in 0..read as usize {
            let direction = match addresses[n].sll_pkttype {
                libc::PACKET_OUTGOING => Way::Out,
                _ => Way::In,
            };
            let length = (messages[n].msg_len as usize).min(LENGTH);
            let stamp = stamp(&controls[n], messages[n].msg_hdr.msg_controllen as usize)
                .ok_or_else(|| io::Error::other("a packet without a time stamp"))?;
            take(stamp, direction, &packets[n][..length]);
        }
        Ok(read as usize)
    }
}

impl<const LENGTH: usize, const BATCH: usize> Room<LENGTH, BATCH> {
    #[allow(unsafe_code)]
    fn new() -> Box<Self> {
        Box::new(Room {
            packets: [[0; LENGTH]; BATCH],
            controls: [[0; CONTROL / 8]; BATCH],
            // SAFETY: an address of integers, for which zero bytes are a value.
            addresses: unsafe { core::mem::zeroed() },
        })
    }
}

/// The time in the control message of a packet: `struct cmsghdr` (length, level, type) and a
/// `struct timespec`.
fn stamp(control: &[u64; CONTROL / 8], length: usize) -> Option<u64> {
    let [head, kind, seconds, nanoseconds, ..] = *control;
    let (level, kind) = ((kind & 0xffff_ffff) as i32, (kind >> 32) as i32);
    let is_stamp =
        length >= 32 && head >= 32 && level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPNS;
    is_stamp.then(|| seconds * 1_000_000_000 + nanoseconds)
}

/// A packet socket at device number `index`. Up to `room` bytes may wait to be read.
fn socket(index: u32, only: Option<Way>, room: usize) -> Result<OwnedFd, OsError> {
    let failed = |error: io::Error| OsError::Machine(format!("a packet socket: {error}"));
    let all = libc::ETH_P_ALL as u16;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // Without a protocol it gets nothing until it is bound to its device.
    let socket = rustix::net::socket_with(AddressFamily::PACKET, SocketType::DGRAM, flags, None)
        .map_err(|error| failed(error.into()))?;
    // Beyond the machine's limit, which takes root's rights, or up to it.
    sockopt::set_socket_recv_buffer_size_force(&socket, room)
        .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, room))
        .map_err(|error| failed(error.into()))?;
    option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).map_err(failed)?;
    if only == Some(Way::In) {
        option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1).map_err(failed)?;
    }
    bind(&socket, index, all.to_be()).map_err(failed)?;
    Ok(socket)
}

#[allow(unsafe_code)]
fn option(socket: impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the kernel reads four bytes from `value`, which lives; the descriptor is open.
    let done = unsafe {
        let value = (&raw const value).cast();
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value, 4)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Packets that found no room since the last time.
#[allow(unsafe_code)]
pub(crate) fn statistics(socket: impl AsFd) -> io::Result<u32> {
    // `struct tpacket_stats`: packets, drops.
    let mut stats = [0u32; 2];
    let mut length = size_of_val(&stats) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `stats`, which is that large.
    let done = unsafe {
        let stats = stats.as_mut_ptr().cast();
        let fd = socket.as_fd().as_raw_fd();
        libc::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, stats, &mut length)
    };
    if done == 0 { Ok(stats[1]) } else { Err(io::Error::last_os_error()) }
}

#[allow(unsafe_code)]
fn bind(socket: impl AsFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: an address of integers, for which zero bytes are a value.
    let mut address: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = index as i32;
    // SAFETY: the kernel reads an address of that length, which lives; the descriptor is open.
    let done = unsafe {
        libc::bind(
            socket.as_fd().as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_where_the_kernel_puts_it() {
        assert_eq!(size_of::<libc::cmsghdr>(), 16);
        assert_eq!(std::mem::offset_of!(libc::cmsghdr, cmsg_level), 8);
        let mut control = [0u64; CONTROL / 8];
        control[0] = 32;
        control[1] = (libc::SOL_SOCKET as u64) | ((libc::SCM_TIMESTAMPNS as u64) << 32);
        (control[2], control[3]) = (2, 5);
        assert_eq!(stamp(&control, 32), Some(2_000_000_005));
        assert_eq!(stamp(&control, 16), None);
        control[1] = 0;
        assert_eq!(stamp(&control, 32), None);
    }

    /// With the rights for it: a datagram to this machine leaves and comes by `lo`.
    #[test]
    fn packets_of_a_device_are_seen_each_way_with_their_time() {
        let Ok(lo) = l4s_os::netlink::index_of("lo") else { return println!("skipped: no lo") };
        let taps = [Some(Way::In), Some(Way::Out), None].map(|only| Tap::open(lo, only));
        let [Ok(come), Ok(gone), Ok(both)] = taps else { return println!("skipped: {taps:?}") };
        let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = receiver.local_addr().unwrap().port();
        let sent = BATCH + 3;
        let before = l4s_os::now_ns(libc::CLOCK_REALTIME);
        for number in 0..sent {
            let payload = [number as u8; 500];
            receiver.send_to(&payload, receiver.local_addr().unwrap()).unwrap();
        }
        for mut tap in [come, gone, both] {
            let mut seen: [Vec<u8>; 2] = Default::default();
            tap.drain(|stamp, direction, packet| {
                // Others may use the device, too.
                let ours = packet.len() == SNAP && packet[22..24] == port.to_be_bytes();
                if ours && packet[9] == 17 {
                    assert!(stamp >= before);
                    seen[direction as usize].push(packet[28]);
                }
            })
            .unwrap();
            let all: Vec<u8> = (0..sent as u8).collect();
            for direction in [Way::In, Way::Out] {
                let taken = tap.only.is_none_or(|only| only == direction);
                let expected = if taken { &all[..] } else { &[] };
                assert_eq!(seen[direction as usize], expected, "{direction:?} of {:?}", tap.only);
            }
        }
    }
}
