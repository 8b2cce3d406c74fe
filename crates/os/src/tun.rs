//! The two ends of a wire into a network namespace: a TUN device, and the file that holds it.
//!
//! A packet is one `read` or `write`. Without segmentation offload the kernel cuts segments before
//! the device, so that the bottleneck sees the packets of a real link. With it a packet may be up
//! to 64 KiB and comes with a header that says how it is to be cut (virtio 1.2 §5.1.6).

use std::io;
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
    /// Makes the device `name` in the network namespace of this thread. It goes when the file
    /// does. With `gso` packets keep the sender's segmentation.
    pub fn open(name: &str, gso: bool) -> io::Result<Tun> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
        set_device(&file, name, gso)?;
        if gso {
            set_offload(&file)?;
        }
        Ok(Tun { file })
    }

    /// Reads one packet, with the header of [`Offload`] in front if the device has that.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Read> {
        match rustix::io::read(&self.file, buffer) {
            Ok(length) => Ok(Read::Packet(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Read::Empty),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes one packet, with the header of [`Offload`] in front if the device has that.
    #[inline]
    pub fn write(&self, packet: &[u8]) -> io::Result<Written> {
        loop {
            return match rustix::io::write(&self.file, packet) {
                Ok(_) => Ok(Written::Taken),
                Err(Errno::INTR) => continue,
                // No memory or no room; or a packet that the kernel has its doubts about, which is
                // no worse than losing it.
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::INVAL) => {
                    Ok(Written::Refused)
                }
                Err(error) => Err(error.into()),
            };
        }
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

/// How a packet is to be cut: `struct virtio_net_hdr`, in the byte order of this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offload {
    kind: u8,
    /// Payload of each segment.
    size: u16,
}

impl Offload {
    /// Its length.
    pub const LENGTH: usize = 10;
    /// VIRTIO_NET_HDR_GSO_ECN: the packet has CWR set.
    const ECN: u8 = 0x80;

    /// The header in front of a packet.
    ///
    /// # Panics
    /// If there are less than [`Offload::LENGTH`] bytes.
    #[inline]
    pub fn of(header: &[u8]) -> Offload {
        Offload {
            kind: header[1] & !Offload::ECN,
            size: u16::from_ne_bytes([header[4], header[5]]),
        }
    }

    /// The number of packets that a packet with `payload` bytes behind its headers becomes.
    #[inline]
    pub fn segments(self, payload: usize) -> u16 {
        if self.kind == 0 || self.size == 0 {
            return 1;
        }
        // An IP packet has at most 65,575 bytes, so this fits.
        payload.div_ceil(usize::from(self.size)).clamp(1, u16::MAX.into()) as u16
    }
}

/// TUNSETIFF: `_IOW('T', 202, int)`, although it reads and writes a `struct ifreq`.
const TUNSETIFF: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<libc::c_int>(b'T', 202);
/// TUNSETOFFLOAD: `_IOW('T', 208, unsigned int)`, whose argument is the number itself.
const TUNSETOFFLOAD: rustix::ioctl::Opcode =
    rustix::ioctl::opcode::write::<libc::c_uint>(b'T', 208);

#[allow(unsafe_code)]
fn set_device(file: &OwnedFd, name: &str, gso: bool) -> io::Result<()> {
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
    let vnet_header = if gso { libc::IFF_VNET_HDR } else { 0 };
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | vnet_header;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: TUNSETIFF reads one `struct ifreq` from the pointer and writes one back, and nothing
    // else; `request` is one, and is borrowed exclusively by the updater until the call is over.
    unsafe {
        let update = rustix::ioctl::Updater::<TUNSETIFF, libc::ifreq>::new(&mut request);
        rustix::ioctl::ioctl(file, update)?;
    }
    Ok(())
}

#[allow(unsafe_code)]
fn set_offload(file: &OwnedFd) -> io::Result<()> {
    // Checksums may be missing; TCP segments may be large, also those with CWR.
    let offload = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
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
        let error = Tun::open("a-name-of-seventeen", false).unwrap_err();
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
}
