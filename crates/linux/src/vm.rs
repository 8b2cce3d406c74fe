//! A virtual machine with an unmodified kernel of a distribution, to test queue
//! disciplines and BPF programs in the very kernel that people run.
//!
//! QEMU runs it without the help of the processor. Its root is the host's: it sees all
//! files and changes none but those of one folder; it runs one command as root and ends. The kernel
//! and its first process are those that `make vm` made (`linux/vm.sh`, `linux/vm`).
//!
//! Nothing is left behind: its resources are files in memory, of this process, and QEMU dies with
//! the thread that started it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use l4s_os::{OsError, namespace};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;

use crate::console;
use crate::kernel::{VERSION, cache};

/// The program that runs it.
const QEMU: &str = "qemu-system-x86_64";

/// A virtual machine that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vm {
    /// Where the kernel, its modules and its first process are.
    pub folder: PathBuf,
    /// The release of the kernel, as `uname -r` says it.
    pub release: String,
}

/// How a virtual machine runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The source of its clock.
    pub clock: Clock,
    /// Its memory in MiB.
    pub memory_mib: u64,
    /// The time of the host after which it is ended.
    pub limit: Option<Duration>,
}

impl Default for Options {
    fn default() -> Options {
        Options { clock: Clock::Instructions, memory_mib: 2048, limit: None }
    }
}

/// The source of the clock of a virtual machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// The instructions of its one processor, a nanosecond each; it jumps when all wait.
    /// Measurements do not depend on how fast or how busy the host is.
    Instructions,
    /// The host's clock, with two processors.
    Host,
}

impl Vm {
    /// The virtual machine that `make vm` made. The error names a missing part and its remedy.
    pub fn find() -> Result<Vm, String> {
        let series = VERSION.rsplit_once('.').map_or(VERSION, |(series, _)| series);
        Vm::find_series(series)
    }

