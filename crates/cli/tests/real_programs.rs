//! iperf3, nginx with curl, and ping behind the bottleneck, with their scenarios in programs/.
//!
//! `scripts/setup.sh --programs` installs them; if one is missing, its test prints that. `make
//! test-programs` runs all of programs/, with the durations of the tables in docs/results/programs.md.
#![cfg(target_os = "linux")]

#[allow(dead_code)] // It uses `done` alone.
mod real;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use l4s_measure::{FlowRow, Results};
use real::done;
use tempfile::TempDir;

/// The flows of the programs in a run of programs/NAME/scenario.toml, and its results; `None` if this
/// machine cannot run it.
fn flows(name: &str, set: &[&str]) -> Option<(TempDir, Vec<FlowRow>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(root).args(["run", "--on", "kernel", "--json", "--out"]);
    command.arg(folder.path().join("out")).arg(format!("programs/{name}/scenario.toml"));
    set.iter().for_each(|set| _ = command.args(["--set", set]));
    done(&command.output().expect("l4s starts"))?;
    let results = Results::open(&folder.path().join("out")).unwrap();
    let (_, flows) = results.flows().unwrap().next().unwrap().unwrap();
    Some((folder, flows.into_iter().filter(|flow| flow.protocol.is_some()).collect()))
}

/// Whether all of these are installed.
fn have(programs: &[&str]) -> bool {
    let paths = std::env::var("PATH").unwrap_or_default();
    let is_there =
        |program: &&str| paths.split(':').any(|path| Path::new(path).join(program).exists());
    let missing: Vec<_> = programs.iter().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        println!("skipped: this machine has no {missing:?}: scripts/setup.sh --programs");
    }
    missing.is_empty()
}

/// The flow with the most bytes.
fn largest(flows: &[FlowRow]) -> &FlowRow {
    flows.iter().max_by_key(|flow| flow.bytes).expect("flows")
}

/// Packets that arrived at the queue as Not-ECT, ECT(0) and ECT(1).
fn codepoints(flow: &FlowRow) -> [u64; 3] {
    [flow.not_ect.unwrap(), flow.ect0.unwrap(), flow.ect1.unwrap()]
}

fn output(folder: &TempDir, file: &str) -> String {
    let path: PathBuf = folder.path().join("out/programs").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn iperf3_sends_what_it_is_asked_to() {
    if !have(&["iperf3"]) {
        return;
    }
    let short = ["duration=5s", "warmup=2s", "group.B.flows=1"];
    let of = |case: &str| flows("iperf3", &[&short[..], &[&format!("case={case}")]].concat());
    let Some((_folder, tcp)) = of("TCP, `-C cubic`") else { return };
    let flow = largest(&tcp);
    let [not_ect, ect0, ect1] = codepoints(flow);
    assert!(not_ect > 100 && ect0 + ect1 == 0, "{flow:?}");
    assert!(flow.rtt_mean_ms.unwrap() >= 20.0, "{flow:?}");
    // 3 s at 10 Mb/s are 2678 datagrams of 1400 B; a busy machine may send fewer.
    let (_folder, udp) = of("UDP, `--tos 1`").unwrap();
    let flow = largest(&udp);
    let [not_ect, ect0, ect1] = codepoints(flow);
    assert!(flow.protocol.as_deref() == Some("UDP") && ect1 > 1000, "{flow:?}");
    assert_eq!((not_ect, ect0), (0, 0), "{flow:?}");
}

#[test]
fn curl_downloads_from_nginx() {
    if !have(&["nginx", "curl"]) {
        return;
    }
    let set = ["duration=5s", "warmup=2s", "group.B.flows=1", "case=default"];
    let Some((folder, flows)) = flows("nginx-curl", &set) else { return };
    let [flow] = &flows[..] else { panic!("{flows:?}") };
    assert_eq!(flow.server.as_deref(), Some("10.0.0.1:8080"));
    // At least a tenth of the link, with any congestion control of the machine.
    assert!(flow.bytes > 1_500_000, "{flow:?}");
    assert_eq!(output(&folder, "nginx-curl/client.err"), "");
}

/// The queueing delay that ping measures from outside equals that of its packets in the data plane.
#[test]
fn ping_sees_the_queue() {
    if !have(&["ping"]) {
        return;
    }
    let set = ["duration=6s", "warmup=0s", "group.B.flows=1"];
    let Some((folder, flows)) = flows("ping", &set) else { return };
    let [flow] = &flows[..] else { panic!("{flows:?}") };
    // rtt min/avg/max/mdev = 20.124/31.203/44.211/6.101 ms
    let out = output(&folder, "ping/client.out");
    let times = out.split("mdev = ").nth(1).unwrap_or_else(|| panic!("{out}"));
    let mean: f64 = times.split('/').nth(1).unwrap().parse().unwrap();
    let (seen, queue) = (mean - 20.0, flow.delay_mean_ms.unwrap());
    // Both hosts wake up in between, which takes milliseconds on a busy machine. It cannot be negative.
    assert!(seen > queue - 0.5 && seen < queue + 10.0, "{seen} ms, the queue {queue} ms");
}
