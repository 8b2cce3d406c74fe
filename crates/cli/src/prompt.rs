//! A secret from the terminal, which does not show it.

use std::io::{self, BufRead, Read, stdin};

use l4s_live::server::interrupted;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Asks the user of the terminal for a line of at most `most` bytes. Echo is off meanwhile, and the
/// terminal is restored on every path, SIGINT and SIGTERM included.
///
/// # Errors
/// Standard input is not a terminal, cannot be read, or a signal came first.
pub fn secret(prompt: &str, most: u64) -> io::Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ask = async {
        let _silence = Silence::begin()?;
        eprint!("{prompt}");
        let read = move || {
            let mut line = String::new();
            stdin().lock().take(most).read_line(&mut line).map(|_| line)
        };
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.into()))
    };
    let line = runtime.block_on(async {
        tokio::select! {
            // First, so that signals are caught before echo is off.
            biased;
            () = interrupted() => Err(io::ErrorKind::Interrupted.into()),
            line = ask => line,
        }
    });
    eprintln!();
    // The thread that reads does not end before the user presses Enter.
    runtime.shutdown_background();
    line
}

/// The modes that the terminal had, which it gets back on drop.
struct Silence(Termios);

impl Silence {
    fn begin() -> io::Result<Silence> {
        let before = tcgetattr(stdin())?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        // SIGQUIT and SIGTSTP would leave the terminal without echo. 0 disables their characters.
        modes.special_codes[SpecialCodeIndex::VQUIT] = 0;
        modes.special_codes[SpecialCodeIndex::VSUSP] = 0;
        tcsetattr(stdin(), OptionalActions::Flush, &modes)?;
        Ok(Silence(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // Nothing else can be done about a terminal that is gone.
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &self.0);
    }
}
