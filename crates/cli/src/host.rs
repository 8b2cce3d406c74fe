//! `l4s host`: L4S on this machine itself.

mod install;
mod page;

use std::io::IsTerminal;
use std::time::Duration;

use l4s_host::{HostError, Place};
use l4s_os::Host;
use l4s_units::printable_lines;

use crate::args::HostCommand;
use crate::failure::Failure;
use crate::{print, print_more};

/// How often `--watch` looks.
const EVERY: Duration = Duration::from_secs(1);

impl From<HostError> for Failure {
    fn from(error: HostError) -> Failure {
        match error {
            HostError::Input { message, help } => Failure::input_with(message, help),
            HostError::Machine(why) => Failure::Substrate(why),
            HostError::Failed(why) => Failure::Run(why),
        }
    }
}

/// Runs the command.
pub fn host(command: &HostCommand) -> Result<(), Failure> {
    match command {
        HostCommand::Install(options) => install::install(options),
        HostCommand::Set { dev, set } => install::set(dev, set),
        HostCommand::Remove { dev, keep_boot } => remove(dev, *keep_boot),
        HostCommand::Status { watch, json } => status(*watch, *json),
    }
}

fn status(watch: bool, json: bool) -> Result<(), Failure> {
    let place = Place::machine();
    let terminal = std::io::stdout().is_terminal();
    let mut before = None;
    loop {
        let status = l4s_host::status(&place)?;
        if json {
            return print(&page::json(&status)?);
        }
        let page = page::page(&Host::look(), &status, before.as_ref());
        if !watch {
            return print(&page);
        }
        // On a terminal: home, and nothing left of the last page.
        let (start, end) = if terminal { ("\x1b[H\x1b[J", "") } else { ("", "\n") };
        if !print_more(&format!("{start}{}{end}", printable_lines(&page)))? {
            return Ok(());
        }
        before = Some(status);
        std::thread::sleep(EVERY);
    }
}

fn remove(names: &[String], keep_boot: bool) -> Result<(), Failure> {
    let only = (!names.is_empty()).then_some(names);
    let removed = l4s_host::remove(&Place::machine(), only)?;
    let unit = only.is_none() && !keep_boot && l4s_host::boot::disable()?;
    let mut text: String = removed.done.iter().map(|what| format!("removed  {what}\n")).collect();
    if unit {
        text += "removed  systemd unit l4s-host\n";
    }
    if text.is_empty() {
        text += "nothing was installed\n";
    }
    for warning in &removed.warnings {
        say!("warning: {warning}");
    }
    if only.is_some() {
        install::until_next_start();
    }
    print(&text)
}
