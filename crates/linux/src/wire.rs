//! An end of a cable in the hands of this process: it reads the packets that the kernel sends into the
//! other end, and sends packets to there.
//!
//! A packet socket is all that it takes. The kernel of `--on linux` has no TUN device.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use l4s_os::netlink::{CABLE_ADDRESS, Netlink, index_of};
use l4s_os::{OsError, ethtool};
use rustix::net::sockopt;

use crate::tap::{self, Reader, Way};

/// ETHTOOL_STXCSUM of linux/ethtool.h.
const CHECKSUMS: u32 = 0x17;
/// The most that may wait to be read, and that may be on its way to the other end.
const ROOM: usize = 256 << 20;

/// Room for the longest packet, and some more.
pub(crate) const LONGEST: usize = 2048;
/// Packets that are read at a time, at most.
pub(crate) const BATCH: usize = 8;

/// The end of a cable.
#[derive(Debug)]
pub(crate) struct Wire {
    reader: Reader<LONGEST, BATCH>,
    index: u32,
}

impl Wire {
    /// Makes a cable whose one end, `device`, is for the kernel. The other one is this.
    pub fn lay(device: &str, ipv6: bool, netlink: &mut Netlink) -> Result<Wire, OsError> {
        let inner = format!("{device}-end");
        netlink.add_cable(device, &inner, None)?;
        // The kernel itself does nothing with packets that arrive there.
        netlink.discard_from(&inner, ipv6)?;
        netlink.bring_up_cable(device)?;
        netlink.bring_up_cable(&inner)?;
        // A checksum that is left to the device is complete before it is here, where no device is.
        ethtool::set(device, CHECKSUMS, 0)
            .map_err(|error| OsError::machine(format_args!("checksums of {device}"), error))?;
        let index = index_of(&inner)?;
        let reader = Reader::open(index, Some(Way::In), ROOM)?;
        sockopt::set_socket_send_buffer_size_force(&reader.socket, ROOM)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&reader.socket, ROOM))
            .map_err(|error| OsError::machine("room for packets", error))?;
        Ok(Wire { reader, index })
    }

    /// Reads up to `most` packets that wait: of each the time in nanoseconds of
    /// CLOCK_REALTIME at which it came, and its bytes from the IP header on.
    pub fn read(&mut self, most: usize, mut take: impl FnMut(u64, &[u8])) -> io::Result<()> {
        self.reader.read(most, |stamp, _, packet| take(stamp, packet)).map(drop)
    }

    /// Sends an IP packet; false where the kernel has no room for it.
    #[allow(unsafe_code)]
    pub fn write(&self, packet: &[u8]) -> io::Result<bool> {
        // SAFETY: an address of integers, for which zero bytes are a value.
        let mut address: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
        let protocol = match packet.first().map(|byte| byte >> 4) {
            Some(6) => libc::ETH_P_IPV6,
            _ => libc::ETH_P_IP,
        };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (protocol as u16).to_be();
        address.sll_ifindex = self.index as i32;
        address.sll_halen = CABLE_ADDRESS.len() as u8;
        address.sll_addr[..CABLE_ADDRESS.len()].copy_from_slice(&CABLE_ADDRESS);
        // SAFETY: the kernel reads the packet and an address of that length, both of which live; the
        // descriptor is open.
        let sent = unsafe {
            libc::sendto(
                self.reader.socket.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                libc::MSG_DONTWAIT,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if sent >= 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EINTR) => Ok(false),
            _ => Err(error),
        }
    }

    /// How many packets found no room to wait here.
    pub fn overflowed(&self) -> io::Result<u32> {
        tap::statistics(&self.reader.socket)
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.socket.as_fd()
    }
}
