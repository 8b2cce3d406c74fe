//! Switches of a network device (SIOCETHTOOL), those that are one number.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// The number that a command reads.
pub fn get(interface: &str, command: u32) -> io::Result<u32> {
    ask(interface, Value { command, data: 0 })
}

/// Sets the number that a command writes.
pub fn set(interface: &str, command: u32, data: u32) -> io::Result<()> {
    ask(interface, Value { command, data }).map(drop)
}

fn ask(interface: &str, mut value: Value) -> io::Result<u32> {
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
    let mut request = Request { name: [0; libc::IFNAMSIZ], value: &mut value, _rest: [0; 16] };
    let room = request.name.len() - 1;
    for (to, from) in request.name[..room].iter_mut().zip(interface.bytes()) {
        *to = from;
    }
    // SAFETY: SIOCETHTOOL takes a `struct ifreq` that names an interface and points to a command.
    // `Request` is as large (40 B) with the pointer at the same place, the name ends with a zero,
    // and the commands that are given here read and write no more than the `Value` that lives here.
    #[allow(unsafe_code)]
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
    if done == 0 { Ok(value.data) } else { Err(io::Error::last_os_error()) }
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ifreq`, with its union as a pointer.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    value: *mut Value,
    _rest: [u8; 16],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_an_ifreq() {
        assert_eq!(size_of::<Request>(), size_of::<libc::ifreq>());
        assert_eq!(std::mem::offset_of!(Request, value), libc::IFNAMSIZ);
    }
}
