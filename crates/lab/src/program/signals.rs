//! The signals of a terminal, which are for the program in the foreground.
//!
//! The processes between the terminal and that program block them. A mask is inherited by the processes that are
//! started, so the program itself gets an empty one.

use nix::sys::signal::{SigSet, Signal};

/// Has Ctrl-C and Ctrl-\ pass by this thread and those that it starts later: they are for the program in
/// the foreground, whose end is that of the run.
pub fn leave_signals_to_program() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGQUIT);
    // These can be blocked, so that it cannot fail.
    let _ = signals.thread_block();
}

/// Lets this thread, and the processes that it starts, get every signal again.
pub(super) fn get_signals() {
    // No signal is refused.
    let _ = SigSet::empty().thread_set_mask();
}
