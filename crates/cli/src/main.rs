//! `l4s`: the command line.
//!
//! Results go to stdout, everything else to stderr. The exit code says how it went: 0 done, 1 a
//! run or an assertion failed, 2 bad input, 3 this machine cannot run that substrate.

/// Prints a line to stderr, without control characters.
macro_rules! say {
    ($($text:tt)*) => {
        crate::print_aside(&format!("{}\n", format_args!($($text)*)))
    };
}

mod args;
mod asserts;
mod catalog;
mod chance;
mod check;
mod cluster;
mod compare;
mod doctor;
mod evaluate;
mod failure;
mod figures;
mod folder;
mod forecast;
mod grow;
mod headline;
#[cfg(kernels)]
mod host;
#[cfg(feature = "full")]
mod live;
mod measured;
mod memory;
mod notes;
mod paper;
mod parallel;
mod program_files;
#[cfg(feature = "full")]
mod prompt;
mod report;
mod run;
mod scratch;
mod shell;
mod show;
mod table;
mod trace;
mod unsupported;
mod validate;
#[cfg(kernels)]
mod vm;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};
use failure::Failure;
use l4s_units::printable_lines;

fn main() -> ExitCode {
    // A run starts this program again in other roles. They are not for people, so not in the help.
    #[cfg(kernels)]
    if let Some(code) = l4s_substrate::reenter(std::env::args().nth(1).as_deref()) {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        // The message repeats the user's words.
        Err(error) if error.use_stderr() => {
            let program = shell::misplaced::program().map(|failure| failure.report());
            print_aside(&program.unwrap_or_else(|| error.render().to_string()));
            return ExitCode::from(2);
        }
        Err(help) => help.exit(),
    };
    let done = match args.command {
        Command::Run(options) => run::run(&options),
        Command::Shell(options) => match shell::shell(&options) {
            Ok(code) => return ExitCode::from(code),
            Err(failure) => Err(failure),
        },
        #[cfg(feature = "full")]
        Command::Live(options) => live::live(&options),
        #[cfg(not(feature = "full"))]
        Command::Live(_) => Err(Failure::left_out("l4s live")),
        Command::List => catalog::list(),
        Command::Show { scenario, set } => show::show(&scenario, &set),
        Command::Paper(options) => paper::paper(&options),
        Command::Evaluate(options) => {
            evaluate::evaluate("evaluate", &l4s_evaluate::CONTROLS, &options)
        }
        Command::EvaluateAqm(options) => {
            evaluate::evaluate("evaluate-aqm", &l4s_evaluate::DISCIPLINES, &options)
        }
        Command::Aqm { kind, profile } => catalog::aqm(kind.as_deref(), profile.as_deref()),
        Command::Cc { kind, profile } => catalog::cc(kind.as_deref(), profile.as_deref()),
        Command::Trace { command, show, to } => trace::trace(command, &show, &to),
        Command::Report { folders, out, open } => report::report(&folders, out.as_deref(), open),
        Command::Compare { before, after, out, json } => {
            compare::compare(&before, &after, out.as_deref(), json)
        }
        Command::Validate(options) => validate::validate(&options),
        Command::Doctor => doctor::doctor(),
        #[cfg(kernels)]
        Command::Host { command } => host::host(&command),
        #[cfg(not(kernels))]
        Command::Host { .. } => Err(Failure::left_out("l4s host")),
        #[cfg(kernels)]
        Command::Vm(options) => match vm::vm(&options) {
            Ok(code) => return ExitCode::from(code),
            Err(failure) => Err(failure),
        },
        #[cfg(not(kernels))]
        Command::Vm(_) => Err(Failure::left_out("l4s vm")),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "l4s", &mut text);
            print(&String::from_utf8_lossy(&text))
        }
        Command::Man { dir } => std::fs::create_dir_all(&dir)
            .and_then(|()| clap_mangen::generate_to(Args::command(), &dir))
            .map_err(|error| Failure::Run(format!("{}: {error}", dir.display()))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            print_aside(&failure.report());
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints to stderr without control characters. A terminal that is gone shows nothing, and a run has its results
/// all the same.
fn print_aside(text: &str) {
    let _ = std::io::stderr().write_all(printable_lines(text).as_bytes());
}

/// Prints to stdout without control characters: names and values of scenarios and of result folders
/// are not trusted.
fn print(text: &str) -> Result<(), Failure> {
    print_raw(&printable_lines(text))
}

/// Prints to stdout including control characters.
fn print_raw(text: &str) -> Result<(), Failure> {
    print_more(text).map(drop)
}

/// The same; whether more may follow. A reader that closes the pipe, as `head` does, has seen enough.
fn print_more(text: &str) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Run(format!("stdout: {error}"))),
        Ok(()) => Ok(true),
    }
}
