//! Devices whose far end the test controls, and a view of the packets on the loopback device.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The Internet checksum (RFC 1071) of a header of whole words.
pub fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

const ETHERNET: usize = 14;

/// A TUN or a TAP device.
pub struct Device {
    file: File,
    name: &'static str,
    ethernet: bool,
    index: u32,
    /// Sends packets through the egress of the device.
    socket: OwnedFd,
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A socket that sends and receives whole packets of all devices.
fn packet_socket() -> io::Result<OwnedFd> {
    let protocol = i32::from((libc::ETH_P_ALL as u16).to_be());
    // SAFETY: a plain system call; the new descriptor has no other owner.
    let socket = unsafe {
        let fd = checked(libc::socket(libc::AF_PACKET, libc::SOCK_RAW, protocol))?;
        OwnedFd::from_raw_fd(fd)
    };
    // The socket's buffer holds packets that are queued in a discipline, too.
    for option in [libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE] {
        let size: libc::c_int = 64 << 20;
        let (fd, value) = (socket.as_raw_fd(), (&raw const size).cast());
        // SAFETY: the option is an int.
        checked(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, value, 4) })?;
    }
    Ok(socket)
}

impl Device {
    pub fn open(ethernet: bool) -> io::Result<Device> {
        let name = if ethernet { "tap0" } else { "tun0" };
        let file = File::options().read(true).write(true).open("/dev/net/tun")?;
        // SAFETY: all zeros are a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        let kind = if ethernet { libc::IFF_TAP } else { libc::IFF_TUN };
        request.ifr_ifru.ifru_flags = (kind | libc::IFF_NO_PI) as i16;
        // SAFETY: TUNSETIFF reads an ifreq and writes its name.
        checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
        // SAFETY: the name ends with a zero.
        let index = unsafe { libc::if_nametoindex(request.ifr_name.as_ptr()) };
        Ok(Device { file, name, ethernet, index, socket: packet_socket()? })
    }

    pub fn name(&self) -> &str {
        self.name
    }

    pub fn index(&self) -> u32 {
        self.index
    }

    /// Sends an IP packet out of the device, and returns the packet that arrives at the far end.
    pub fn pass(&mut self, packet: &[u8]) -> Vec<u8> {
        let version_6 = packet[0] >> 4 == 6;
        let kind = if version_6 { libc::ETH_P_IPV6 } else { libc::ETH_P_IP } as u16;
        let mut frame = Vec::new();
        if self.ethernet {
            frame.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
            frame.extend(kind.to_be_bytes());
        }
        frame.extend(packet);
        let sent = self.send(&frame, kind);
        assert!(sent, "{}", io::Error::last_os_error());
        // The kernel sends packets of its own on a new device: search for the packet.
        let skip = if self.ethernet { ETHERNET } else { 0 };
        loop {
            let seen = self.receive();
            let seen = &seen[skip..];
            if seen.len() == packet.len() && seen.ends_with(&packet[packet.len() - 12..]) {
                return seen.to_vec();
            }
        }
    }

    /// A sender for the same device, for another thread.
    pub fn sender(&self) -> io::Result<Sender> {
        Ok(Sender { index: self.index, socket: packet_socket()? })
    }

    /// Sends an unchanged frame out of the device. Returns whether there was room for it.
    pub fn send(&self, frame: &[u8], kind: u16) -> bool {
        send(&self.socket, self.index, frame, kind)
    }

    /// Makes the kernel receive a frame from the far end.
    pub fn deliver(&mut self, frame: &[u8]) {
        // A device that is being removed accepts none.
        let _ = self.file.write(frame);
    }

    /// The next frame that arrives at the far end.
    pub fn receive(&mut self) -> Vec<u8> {
        let mut buffer = vec![0; 2048];
        let length = self.file.read(&mut buffer).unwrap();
        buffer.truncate(length);
        buffer
    }

    /// The next frame, if one arrives within that time.
    pub fn receive_within(&mut self, ms: i32) -> Option<Vec<u8>> {
        let mut poll = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which lives during the call.
        let ready = checked(unsafe { libc::poll(&raw mut poll, 1, ms) }).unwrap();
        (ready == 1).then(|| self.receive())
    }
}

/// Sends frames through the egress of a device.
pub struct Sender {
    index: u32,
    socket: OwnedFd,
}

impl Sender {
    pub fn send(&self, frame: &[u8], kind: u16) -> bool {
        send(&self.socket, self.index, frame, kind)
    }
}

fn send(socket: &OwnedFd, index: u32, frame: &[u8], kind: u16) -> bool {
    // SAFETY: all zeros are a valid address.
    let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    to.sll_family = libc::AF_PACKET as u16;
    to.sll_protocol = kind.to_be();
    to.sll_ifindex = index as i32;
    // SAFETY: the lengths are those of the frame and of the address.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            frame.as_ptr().cast(),
            frame.len(),
            0,
            (&raw const to).cast(),
            size_of_val(&to) as u32,
        )
    };
    sent == frame.len() as isize
}

/// Captures all packets on the loopback device of this namespace.
pub struct Sniffer(OwnedFd);

impl Sniffer {
    pub fn open() -> io::Result<Sniffer> {
        Ok(Sniffer(packet_socket()?))
    }

    /// The number of IPv4 TCP packets with payload so far, by codepoint.
    pub fn codepoints(&mut self) -> [u32; 4] {
        let mut seen = [0; 4];
        let mut buffer = vec![0u8; 1 << 17];
        // SAFETY: all zeros are a valid address.
        let mut from: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        loop {
            let mut from_length = size_of_val(&from) as u32;
            // SAFETY: the lengths are those of the buffer and of the address.
            let length = unsafe {
                libc::recvfrom(
                    self.0.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    libc::MSG_DONTWAIT,
                    (&raw mut from).cast(),
                    &raw mut from_length,
                )
            };
            let Ok(length) = usize::try_from(length) else { return seen };
            // Each packet passes twice: outgoing, where the program may not have seen it, and incoming.
            if from.sll_pkttype == libc::PACKET_OUTGOING || length < ETHERNET + 40 {
                continue;
            }
            let packet = &buffer[ETHERNET..length];
            let header = 20 + usize::from(packet[32] >> 4) * 4;
            if packet[0] == 0x45 && packet[9] == 6 && packet.len() > header {
                seen[usize::from(packet[1] & 3)] += 1;
            }
        }
    }
}
