//! Registers a congestion control and holds it until its standard input ends:
//!
//! ```text
//! cargo run -p l4s-bpf --example hold prague my_prague
//! ```

use std::io::Read;
use std::process::ExitCode;

use l4s_bpf::Loaded;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let loaded = match arguments.as_slice() {
        [kind, name] if kind == "dctcp" => Loaded::dctcp(name),
        [kind, name] if kind == "prague" => Loaded::prague(name, &l4s_cc::prague::Config::linux()),
        _ => {
            eprintln!("usage: hold dctcp|prague NAME");
            return ExitCode::FAILURE;
        }
    };
    match loaded {
        Ok(loaded) => {
            println!("{} with flags {:#x}", loaded.name(), loaded.flags().bits());
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
