//! Switches of a network device (SIOCETHTOOL): those that are one number, and features by name.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// The number that a command reads.
pub fn get(interface: &str, command: u32) -> io::Result<u32> {
    ask(interface, [command, 0])
}

/// Sets the number that a command writes.
pub fn set(interface: &str, command: u32, data: u32) -> io::Result<()> {
    ask(interface, [command, data]).map(drop)
}

/// Switches a feature off, by the name that `ethtool -k` has for it. A kernel without it has nothing to
/// switch off.
pub fn switch_off(interface: &str, feature: &str) -> io::Result<()> {
    let names = names_of_features(interface)?;
    let Some(number) = names.iter().position(|name| name == feature) else { return Ok(()) };
    let blocks = names.len().div_ceil(32);
    // `struct ethtool_sfeatures`: per block, which features are meant, and which are on.
    let mut command = vec![0; 2 + 2 * blocks];
    (command[0], command[1]) = (ETHTOOL_SFEATURES, blocks as u32);
    command[2 + 2 * (number / 32)] = 1 << (number % 32);
    exchange(interface, &mut command)
}

/// The names of all features, by their numbers.
fn names_of_features(interface: &str) -> io::Result<Vec<String>> {
    // `struct ethtool_sset_info`: the command, a reserved word, 64 bits for sets, and the size of one.
    let sets = 1u64 << ETH_SS_FEATURES;
    let [low, high] = if cfg!(target_endian = "little") { [0, 1] } else { [1, 0] };
    let mut sizes = [ETHTOOL_GSSET_INFO, 0, 0, 0, 0];
    sizes[2 + low] = sets as u32;
    sizes[2 + high] = (sets >> 32) as u32;
    exchange(interface, &mut sizes)?;
    let count = sizes[4] as usize;
    // `struct ethtool_gstrings`: the command, the set, how many, and the strings.
    let mut strings = vec![0; 3 + count * NAME / size_of::<u32>()];
    (strings[0], strings[1], strings[2]) = (ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count as u32);
    exchange(interface, &mut strings)?;
    let bytes: Vec<u8> = strings[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = |bytes: &[u8]| {
        let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    };
    Ok(bytes.chunks(NAME).map(name).collect())
}

/// Of linux/ethtool.h.
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETH_SS_FEATURES: u32 = 4;
/// Bytes of a name (ETH_GSTRING_LEN).
const NAME: usize = 32;

fn ask(interface: &str, value: [u32; 2]) -> io::Result<u32> {
    // `struct ethtool_value`.
    let mut value = value;
    exchange(interface, &mut value)?;
    Ok(value[1])
}

/// Gives the kernel a command, which is as long as the kernel takes it to be, and has its answer in
/// the same place.
fn exchange(interface: &str, command: &mut [u32]) -> io::Result<()> {
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
    let value = command.as_mut_ptr();
    let mut request = Request { name: [0; libc::IFNAMSIZ], value, _rest: [0; 16] };
    let room = request.name.len() - 1;
    for (to, from) in request.name[..room].iter_mut().zip(interface.bytes()) {
        *to = from;
    }
    // SAFETY: SIOCETHTOOL takes a `struct ifreq` that names an interface and points to a command.
    // `Request` is as large (40 B) with the pointer at the same place, and the name ends with a
    // zero. The kernel reads and writes as much as the command is long. That is two words for
    // commands with one number, and the sizes in the structures above for the others; there is room
    // for them.
    #[allow(unsafe_code)]
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
    if done >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `struct ifreq`, with its union as a pointer.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    value: *mut u32,
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

    #[test]
    fn features_have_names() {
        let Ok(names) = names_of_features("lo") else { return println!("skipped: no lo") };
        assert!(names.iter().any(|name| name == "tx-udp-segmentation"), "{names:?}");
        assert!(names.len() > 32 && !names[0].is_empty());
    }
}
