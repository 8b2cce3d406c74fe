//! The compiled programs, and libbpf's reports.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Once;

use libbpf_rs::{ObjectBuilder, OpenObject, PrintLevel, set_print};

use crate::BpfError;

/// Why there are no programs; made by build.rs.
pub(crate) const FAULT: Option<&str> = include!(concat!(env!("OUT_DIR"), "/fault.rs"));

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
pub(crate) const SOCKETS: fn() -> Program = || program!("sockets");
pub(crate) const ECT1: fn() -> Program = || program!("ect1");

/// A compiled program.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    object: &'static [u8],
}

/// Lines of a report that are kept: the verifier says last what it does not like.
const LOG_LINES: usize = 20;

thread_local! {
    /// What libbpf said on this thread.
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
    if let Some(fault) = FAULT {
        return Err(BpfError::NotBuilt(fault));
    }
    types()?;
    ObjectBuilder::default()
        .open_memory(program.object)
        .map_err(|error| refused(format!("to read {}.bpf.o", program.name), &error))
}
