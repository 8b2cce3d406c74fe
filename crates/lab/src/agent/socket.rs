//! Sockets: their options, and TCP_INFO.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use l4s_cc::prague::kernel::Reading;
use l4s_os::reason;
use l4s_units::Duration;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};

use super::{Hooks, ReadSocket};
use crate::message::Shows;
use crate::{PragueSample, TcpSample};
use l4s_os::{OsError, namespace};

/// A TCP socket with this congestion control, bound to a port of `address`.
pub(super) fn tcp(address: SocketAddr, cc: &str) -> Result<OwnedFd, OsError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family(address.ip()), SocketType::STREAM, flags, Some(ipproto::TCP))
        .map_err(|error| OsError::machine("a TCP socket", error))?;
    set_control(&socket, cc)?;
    sockopt::set_socket_reuseaddr(&socket, true)
        .and_then(|()| rustix::net::bind(&socket, &address))
        .map_err(|error| OsError::machine(format_args!("TCP at {address}"), error))?;
    Ok(socket)
}

/// Gives a TCP socket this congestion control.
pub(super) fn set_control(socket: impl AsFd, cc: &str) -> Result<(), OsError> {
    sockopt::set_tcp_congestion(socket, cc).map_err(|error| refused(cc, error))
}

/// A UDP socket, bound to `address`, all of whose packets carry this ECN.
pub(super) fn udp(address: SocketAddr, ecn: u8) -> Result<OwnedFd, OsError> {
    let bound = || {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let family = family(address.ip());
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
        set_ecn(&socket, address.is_ipv6(), ecn)?;
        rustix::net::bind(&socket, &address)?;
        Ok::<_, Errno>(socket)
    };
    bound().map_err(|error| OsError::machine(format_args!("UDP at {address}"), error))
}

/// All packets of a UDP socket carry this ECN from now on.
pub(super) fn set_ecn(socket: &OwnedFd, ipv6: bool, ecn: u8) -> rustix::io::Result<()> {
    match ipv6 {
        false => sockopt::set_ip_tos(socket, ecn),
        true => sockopt::set_ipv6_tclass(socket, ecn.into()),
    }
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    }
}

/// The kernel does not let a socket have this congestion control.
fn refused(cc: &str, error: Errno) -> OsError {
    let has = namespace::get("net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    OsError::Machine(match error {
        Errno::NOENT => format!(
            "this kernel has no congestion control `{cc}`; it has {has}; where it was built with \
             one as a module, `modprobe tcp_{cc}` as root adds it"
        ),
        error => format!("the congestion control `{cc}`, of {has}: {}", reason(&error.into())),
    })
}

/// Makes TCP pace this socket, also where its congestion control would not.
///
/// A limit of the rate switches pacing on, if it is a limit at all (~0 is none). This one is never
/// met: 2⁶² bytes per second.
pub(super) fn pace(socket: impl AsFd) -> Result<(), OsError> {
    let limit: u64 = 1 << 62;
    set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &limit.to_ne_bytes())
        .map_err(|error| OsError::machine("pacing of a TCP socket (SO_MAX_PACING_RATE)", error))
}

/// Sets SO_RCVBUF, as root beyond the limit for users, too; from then on the buffer does not follow
/// the flow.
pub(super) fn set_receive_buffer(socket: impl AsFd, bytes: u64) -> Result<(), OsError> {
    let size = bytes as usize;
    let set = sockopt::set_socket_recv_buffer_size_force(&socket, size)
        .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, size));
    is_set(
        set.and_then(|()| sockopt::socket_recv_buffer_size(&socket)),
        size,
        "receive",
        "rmem_max",
    )
}

/// Sets SO_SNDBUF in the same way.
pub(super) fn set_send_buffer(socket: impl AsFd, bytes: u64) -> Result<(), OsError> {
    let size = bytes as usize;
    let set = sockopt::set_socket_send_buffer_size_force(&socket, size)
        .or_else(|_| sockopt::set_socket_send_buffer_size(&socket, size));
    is_set(set.and_then(|()| sockopt::socket_send_buffer_size(&socket)), size, "send", "wmem_max")
}

