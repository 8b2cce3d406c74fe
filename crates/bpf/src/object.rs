//! The compiled programs, and libbpf's reports.

use std::cell::RefCell;
use std::ffi::CString;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Once;

use libbpf_rs::{Object, ObjectBuilder, OpenObject, PrintLevel, libbpf_sys, set_print};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};

use crate::BpfError;

/// Why a program was not built, if it was not; made by build.rs.
const FAULTS: &[(&str, Option<&str>)] = &include!(concat!(env!("OUT_DIR"), "/faults.rs"));

/// Why the programs that every kernel can run were not built. They are built together.
pub(crate) const FAULT: Option<&str> = FAULTS[0].1;

/// The compiler of the programs in this build.
///
/// # Errors
/// Why a program is not in it.
pub fn compiler() -> Result<&'static str, &'static str> {
    let fault = FAULTS.iter().find_map(|(_, fault)| *fault);
    fault.map_or(Ok(env!("L4S_CLANG")), Err)
}

/// An ELF file is read in place, as words.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

macro_rules! program {
    ($name:literal) => {{
        static OBJECT: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")));
        Program { name: $name, object: &OBJECT.0 }
    }};
}

pub(crate) const DCTCP: fn() -> Program = || program!("dctcp");
pub(crate) const PRAGUE: fn() -> Program = || program!("prague");
pub(crate) const BBR3: fn() -> Program = || program!("bbr3");
pub(crate) const SOCKETS: fn() -> Program = || program!("sockets");
pub(crate) const DUALPI2: fn() -> Program = || program!("dualpi2");
pub(crate) const ECT1: fn() -> Program = || program!("ect1");
pub(crate) const TRACERS: fn() -> Program = || program!("tracers");

/// A compiled program.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    object: &'static [u8],
}

/// Lines of a report that are kept: the verifier's complaint comes last.
const LOG_LINES: usize = 20;

thread_local! {
    /// The messages of libbpf on this thread.
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps libbpf's warnings instead of printing them.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_print(Some((PrintLevel::Warn, |_, line| {
            LOG.with_borrow_mut(|log| log.push_str(&line));
        })));
    });
    LOG.with_borrow_mut(String::clear);
}

/// The error of doing `what`, with libbpf's report.
pub(crate) fn refused(what: impl Into<String>, error: &libbpf_rs::Error) -> BpfError {
    let what = what.into();
    let log = LOG.with_borrow_mut(std::mem::take);
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied && !log.contains("PROG LOAD LOG") {
        return BpfError::Permission(what);
    }
    let lines: Vec<&str> = log.lines().collect();
    let tail = &lines[lines.len().saturating_sub(LOG_LINES)..];
    let tail = tail.iter().map(|line| format!("\n    {line}")).collect();
    // The chain of causes.
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        reason = format!("{reason}: {next}");
        cause = next.source();
    }
    BpfError::Refused { what, reason, log: tail }
}

/// Keeps a descriptor's object in the kernel, until the file of the BPF file system is removed.
pub fn pin(held: BorrowedFd<'_>, path: &Path) -> Result<(), BpfError> {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    // SAFETY: a system call on a descriptor that is borrowed for it, with a string that lives.
    #[allow(unsafe_code)]
    let done = unsafe { libbpf_sys::bpf_obj_pin(held.as_raw_fd(), name.as_ptr()) };
    if done == 0 {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(-done).into();
    Err(refused(pinning(path), &error))
}

/// The object of a file of the BPF file system.
pub(crate) fn pinned(path: &Path) -> Result<OwnedFd, BpfError> {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    // SAFETY: a system call with a string that lives.
    #[allow(unsafe_code)]
    let fd = unsafe { libbpf_sys::bpf_obj_get(name.as_ptr()) };
    if fd < 0 {
        let error = io::Error::from_raw_os_error(-fd).into();
        return Err(refused(format!("to open {}", path.display()), &error));
    }
    // SAFETY: the kernel just gave us this descriptor, and nobody else has it.
    #[allow(unsafe_code)]
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn pinning(path: &Path) -> String {
    format!("to keep something as {}", path.display())
}

/// The longest name of a congestion control or of a queue discipline (TCP_CA_NAME_MAX and IFNAMSIZ
/// less their ends).
pub const NAME_MAX: usize = 15;

/// Checks that the kernel would take a name.
pub(crate) fn check_name(name: &str) -> Result<(), BpfError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(allowed) {
        return Err(BpfError::Name(name.into()));
    }
    Ok(())
}

/// Whether a map has the constants of a program. libbpf puts the object's name first.
pub(crate) fn is_constants(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().ends_with(".rodata")
}

/// Has the programs of ect1.h look after the connections of that congestion control only; of all
/// where it has no name.
pub(crate) fn for_control(open: &mut OpenObject, control: &str) {
    let constants = open.maps_mut().find(|map| is_constants(map.name()));
    let mut constants = constants.expect("ect1.h has the name among its constants");
    let value = constants.initial_value_mut().expect("constants have a value");
    value[..control.len()].copy_from_slice(control.as_bytes());
}

/// Checks that the kernel describes its types.
pub(crate) fn types() -> Result<(), BpfError> {
    match Path::new("/sys/kernel/btf/vmlinux").metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(BpfError::NoTypes),
        _ => Ok(()),
    }
}

