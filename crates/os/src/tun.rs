//! The two ends of a wire into a network namespace: a TUN device, and the file that holds it.
//!
//! A packet is one `read` or `write`, behind a header (virtio 1.2 §5.1.6). The kernel leaves checksums and
//! segmentation to the device: a packet of up to 64 KiB passes at once, and its header says how it is to be cut.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The outcome of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// A packet of this number of bytes.
    Packet(usize),
    /// Nothing waits.
    Empty,
}

/// The outcome of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// The kernel took the packet.
    Taken,
    /// The kernel had no room for it, or did not want it.
    Refused,
}

/// A TUN device, from outside.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
}

impl Tun {
    /// Makes the device `name` in the network namespace of this thread. It goes when the file does.
    pub fn open(name: &str) -> io::Result<Tun> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
        set_device(&file, name)?;
        set_offload(&file)?;
        Ok(Tun { file })
    }

    /// Reads one packet, with its [`Offload`] in front.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Read> {
        match rustix::io::read(&self.file, buffer) {
            Ok(length) => Ok(Read::Packet(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Read::Empty),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes one packet, with its [`Offload`] in front.
    #[inline]
    pub fn write(&self, packet: &[u8]) -> io::Result<Written> {
        written(|| rustix::io::write(&self.file, packet))
    }

    /// Writes one packet, and how it is to be cut.
    #[inline]
    pub fn write_with(&self, offload: Offload, packet: &[u8]) -> io::Result<Written> {
        let header = offload.to_bytes();
        let parts = [IoSlice::new(&header), IoSlice::new(packet)];
        written(|| rustix::io::writev(&self.file, &parts))
    }
}

#[inline]
fn written(mut write: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<Written> {
    loop {
        return match write() {
            Ok(_) => Ok(Written::Taken),
            Err(Errno::INTR) => continue,
            // No memory or no room; or a packet that the kernel has its doubts about, which is
            // no worse than losing it.
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::INVAL) => Ok(Written::Refused),
            Err(error) => Err(error.into()),
        };
    }
}

/// A file that another process opened with [`Tun::open`].
impl From<OwnedFd> for Tun {
    fn from(file: OwnedFd) -> Tun {
        Tun { file }
    }
}

impl From<Tun> for OwnedFd {
    fn from(tun: Tun) -> OwnedFd {
        tun.file
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The work that the kernel left to the device: `struct virtio_net_hdr`, in the byte order of this machine.
///
/// The default is a packet of the link, about whose checksum nothing is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offload {
    flags: u8,
    kind: u8,
    /// Length of all headers of a packet that is to be cut.
    headers: u16,
    /// Payload of each segment.
    size: u16,
    /// The first byte that the checksum covers.
    start: u16,
    /// The place of the checksum, from there.
    place: u16,
}

impl Offload {
    /// Its length.
    pub const LENGTH: usize = 10;
    /// VIRTIO_NET_HDR_F_NEEDS_CSUM: the checksum has only the sum of the pseudo-header.
    const NEEDS_CHECKSUM: u8 = 1;
    /// VIRTIO_NET_HDR_F_DATA_VALID: the checksum is known to be right.
    const VALID: u8 = 2;
    /// VIRTIO_NET_HDR_GSO_TCPV4 and VIRTIO_NET_HDR_GSO_TCPV6.
    const TCP: [u8; 2] = [1, 4];
    /// VIRTIO_NET_HDR_GSO_ECN: the packet has CWR set.
    const ECN: u8 = 0x80;
    /// Where TCP has its checksum.
    const OF_TCP: u16 = 16;

    /// The header of a packet whose checksum is right.
    pub const SOUND: Offload =
        Offload { flags: Offload::VALID, kind: 0, headers: 0, size: 0, start: 0, place: 0 };

    /// The header in front of a packet.
    ///
    /// # Panics
    /// If there are less than [`Offload::LENGTH`] bytes.
    #[inline]
    pub fn of(header: &[u8]) -> Offload {
        let number = |at| u16::from_ne_bytes([header[at], header[at + 1]]);
        Offload {
            flags: header[0],
            kind: header[1] & !Offload::ECN,
            headers: number(2),
            size: number(4),
            start: number(6),
            place: number(8),
        }
    }

    /// A packet of TCP over IPv6 or IPv4 that is to be cut to `size` bytes of payload each. TCP begins at byte
    /// `transport`, its payload at `headers`, and its checksum has only the sum of the pseudo-header.
    pub fn tcp(ipv6: bool, transport: usize, headers: usize, size: usize) -> Offload {
        Offload {
            flags: Offload::NEEDS_CHECKSUM,
            kind: Offload::TCP[usize::from(ipv6)],
            headers: headers as u16,
            size: size as u16,
            start: transport as u16,
            place: Offload::OF_TCP,
        }
    }

    /// Its bytes.
    #[inline]
    pub fn to_bytes(self) -> [u8; Offload::LENGTH] {
        let mut bytes = [0; Offload::LENGTH];
        (bytes[0], bytes[1]) = (self.flags, self.kind);
        for (number, at) in
            [self.headers, self.size, self.start, self.place].into_iter().zip([2, 4, 6, 8])
        {
            bytes[at..at + 2].copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    /// The first byte that the checksum covers, and its place from there, where it is still to be completed.
    #[inline]
    pub fn checksum(self) -> Option<(usize, usize)> {
        (self.flags & Offload::NEEDS_CHECKSUM != 0)
            .then_some((self.start.into(), self.place.into()))
    }

    /// Whether the checksum is known to be right.
    #[inline]
    pub fn is_sound(self) -> bool {
        self.flags & Offload::VALID != 0
    }

    /// The payload of each of the packets that it is to be cut to, if it is.
    #[inline]
    pub fn segment_size(self) -> Option<usize> {
        (self.kind != 0 && self.size != 0).then_some(self.size.into())
    }

    /// The number of packets that a packet with `payload` bytes behind its headers becomes.
    #[inline]
    pub fn segments(self, payload: usize) -> u16 {
        let Some(size) = self.segment_size() else { return 1 };
        // An IP packet has at most 65,575 bytes, so this fits.
        payload.div_ceil(size).clamp(1, u16::MAX.into()) as u16
    }
}

/// TUNSETIFF: `_IOW('T', 202, int)`, although it reads and writes a `struct ifreq`.
const TUNSETIFF: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<libc::c_int>(b'T', 202);
/// TUNSETOFFLOAD: `_IOW('T', 208, unsigned int)`, whose argument is the number itself.
const TUNSETOFFLOAD: rustix::ioctl::Opcode =
    rustix::ioctl::opcode::write::<libc::c_uint>(b'T', 208);

#[allow(unsafe_code)]
fn set_device(file: &OwnedFd, name: &str) -> io::Result<()> {
    // SAFETY: `ifreq` is made of integers, arrays of integers and null pointers, for all of which
    // zero bytes are a value.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    // The last byte stays zero: the kernel reads a C string.
    let room = request.ifr_name.len() - 1;
    if name.is_empty() || name.len() > room || name.contains(['/', '\0']) {
        let what =
            format!("`{name}` is no name of a network device: 1 to {room} bytes without `/`");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: TUNSETIFF reads one `struct ifreq` from the pointer and writes one back, and nothing
    // else; `request` is one, and is borrowed exclusively by the updater until the call is over.
    unsafe {
        let update = rustix::ioctl::Updater::<TUNSETIFF, libc::ifreq>::new(&mut request);
        rustix::ioctl::ioctl(file, update)?;
    }
    Ok(())
}

/// TUN_F_USO4 and TUN_F_USO6 (linux/if_tun.h), which came with Linux 6.2: datagrams may be joined too.
const USO: u32 = 0x20 | 0x40;

fn set_offload(file: &OwnedFd) -> io::Result<()> {
    // Checksums may be missing; TCP segments may be large, also those with CWR.
    let offload = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    try_offload(file, offload | USO).or_else(|_| try_offload(file, offload))
}

#[allow(unsafe_code)]
fn try_offload(file: &OwnedFd, offload: libc::c_uint) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes a number, not a pointer, and refuses bits that it does not know;
    // it touches no memory of ours.
    unsafe {
        let set = rustix::ioctl::IntegerSetter::<TUNSETOFFLOAD>::new_usize(offload as usize);
        rustix::ioctl::ioctl(file, set)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_does_not_fit_is_refused_before_the_kernel_cuts_it() {
        let error = Tun::open("a-name-of-seventeen").unwrap_err();
        // Without the right to open the device at all, the message is about that.
        if error.kind() == io::ErrorKind::InvalidInput {
            assert!(error.to_string().contains("1 to 15 bytes"), "{error}");
        }
    }

    #[test]
    fn opcodes_are_those_of_if_tun_h() {
        assert_eq!(u64::from(TUNSETIFF), 0x4004_54ca);
        assert_eq!(u64::from(TUNSETOFFLOAD), 0x4004_54d0);
    }

    #[test]
    fn a_header_is_what_it_was_made_from() {
        let joined = Offload::tcp(true, 40, 72, 1448);
        assert_eq!(Offload::of(&joined.to_bytes()), joined);
        assert_eq!(joined.to_bytes()[..2], [1, 4]);
        assert_eq!((joined.checksum(), joined.segment_size()), (Some((40, 16)), Some(1448)));
        assert_eq!((joined.segments(1448), joined.segments(1449)), (1, 2));
        assert!(Offload::SOUND.is_sound() && !joined.is_sound());
        assert_eq!(Offload::default().to_bytes(), [0; Offload::LENGTH]);
        assert_eq!(
            (Offload::default().checksum(), Offload::default().segment_size()),
            (None, None)
        );
    }
}
