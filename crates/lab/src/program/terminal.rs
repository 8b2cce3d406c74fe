//! The terminal, while the program in the foreground has it.
//!
//! A shell has to find its own process group in front there. That of l4s has no number in the namespace of the
//! program, so the program leads a group of its own, which gets Ctrl-C and Ctrl-Z from the terminal.

use std::io::stdin;

use rustix::io::Errno;
use rustix::process::{Pid, getpgrp, test_kill_process_group};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

/// Whether standard input is a terminal with the group of this process in front.
pub(super) fn is_ours() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
}

/// Puts a process group in front. The caller blocks SIGTTOU, as it is not in front itself.
pub(super) fn give_to(group: Pid) {
    // A terminal that is gone belongs to nobody.
    let _ = tcsetpgrp(stdin(), group);
}

/// The terminal of a program, which is this process's again on drop.
pub(super) struct Lent;

impl Drop for Lent {
    fn drop(&mut self) {
        // It is another job's where this one was stopped, and went on in the background.
        let exists = |group| test_kill_process_group(group) != Err(Errno::SRCH);
        if !tcgetpgrp(stdin()).is_ok_and(exists) {
            give_to(getpgrp());
        }
    }
}