    /// The one with a kernel of a series, such as 6.12.
    pub fn find_series(series: &str) -> Result<Vm, String> {
        let folder = cache()
            .ok_or("neither HOME nor XDG_CACHE_HOME says where `make vm` puts the virtual machine")?
            .join(format!("l4s/vm-{series}"));
        // The last file that is written when it is made.
        if !folder.join("made-of").is_file() {
            let command = if VERSION.starts_with(series) { "make vm" } else { "linux/vm.sh" };
            let which = if command == "make vm" { String::new() } else { format!(" {series}") };
            return Err(format!(
                "no virtual machine at {}: `{command}{which}` makes it in a clone of l4s {} (two minutes, once)",
                folder.display(),
                env!("CARGO_PKG_VERSION")
            ));
        }
        let found = std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|at| at.join(QEMU).is_file()));
        if !found {
            return Err(format!(
                "no {QEMU} on this machine: `make vm` installs it in a clone of l4s"
            ));
        }
        let release = std::fs::read_to_string(folder.join("release"))
            .map_err(|error| format!("{}/release: {error}", folder.display()))?;
        Ok(Vm { folder, release: release.trim().to_owned() })
    }

    /// Runs `command` as root in the folder `cwd`, with this process's environment. All files that
    /// it writes are lost, except in the folder `writable`. Its output goes to `out` and `err`
    /// meanwhile. Returns its exit code, as a shell would: 128 and more for a signal.
    pub fn run(
        &self,
        command: &[OsString],
        writable: &Path,
        cwd: &Path,
        options: &Options,
        out: &mut (dyn Write + Send),
        err: &mut (dyn Write + Send),
    ) -> Result<u8, OsError> {
        let cannot = |error: io::Error| OsError::machine("starting a virtual machine", error);
        let writable =
            writable.canonicalize().map_err(|error| OsError::machine(writable.display(), error))?;
        let deadline = options.limit.map(|limit| Instant::now() + limit);
        let files = Files::new(&script(command, cwd)).map_err(cannot)?;
        let (said, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| cannot(error.into()))?;
        let mut qemu = Command::new(QEMU);
        qemu.args(self.arguments(&writable, options, &files))
            .stdout(Stdio::piped())
            .stderr(files.words().map_err(cannot)?)
            // A third pipe that it inherits: the output of the guest's port of errors.
            .stdin(theirs)
            // A Ctrl-C at the terminal is for this process, with which it ends.
            .process_group(0);
        die_with_us(&mut qemu);
        let mut machine = Machine(qemu.spawn().map_err(cannot)?);
        // Its end of the pipe must be the last, so that the pipe ends with it.
        drop(qemu);
        let answers = machine.0.stdout.take();
        let in_time = std::thread::scope(|scope| {
            scope.spawn(|| answers.map(|from| pass_on(from, out)));
            scope.spawn(|| pass_on(File::from(said), err));
            let in_time = machine.wait(deadline);
            machine.end();
            in_time
        });
        match (files.code(), in_time.map_err(cannot)?) {
            (Some(code), _) => Ok(code),
            (None, false) => Err(OsError::Run(format!(
                "the virtual machine was ended after {:?}, its limit of time\n{}",
                options.limit.unwrap_or_default(),
                console::tail(&files.console)
            ))),
            (None, true) => Err(OsError::Run(format!(
                "the virtual machine ended before its command did\n{}",
                console::tail(&files.console)
            ))),
        }
    }

    /// The command line of QEMU.
    fn arguments(&self, writable: &Path, options: &Options, files: &Files) -> Vec<OsString> {
        let mut arguments = Arguments::default();
        let mut kernel = String::from(
            // A kernel in trouble ends the machine. There is nothing to protect in it, and of
            // cryptography nothing is used.
            "console=ttyS0 quiet panic=-1 oops=panic mitigations=off cryptomgr.notests",
        );
        match options.clock {
            Clock::Instructions => {
                arguments.add("-accel", "tcg");
                // A nanosecond per instruction; who waits does not wait for the host's clock.
                arguments.add("-icount", "shift=0,sleep=off");
                arguments.add("-smp", "1");
                // While it waits for the host, for a file, its clock jumps from timer to timer: a
                // tick that never stops keeps the jumps small. The clock needs no measuring.
                kernel.push_str(" nohz=off tsc=reliable lpj=4000000");
            }
            Clock::Host => {
                arguments.add("-accel", "tcg,thread=multi");
                arguments.add("-smp", "2");
            }
        }
        arguments.add("-machine", "q35");
        arguments.add("-cpu", "max");
        arguments.add("-m", options.memory_mib.to_string());
        arguments.flag("-nodefaults");
        arguments.flag("-no-reboot");
        arguments.add("-display", "none");
        arguments.add("-kernel", self.folder.join("vmlinuz"));
        arguments.add("-initrd", self.folder.join("initrd"));
        arguments.add("-append", kernel);
        let console = files.path(&files.console);
        arguments.add("-chardev", format!("file,id=console,append=on,path={console}"));
        arguments.add("-serial", "chardev:console");
        for (tag, path, more) in
            [("host", Path::new("/"), ",readonly=on"), ("writable", writable, "")]
        {
            let share = format!("local,id={tag},security_model=none,multidevs=remap{more},path=");
            arguments.add("-fsdev", with_path(&share, path.as_os_str()));
            arguments.add("-device", format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}"));
        }
        let modules = self.folder.join("modules").join(&self.release);
        for (name, what) in [("writable", writable), ("modules", &modules)] {
            let entry = format!("name=opt/l4s/{name},string=");
            arguments.add("-fw_cfg", with_path(&entry, what.as_os_str()));
        }
        let order = files.path(&files.order);
        arguments.add("-fw_cfg", format!("name=opt/l4s/command,file={order}"));
        arguments.add("-device", "virtio-serial-pci");
        let code = files.path(&files.code);
        for (nr, path) in [(1, "/proc/self/fd/1"), (2, "/proc/self/fd/0"), (3, &code)] {
            arguments.add("-chardev", format!("file,id=port{nr},path={path}"));
            arguments.add("-device", format!("virtserialport,chardev=port{nr},nr={nr}"));
        }
        arguments.0
    }
}

/// Arguments of a program.
#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn flag(&mut self, name: &str) {
        self.0.push(name.into());
    }

    fn add(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.extend([name.into(), value.into()]);
    }
}