/// The bytes that must have come for a socket to be readable, before its end (SO_RCVLOWAT).
pub(super) fn set_low_water(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    let bytes = (bytes as libc::c_int).to_ne_bytes();
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes)
}

/// Checks that a buffer has the size that was asked for: Linux doubles it, and gives users less in
/// silence.
fn is_set(
    found: rustix::io::Result<usize>,
    size: usize,
    which: &str,
    limit: &str,
) -> Result<(), OsError> {
    match found {
        Ok(found) if found >= 2 * size => Ok(()),
        Ok(found) => Err(OsError::Machine(format!(
            "this user may have a {which} buffer of {} B only, and {size} B are asked for: run as root, or \
             raise the limit (sysctl net.core.{limit})",
            found / 2
        ))),
        Err(error) => Err(OsError::machine(format_args!("the {which} buffer"), error)),
    }
}

#[allow(unsafe_code)]
fn set_option(socket: impl AsFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads as many bytes as are said from `value`, which lives and has that
    // size; the descriptor is borrowed, so it is open.
    let done = unsafe {
        let length = value.len() as libc::socklen_t;
        libc::setsockopt(socket, level, name, value.as_ptr().cast(), length)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// As much of `struct tcp_info` (linux/tcp.h) as is read here.
const INFO_BYTES: usize = 200;

/// The kernel's state of a connection. `paced` says whether its pacing rate means anything.
pub(super) fn sample(socket: impl AsFd, paced: bool) -> Result<TcpSample, OsError> {
    let info = info(socket).map_err(|error| OsError::run("TCP_INFO", error))?;
    Ok(read(&info, paced))
}

/// Bytes that the socket has taken and TCP has not sent yet, not once.
pub(super) fn unsent(socket: impl AsFd) -> Result<u32, OsError> {
    let info = info(socket).map_err(|error| OsError::run("TCP_INFO", error))?;
    Ok(u32_at(&info, 144))
}

/// Bytes that TCP has received in order.
pub(super) fn received(socket: impl AsFd) -> Result<u64, OsError> {
    let info = info(socket).map_err(|error| OsError::run("TCP_INFO", error))?;
    Ok(u64_at(&info, 128))
}

fn u32_at(info: &[u8; INFO_BYTES], at: usize) -> u32 {
    u32::from_ne_bytes(info[at..at + 4].try_into().unwrap())
}

fn u64_at(info: &[u8; INFO_BYTES], at: usize) -> u64 {
    u64::from_ne_bytes(info[at..at + 8].try_into().unwrap())
}

#[allow(unsafe_code)]
fn info(socket: impl AsFd) -> io::Result<[u8; INFO_BYTES]> {
    let mut info = [0; INFO_BYTES];
    let mut length = INFO_BYTES as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes to `info`, which is that large and for
    // which every byte is valid; `length` lives; the descriptor is borrowed, so it is open.
    let done = unsafe {
        let info = info.as_mut_ptr().cast();
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, info, &mut length)
    };
    if done == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
}

/// Reads the fields, at their offsets, which the kernel promises to keep. A kernel that knows
/// fewer leaves them zero.
fn read(info: &[u8; INFO_BYTES], paced: bool) -> TcpSample {
    let u32_at = |at| u32_at(info, at);
    let u64_at = |at| u64_at(info, at);
    let srtt_us = u32_at(68);
    let ssthresh = u32_at(76);
    TcpSample {
        cwnd: u32_at(80),
        // TCP_INFINITE_SSTHRESH.
        ssthresh: (ssthresh < 0x7fff_ffff).then_some(ssthresh),
        srtt: (srtt_us > 0).then(|| Duration::from_micros(srtt_us.into())),
        retransmits: u32_at(100).into(),
        // ~0 before the first RTT.
        pacing_bytes_per_s: Some(u64_at(104)).filter(|&rate| paced && rate != u64::MAX),
        delivered: u32_at(192).into(),
        delivered_ce: u32_at(196).into(),
        prague: None,
    }
}

/// Where sockets export the state of their Prague.
pub(super) enum Prague {
    Nowhere,
    Map(Box<dyn ReadSocket>),
    Info,
}

impl Prague {
    pub(super) fn new(shows: Shows, hooks: &dyn Hooks) -> Result<Prague, OsError> {
        Ok(match shows {
            Shows::Nowhere => Prague::Nowhere,
            Shows::Map(map) => Prague::Map(hooks.sockets(map).map_err(|why| {
                OsError::Machine(format!("the state of the sockets' Prague: {why}"))
            })?),
            Shows::Info => Prague::Info,
        })
    }

    /// The state that a socket exports.
    pub(super) fn read(&self, socket: impl AsFd) -> Result<Option<PragueSample>, OsError> {
        match self {
            Prague::Nowhere => Ok(None),
            Prague::Map(map) => map.read(socket.as_fd()).map_err(OsError::Run),
            Prague::Info => cc_info(socket).map_err(|error| OsError::run("TCP_CC_INFO", error)),
        }
    }
}

/// The state that linux/tcp_prague.c puts into `union tcp_cc_info`, which has room for five words.
/// They are the score and its highest in 2^-16; smoothed RTT, deviation and depth, in microseconds,
/// in the lower three bytes of the others. Their highest bytes are the rounds.
#[allow(unsafe_code)]
fn cc_info(socket: impl AsFd) -> io::Result<Option<PragueSample>> {
    let mut words = [0u32; 5];
    let mut length = size_of_val(&words) as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes to `words`, which is that large and for
    // which every byte is valid; `length` lives; the descriptor is borrowed, so it is open.
    let done = unsafe {
        let words = words.as_mut_ptr().cast();
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_CC_INFO, words, &mut length)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    if length as usize != size_of_val(&words) {
        return Ok(None);
    }
    let score = |word: u32| i64::from(word as i32) << 8;
    let high = words.map(|word| word >> 24);
    let micros = words.map(|word| word & 0xff_ffff);
    let detector = Reading {
        score: score(words[0]),
        max: score(words[1]),
        rounds: high[2] << 16 | high[3] << 8 | high[4],
        srtt_us: micros[2],
        mdev_us: micros[3],
        depth_us: micros[4],
    };
    Ok(Some(PragueSample { detector, alpha: None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn offsets_are_those_of_the_kernel_structure() {
        // The C library's declaration ends before the newest fields.
        assert_eq!(std::mem::offset_of!(libc::tcp_info, tcpi_rtt), 68);
        assert_eq!(std::mem::offset_of!(libc::tcp_info, tcpi_snd_ssthresh), 76);
        assert_eq!(std::mem::offset_of!(libc::tcp_info, tcpi_snd_cwnd), 80);
        assert_eq!(std::mem::offset_of!(libc::tcp_info, tcpi_total_retrans), 100);
        assert_eq!(std::mem::offset_of!(libc::tcp_info, tcpi_pacing_rate), 104);
        assert_eq!(std::mem::offset_of!(libc::tcp_info, tcpi_bytes_received), 128);
        assert_eq!(std::mem::offset_of!(libc::tcp_info, tcpi_notsent_bytes), 144);
    }

    #[test]
    fn a_new_connection_has_a_window_of_ten_and_no_threshold() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sample = sample(&client, false).unwrap();
        assert_eq!((sample.cwnd, sample.ssthresh), (10, None));
        assert!(sample.srtt.is_some_and(|srtt| srtt < Duration::from_millis(100)), "{sample:?}");
        assert_eq!(sample.pacing_bytes_per_s, None);
    }
}