/// Opens a program, to be changed and loaded.
pub(crate) fn open(program: Program) -> Result<OpenObject, BpfError> {
    listen();
    let mut faults = FAULTS.iter().filter(|(name, _)| *name == program.name);
    if let Some(fault) = faults.find_map(|(_, fault)| *fault) {
        return Err(BpfError::NotBuilt(fault));
    }
    types()?;
    ObjectBuilder::default()
        .open_memory(program.object)
        .map_err(|error| refused(format!("to read {}.bpf.o", program.name), &error))
}

/// Gives a program to the kernel.
///
/// The verifier gives up (`EAGAIN`) when its thread has a signal to attend to, and libbpf tries no
/// more than a few times. A child's end is ignored here, but is a signal all the same while the
/// thread that started it has signals blocked, as `posix_spawn` does; then any thread gets it that
/// does not block it. A process that starts others all the time would load nothing.
pub(crate) fn load(open: OpenObject) -> Result<Object, libbpf_rs::Error> {
    let children = SigSet::from(Signal::SIGCHLD);
    let before = children.thread_swap_mask(SigmaskHow::SIG_BLOCK).expect("a mask like any other");
    let loaded = open.load();
    before.thread_set_mask().expect("it was this thread's mask");
    loaded
}

#[cfg(test)]
mod tests {
    use l4s_units::CStruct;
    use libbpf_rs::btf::types::{MemberAttr, Struct};
    use libbpf_rs::btf::{Btf, BtfKind, BtfType};

    use super::*;

    /// The names of the words of a C structure at their places in memory, as its program has them.
    fn words(
        btf: &Btf<'_>,
        structure: BtfType<'_>,
        name: &str,
        at: u32,
        words: &mut Vec<(u32, String)>,
    ) {
        let structure = Struct::try_from(structure).expect("a structure");
        for member in structure.iter() {
            let MemberAttr::Normal { offset } = member.attr else { panic!("a bit field") };
            let own = member.name.expect("a member has a name").to_string_lossy();
            let own = if name.is_empty() { own.into_owned() } else { format!("{name}.{own}") };
            let at = at + offset / 8;
            match btf.type_by_id::<BtfType<'_>>(member.ty).expect("a member has a type") {
                within if within.kind() == BtfKind::Struct => {
                    self::words(btf, within, &own, at, words);
                }
                _ => words.push((at, own)),
            }
        }
    }

    #[track_caller]
    fn assert_layout(program: Program, structure: &str, rust: &impl CStruct) {
        if FAULT.is_some() {
            return;
        }
        let btf = Btf::from_raw(program.name, program.object).unwrap().expect("it has BTF");
        let found = btf.type_by_name::<BtfType<'_>>(structure).expect(structure);
        let mut c = Vec::new();
        words(&btf, found, "", 0, &mut c);
        let names = (0..).step_by(8).zip(rust.names());
        assert_eq!(c, names.collect::<Vec<_>>(), "{structure}");
    }

    #[test]
    fn the_settings_of_dualpi2_are_those_of_its_program() {
        let settings = l4s_aqm::dualpi2::kernel::Settings::default();
        assert_layout(DUALPI2(), "dualpi2_config", &settings);
    }

    #[test]
    fn the_settings_of_prague_are_those_of_its_program() {
        let settings = l4s_cc::prague::kernel::Settings::default();
        assert_layout(PRAGUE(), "prague_config", &settings);
    }
}
