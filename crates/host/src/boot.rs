//! The same again after each start of the machine: a unit of systemd.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::place::unpin;
use crate::{Device, HostError};

/// The unit.
pub const UNIT: &str = "/etc/systemd/system/l4s-host.service";
const NAME: &str = "l4s-host.service";
/// The command that undoes it, which no other unit has.
const UNDONE: &str = "host remove --keep-boot";

/// Whether systemd is the first process of this machine.
fn is_running() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// Whether there is a systemd to have a unit.
pub fn check() -> Result<(), HostError> {
    if !is_running() && systemctl(&["--version"]).is_err() {
        return Err(HostError::Machine("--boot: this machine has no systemd".to_owned()));
    }
    Ok(())
}

/// Whether there is a unit.
pub fn is_enabled() -> bool {
    Path::new(UNIT).exists()
}

/// Has systemd run this program with these arguments at each start, once there are those devices;
/// and now, so that it is known to work and the unit matches the installation.
pub fn enable(program: &Path, arguments: &[&str], devices: &[Device]) -> Result<(), HostError> {
    check()?;
    // Without udev systemd would wait for these devices in vain.
    let names = devices.iter().map(|device| device.name.as_str());
    let awaited: Vec<&str> = names.filter(|_| Path::new("/run/udev/control").exists()).collect();
    let failed = |error: std::io::Error| HostError::failed(UNIT, error);
    check_ours(Path::new(UNIT))?;
    fs::write(UNIT, unit(program, arguments, &awaited)).map_err(failed)?;
    // Links of an earlier unit go, which may be to other devices.
    let done = systemctl(&["reenable", NAME]).and_then(|()| match is_running() {
        true => systemctl(&["start", NAME]),
        false => Ok(()),
    });
    done.inspect_err(|_| {
        let _ = systemctl(&["disable", NAME]);
        let _ = unpin(Path::new(UNIT));
        let _ = systemctl(&["daemon-reload"]);
    })
}

/// Ends that; whether there was anything to end.
pub fn disable() -> Result<bool, HostError> {
    if !is_enabled() {
        return Ok(false);
    }
    check_ours(Path::new(UNIT))?;
    systemctl(&["disable", NAME])?;
    if is_running() {
        systemctl(&["stop", NAME])?;
    }
    unpin(Path::new(UNIT))?;
    if is_running() {
        systemctl(&["daemon-reload"])?;
    }
    Ok(true)
}

/// Refuses to replace or remove a unit of that name that l4s did not write: another program's, or a
/// link to it.
fn check_ours(path: &Path) -> Result<(), HostError> {
    let kind = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(HostError::failed(path.display(), error)),
    };
    let ends = format!(" {UNDONE}");
    let is_ours = kind.is_file()
        && fs::read_to_string(path).is_ok_and(|text| {
            text.lines().any(|line| line.starts_with("ExecStop=") && line.ends_with(&ends))
        });
    match is_ours {
        true => Ok(()),
        false => Err(HostError::Machine(format!(
            "{} is there, and l4s did not write it: move it away",
            path.display()
        ))),
    }
}

/// Devices that are awaited are so in two ways. `Wants` has a start of the machine wait for them, for
/// as long as systemd waits for devices (90 s). `WantedBy` has it done when one comes later still.
///
/// `ExecStop` is run when the machine is turned off, too: the unit must outlive it.
fn unit(program: &Path, arguments: &[&str], awaited: &[&str]) -> String {
    let program = program.to_string_lossy();
    let words = arguments.iter().map(|word| quoted(word).replace('$', "$$"));
    let devices: String = awaited.iter().map(|name| format!(" {}", device_unit(name))).collect();
    format!(
        "[Unit]\n\
         Description=L4S: {}\n\
         After=network.target systemd-sysctl.service{devices}\n\
         Wants=network.target{devices}\n\
         RequiresMountsFor=\"{}\"\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart={program} {}\n\
         ExecStop={program} {UNDONE}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target{devices}\n",
        arguments.join(" ").replace('%', "%%"),
        program.replace('%', "%%"),
        words.collect::<Vec<_>>().join(" "),
        program = quoted(&program),
    )
}

/// The unit that systemd has for a network device (systemd.unit, "String escaping").
fn device_unit(name: &str) -> String {
    let mut unit = "sys-subsystem-net-devices-".to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'.' => unit.push(byte.into()),
            _ => unit += &format!("\\x{byte:02x}"),
        }
    }
    unit + ".device"
}

/// A word as units have it (systemd.service, "Command lines"), except for `$`, which is literal in the
/// name of the program.
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{escaped}\"")
}

fn systemctl(arguments: &[&str]) -> Result<(), HostError> {
    let done = Command::new("systemctl").args(arguments).output();
    match done {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => {
            Err(HostError::failed("systemctl", String::from_utf8_lossy(&done.stderr).trim()))
        }
        Err(error) => Err(HostError::failed("systemctl", error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_says_what_is_run() {
        let words = ["host", "install", "--dev", "a\"b%$"];
        let unit = unit(Path::new("/opt/$%/l4s"), &words, &["up-link"]);
        let line = |wanted: &str| assert!(unit.lines().any(|line| line == wanted), "{unit}");
        line("ExecStart=\"/opt/$%%/l4s\" \"host\" \"install\" \"--dev\" \"a\\\"b%%$$\"");
        line("ExecStop=\"/opt/$%%/l4s\" host remove --keep-boot");
        line("RequiresMountsFor=\"/opt/$%%/l4s\"");
        line("Wants=network.target sys-subsystem-net-devices-up\\x2dlink.device");
        line("WantedBy=multi-user.target sys-subsystem-net-devices-up\\x2dlink.device");
    }

    #[test]
    fn a_unit_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        check_ours(&path).unwrap();
        fs::write(&path, "[Service]\nExecStart=/usr/bin/other\n").unwrap();
        let error = check_ours(&path).unwrap_err().to_string();
        assert!(error.ends_with("l4s did not write it: move it away"), "{error}");
        fs::write(&path, unit(Path::new("/l4s"), &["host", "install"], &[])).unwrap();
        check_ours(&path).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        check_ours(&link).unwrap_err();
    }

    #[test]
    fn where_nobody_tells_of_devices_none_is_awaited() {
        let unit = unit(Path::new("/l4s"), &["host", "install"], &[]);
        assert!(!unit.contains(".device") && unit.contains("\nWants=network.target\n"), "{unit}");
    }
}
