//! `l4s live`: a page that shows a scenario as it runs.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write, stdin};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use l4s_live::Meter;
use l4s_live::document::Presets;
use l4s_live::server::{BindError, Limits, Options, Server, Token, interrupted};
use l4s_scenario::{Files, Plan, bundled, files, source};
use l4s_substrate::{Lanes, Sim};
use tempfile::TempPath;

use crate::args::{self, Live, LiveSubstrate};
use crate::failure::Failure;
use crate::measured::prepare;
use crate::print;
use crate::prompt::secret;

/// The variable that may hold the token.
const VARIABLE: &str = "L4S_LIVE_TOKEN";
/// No token is longer.
const MOST_BYTES: u64 = 4096;

/// Serves the page until it is interrupted.
pub fn live(options: &Live) -> Result<(), Failure> {
    let (name, text) = source(&options.scenario)?;
    let files = files(&options.scenario);
    let plan = Plan::parse_with(&name, &text, &options.set, &files)?;
    if plan.points.iter().any(|point| !point.scenario.programs.is_empty()) {
        let why = "live runs support no programs: found `[[program]]`, expected none; use `l4s run --on kernel`";
        return Err(Failure::input(format!("{}: {why}", options.scenario)));
    }
    let presets = presets(&options.scenario, &plan, &files)?;
    let token = token(options)?;
    let (substrate, mut limits) = substrate(options, &plan)?;
    // The other half is for memory that the count does not include, and for other processes.
    let half = crate::memory::free().map_or(u64::MAX, |free| (free / 2.0) as u64);
    limits.memory = limits.memory.min(half);
    let server = Server::bind(options.listen, Options { substrate, presets, token, limits })
        .map_err(|error| refused(options, &error))?;
    let url = server.url();
    print(&format!("{url}\n"))?;
    say!("{} runs while that page is open; Ctrl-C ends it", options.scenario);
    let _shown = if options.open { open(&url, server.has_token()) } else { None };
    server.run(interrupted).map_err(|error| Failure::Run(format!("l4s live: {error}")))
}

/// The substrate of the lanes. In real time there is one session at a time, whose place is soon free
/// for the next.
fn substrate(options: &Live, plan: &Plan) -> Result<(Box<dyn Lanes<Meter>>, Limits), Failure> {
    let limits = Limits::default();
    match options.on {
        LiveSubstrate::Sim => Ok((Box::new(Sim), limits)),
        LiveSubstrate::Kernel => {
            let sockets = prepare(args::Substrate::Kernel, plan, &options.scenario)?;
            let unwatched = Duration::from_secs(2);
            Ok((sockets.lanes()?, Limits { sessions: 1, unwatched, ..limits }))
        }
    }
}

fn presets(scenario: &str, plan: &Plan, files: &Files) -> Result<Presets, Failure> {
    let bundled = bundled::find(scenario).map(|bundled| bundled.name);
    let name = bundled.map_or(scenario.to_owned(), |name| format!("{name}.toml"));
    let presets = Presets::with_files(plan, &name, bundled, files);
    let presets = presets.map_err(|fault| Failure::Input {
        message: format!("{scenario}: `{}`: {fault}", fault.field),
        help: fault.help,
    })?;
    let (offered, all) = (presets.list().len(), plan.points.len());
    if offered < all {
        say!("note: the page offers the first {offered} of {all} runs; --set chooses others");
    }
    Ok(presets)
}

fn refused(options: &Live, error: &BindError) -> Failure {
    let help = match error {
        BindError::InUse { free: Some(free), .. } => {
            let scenario = match options.scenario.as_str() {
                "live" => String::new(),
                other => format!(" {other}"),
            };
            format!("; the next that is free: l4s live{scenario} --listen {free}")
        }
        _ => String::new(),
    };
    Failure::Substrate(format!("l4s live: {error}{help}"))
}

/// The token from the command line, a file, or an environment variable.
fn token(options: &Live) -> Result<Option<Token>, Failure> {
    let (found, from) = if let Some(token) = &options.token {
        say!(
            "note: every user of this machine can read --token; --token-file and {VARIABLE} keep it \
             to you"
        );
        (token.clone(), "--token".to_owned())
    } else if let Some(path) = &options.token_file {
        (read_token(path)?, format!("--token-file {}", path.display()))
    } else if let Some(token) = std::env::var_os(VARIABLE) {
        (token.into_string().unwrap_or_default(), VARIABLE.to_owned())
    } else {
        return Ok(None);
    };
    let token = Token::new(found.trim());
    token.map(Some).map_err(|error| Failure::input(format!("{from}: {error}")))
}

/// The first line of a file, or of standard input.
fn read_token(path: &Path) -> Result<String, Failure> {
    let unreadable = |error| Failure::input(format!("--token-file {}: {error}", path.display()));
    let mut line = String::new();
    if path == Path::new("-") {
        if stdin().is_terminal() {
            return secret("token: ", MOST_BYTES).map_err(unreadable);
        }
        stdin().lock().take(MOST_BYTES).read_line(&mut line).map_err(unreadable)?;
        return Ok(line);
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata().map_err(unreadable)?.permissions().mode();
        if mode & 0o077 != 0 {
            say!("note: others can read {0}; chmod 600 {0} keeps it to you", path.display());
        }
    }
    BufReader::new(file).take(MOST_BYTES).read_line(&mut line).map_err(unreadable)?;
    Ok(line)
}

/// Shows the page in the browser. Where there is none, the address was printed.
///
/// Every user of this machine can read the command line of the opener. So an address with a token
/// is opened through a file that redirects there. Nobody else can read that file; it exists as
/// long as the returned path.
fn open(url: &str, secret: bool) -> Option<TempPath> {
    let leads = if secret { Some(leading_to(url)) } else { None };
    let leads = match leads.transpose() {
        Ok(leads) => leads,
        Err(error) => {
            say!("note: no file to open the page by: {error}; open the page by hand");
            return None;
        }
    };
    let address = leads.as_ref().map_or(url.into(), |file| file.as_os_str().to_owned());
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // It is waited for, so that nothing is left of it.
        Ok(mut browser) => drop(std::thread::spawn(move || browser.wait())),
        Err(error) => say!("note: {opener}: {error}; open the page by hand"),
    }
    leads
}

/// A page that leads to this address, which has nothing in it that HTML would take for markup.
fn leading_to(url: &str) -> std::io::Result<TempPath> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = runtime.filter(|folder| folder.is_dir()).unwrap_or_else(std::env::temp_dir);
    // With the rights of its owner alone, and under a name that nobody can have taken.
    let mut file =
        tempfile::Builder::new().prefix("l4s-live-").suffix(".html").tempfile_in(folder)?;
    writeln!(
        file,
        "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\
         <meta http-equiv=refresh content=\"0; url={url}\"><a href=\"{url}\">l4s live</a>"
    )?;
    Ok(file.into_temp_path())
}
