//! The signals of a session: Ctrl-C and Ctrl-\ are for the program in the foreground, SIGTERM and SIGHUP end it.
//!
//! The processes between the terminal and that program block them. A mask is inherited by the processes that are
//! started, so the program itself gets an empty one. The supervisor reads those that came for this process.

use std::fs;

use l4s_model::Signal;
use nix::sys::signal::{SigHandler, SigSet, Signal as Number, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Those that are blocked.
const HELD: [(Number, Signal); 4] = [
    (Number::SIGINT, Signal::Int),
    (Number::SIGQUIT, Signal::Quit),
    (Number::SIGTERM, Signal::Term),
    (Number::SIGHUP, Signal::Hup),
];

/// Has SIGINT, SIGQUIT, SIGTERM and SIGHUP pass by this thread and those that it starts later. A run with a
/// program in the foreground reads them: before that program began they end the run, then it is for the
/// program to end at Ctrl-C, and the other two end it.
pub fn hold_signals() {
    let ignored = ignored();
    let held = HELD.iter().filter(|(number, _)| ignored >> (*number as i32 - 1) & 1 == 0);
    let mut held: SigSet = held.map(|(number, _)| *number).collect();
    // It would stop a process that writes to the terminal, or takes it back, while that is the program's.
    held.add(Number::SIGTTOU);
    // These can be blocked, so that it cannot fail.
    let _ = held.thread_block();
}

/// The signals that this process ignores, such as SIGHUP below `nohup`, a bit each. One that is blocked as well
/// would be kept and read (signal(7)).
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Lets this thread get every signal again. A program in the background also gets those that this process ignores, as
/// processes in the background of a script do: l4s ends it by one. For one in the foreground `nohup` holds.
pub(super) fn get_signals(in_front: bool) {
    // No signal is refused.
    let _ = SigSet::empty().thread_set_mask();
    for (number, _) in HELD.iter().filter(|_| !in_front) {
        // SAFETY: the default action is no function of this process.
        #[allow(unsafe_code)]
        let _ = unsafe { signal(*number, SigHandler::SigDfl) };
    }
}

/// The signals for this process that it holds.
pub(super) struct Held(SignalFd);

impl Held {
    /// Those that this thread blocks; `None` where there is no descriptor for them.
    pub fn new() -> Option<Held> {
        let blocked = SigSet::thread_get_mask().ok()?;
        let held = HELD.iter().map(|(number, _)| *number).filter(|held| blocked.contains(*held));
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        SignalFd::with_flags(&held.collect(), flags).ok().map(Held)
    }

    /// The next one that came.
    pub fn next(&self) -> Option<Signal> {
        let came = self.0.read_signal().ok()??;
        let is_it = |(number, _): &&(Number, Signal)| *number as u32 == came.ssi_signo;
        HELD.iter().find(is_it).map(|(_, signal)| *signal)
    }
}