/// An option of QEMU that ends with a path, in which a comma is written twice.
fn with_path(option: &str, path: &OsStr) -> OsString {
    let mut bytes = option.as_bytes().to_vec();
    for &byte in path.as_bytes() {
        bytes.push(byte);
        if byte == b',' {
            bytes.push(byte);
        }
    }
    OsString::from_vec(bytes)
}

/// The command as a script for the guest's shell.
fn script(command: &[OsString], cwd: &Path) -> Vec<u8> {
    let mut script = b"cd ".to_vec();
    quote(cwd.as_os_str(), &mut script);
    script.extend(b" && exec env -i");
    for (name, value) in std::env::vars_os() {
        let mut set = name;
        set.push("=");
        set.push(value);
        script.push(b' ');
        quote(&set, &mut script);
    }
    for word in command {
        script.push(b' ');
        quote(word, &mut script);
    }
    script.push(b'\n');
    script
}

/// A word, quoted for a shell.
fn quote(word: &OsStr, to: &mut Vec<u8>) {
    to.push(b'\'');
    for &byte in word.as_bytes() {
        match byte {
            b'\'' => to.extend(br"'\''"),
            _ => to.push(byte),
        }
    }
    to.push(b'\'');
}

/// The files of QEMU other than the guest's output: files in memory, of this process.
struct Files {
    order: File,
    code: File,
    console: File,
}

impl Files {
    fn new(order: &[u8]) -> io::Result<Files> {
        let file = |name: &str| -> io::Result<File> {
            Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
        };
        let files = Files { order: file("order")?, code: file("code")?, console: file("console")? };
        (&files.order).write_all(order)?;
        Ok(files)
    }

    /// Where another process of this user finds one.
    fn path(&self, file: &File) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
    }

    /// Where QEMU puts its own words: after those of the guest's console.
    fn words(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(self.path(&self.console))
    }

    /// The exit code that the guest wrote down, if it came to that.
    fn code(&self) -> Option<u8> {
        let mut bytes = [0; 16];
        let read = self.code.read_at(&mut bytes, 0).ok()?;
        std::str::from_utf8(&bytes[..read]).ok()?.trim().parse().ok()
    }
}

/// QEMU. It ends with this.
struct Machine(Child);

impl Machine {
    /// Waits until it ends; false where it did not until the deadline.
    fn wait(&self, deadline: Option<Instant>) -> io::Result<bool> {
        let pidfd = pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty())?;
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.map(|left| Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            });
            let mut end = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
            match poll(&mut end, timeout.as_ref()) {
                Ok(ended) => return Ok(ended > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.end();
    }
}

/// Has a process killed when the thread that starts it ends, however that is.
#[allow(unsafe_code)]
fn die_with_us(command: &mut Command) {
    let us = Some(rustix::process::getpid());
    let ask = move || match namespace::die_with(us) {
        true => Ok(()),
        false => Err(io::ErrorKind::BrokenPipe.into()),
    };
    // SAFETY: between fork and exec this makes two system calls, and takes no lock and no memory.
    unsafe { command.pre_exec(ask) };
}

/// Passes data on at once. A reader that has closed, as `head`, does not stop the guest.
fn pass_on(mut from: impl Read, to: &mut (dyn Write + Send)) {
    let mut bytes = [0; 8192];
    let mut listens = true;
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return,
            Ok(read) if listens => {
                listens = to.write_all(&bytes[..read]).and_then(|()| to.flush()).is_ok();
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_every_word_as_it_is() {
        let words = ["printf", "%s|", "a b", "it's", "$HOME `id` \\ \"x\"", "", "line\nbreak"];
        let command: Vec<OsString> = words.iter().map(OsString::from).collect();
        let script = OsString::from_vec(script(&command, Path::new("/")));
        let output = Command::new("sh").arg("-c").arg(script).output().expect("a shell");
        let expected: String = words[2..].iter().map(|word| format!("{word}|")).collect();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }

    #[test]
    fn a_comma_in_a_path_does_not_end_an_option() {
        assert_eq!(with_path("id=a,path=", OsStr::new("/b,c")), "id=a,path=/b,,c");
    }

    #[test]
    fn a_machine_that_is_not_there_says_how_to_get_it() {
        let why = Vm::find_series("0.1").expect_err("there is none");
        assert!(why.contains("vm-0.1") && why.contains("`linux/vm.sh 0.1`"), "{why}");
    }
}
