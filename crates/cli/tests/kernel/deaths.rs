//! The clean-up after any process dies, and labs that run at the same time.

use super::*;

/// Starts a command whose output nobody reads.
fn start(folder: &Path, more: &[&str]) -> Child {
    let quiet = Stdio::null();
    l4s(folder, more).stdout(quiet).stderr(Stdio::piped()).spawn().expect("l4s starts")
}

/// The stderr of a command that has ended.
fn said(command: &mut Child) -> String {
    let stderr = command.stderr.take().expect("a pipe");
    std::io::read_to_string(stderr).expect("text")
}

/// [`TWO`] with a duration that is long enough for a kill; without DCTCP if this machine has none.
fn long() -> Option<String> {
    let text = TWO.replace("2s", "20s");
    let _alone = alone();
    for (text, short) in [&text, &text.replace("dctcp", "reno")].map(|t| (t, "duration=100ms")) {
        let folder = folder(text);
        let more = ["--set", short, "--set", "warmup=0s", "--json"];
        let output = l4s(folder.path(), &more).output().expect("l4s starts");
        if done(&output).is_some() {
            return Some(text.clone());
        }
    }
    None
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Victim {
    Command,
    OneAgent,
    All,
}

#[test]
fn nothing_is_left_of_what_is_killed() {
    let rounds = std::env::var("L4S_KILL_ROUNDS").map_or(12, |n| n.parse().expect("a number"));
    let Some(text) = long() else { return };
    let _alone = alone();
    let folder = folder(&text);
    let mut random = std::process::id();
    let mut next = |below: u32| {
        // Any sequence is suitable; this one is from Numerical Recipes.
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    let start = Instant::now();
    for round in 0..rounds {
        let victim = [Victim::Command, Victim::OneAgent, Victim::All][round % 3];
        kill_one(
            folder.path(),
            victim,
            Duration::from_micros(next(600_000).into()),
            next(4) as usize,
        );
    }
    println!("{rounds} rounds in {:?}", start.elapsed());
}

/// The clean-up is ours, but the time that it takes is the kernel's and the machine's. Under load the end of
/// a process that holds a network namespace and BPF programs can take seconds.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// The four agents of a command, or none if they are not complete.
fn all_four(command: u32) -> Vec<u32> {
    let (agents, ready) = (machine::agents_of(command), machine::agents());
    let complete = agents.len() == 4 && agents.iter().all(|agent| ready.contains(agent));
    if complete { agents } else { Vec::new() }
}

/// Starts one lab, and kills it `moment` later.
fn kill_one(folder: &Path, victim: Victim, moment: Duration, which: usize) {
    // An agent that a killed command was about to start may appear for a moment.
    let no_agents = || machine::agents().is_empty();
    assert!(within(GONE_WITHIN, no_agents), "{:?}", machine::agents());
    let (interfaces, namespaces) = (machine::interfaces(), machine::namespaces());
    let mut command = start(folder, &[]);
    let pid = command.id();
    std::thread::sleep(moment);
    // The last process may not have become an agent yet.
    let agents = machine::agents_of(pid);
    let inhabit = |agents: &[u32]| {
        let all = agents.iter().filter_map(|agent| machine::namespace(*agent));
        all.filter(|namespace| !namespaces.contains(namespace)).collect::<Vec<_>>()
    };
    let mut theirs = inhabit(&agents);
    let told = format!("{victim:?} of 1 + {} after {moment:?}", agents.len());
    println!("{told}");

    let killed = Instant::now();
    match victim {
        Victim::Command => machine::kill(&[pid]),
        Victim::OneAgent => {
            // The lab that tests the machine may lose an agent unnoticed; then an agent of the run is killed.
            within(GONE_WITHIN, || {
                let agents = all_four(pid);
                if let Some(agent) = agents.get(which) {
                    theirs.extend(inhabit(&agents));
                    machine::kill(&[*agent]);
                }
                command.try_wait().expect("a process").is_some()
            });
        }
        Victim::All => machine::kill(&[&[pid], agents.as_slice()].concat()),
    }
    let status = ended_within(&mut command, GONE_WITHIN).expect(&told);
    if victim == Victim::OneAgent {
        let words = said(&mut command);
        println!("  after {:?}: {}", killed.elapsed(), words.lines().last().unwrap_or_default());
        assert_eq!(status.code(), Some(1), "{told}: {words}");
        let named = ["the server of", "the client of"].iter().any(|end| words.contains(end));
        assert!(named && (words.contains("`A`") || words.contains("`B`")), "{told}: {words}");
    }

    assert!(within(GONE_WITHIN, no_agents), "{told}: {:?}", machine::agents());
    let inhabited = || machine::namespaces().into_iter().any(|it| theirs.contains(&it));
    assert!(within(GONE_WITHIN, || !inhabited()), "{told}: a namespace is left");
    let control = format!("dctcp{pid}");
    assert!(within(GONE_WITHIN, || !machine::has_control(&control)), "{told}: {control} is left");
    assert_eq!(machine::interfaces(), interfaces, "{told}");
    println!("  all gone after {:?}", killed.elapsed());
}

/// The run does not wait for a stopped process, and names it: the command with its data plane, a
/// server, a client, a source.
#[test]
fn a_lab_that_stood_still_calls_itself_unfit() {
    let _alone = alone();
    let source = "[[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";
    let folder = folder(&(TWO.replace("dctcp", "reno").replace("2s", "6s") + source));
    for (victim, named) in [
        (None, "the data plane"),
        (Some(0), "the server of group `A`"),
        (Some(3), "the client of group `B`"),
        (Some(4), "the server of UDP source `U`"),
    ] {
        let mut command = l4s(folder.path(), &["--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut command = command.spawn().expect("l4s starts");
        // Agents of the lab that tests the machine send nothing.
        let mut agents = Vec::new();
        within(Duration::from_secs(60), || {
            agents = machine::agents_of(command.id());
            // A new agent is still in the namespace of its parent, which has sent a lot.
            let is_inside =
                |agent| machine::namespace(agent) != machine::namespace(std::process::id());
            let runs =
                agents.len() == 6 && is_inside(agents[0]) && machine::sent(agents[0]) > 100_000;
            runs || command.try_wait().is_ok_and(|ended| ended.is_some())
        });
        let pid = victim.map_or(command.id(), |agent| agents.get(agent).copied().unwrap_or(0));
        if agents.len() == 6 {
            machine::freeze(pid, Duration::from_millis(700));
        }
        let output = command.wait_with_output().expect("output");
        let Some(summaries) = done(&output) else { return };
        let unfit = summaries[0].engine.unfit.as_deref().unwrap_or_default();
        println!("{named}: utilization {}, {unfit}", summaries[0].link.utilization);
        assert!(unfit.contains("it did not run for"), "{named}: {unfit:?}");
        // Of several that a busy machine delayed, the first one is named.
        assert!(stderr(&output).contains("is unfit: "), "{}", stderr(&output));
    }
}

#[test]
fn two_labs_at_once_do_not_meet() {
    let _alone = alone();
    let folder = folder(TWO);
    let start = |()| {
        let long = ["--json", "--set", "duration=6s", "--set", "warmup=1s"];
        let mut command = l4s(folder.path(), &long);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("l4s starts")
    };
    let mut commands = [(); 2].map(start);
    let pids = [commands[0].id(), commands[1].id()];
    let all = || pids.iter().flat_map(|pid| machine::agents_of(*pid));
    // Until one of them ends: a busy machine takes seconds to start all of these processes.
    let mut complete = false;
    within(Duration::from_secs(60), || {
        complete = all().count() == 8 && all().all(|agent| machine::agents().contains(&agent));
        let mut each = commands.iter_mut();
        complete || each.any(|command| command.try_wait().is_ok_and(|ended| ended.is_some()))
    });
    if complete {
        std::thread::sleep(Duration::from_millis(500));
        let namespaces: Vec<_> = all().filter_map(machine::namespace).collect();
        let different: std::collections::BTreeSet<_> = namespaces.iter().collect();
        assert_eq!((namespaces.len(), different.len()), (8, 8), "each agent has its own");
        if !machine::has_control("dctcp") {
            let both = pids.map(|pid| machine::has_control(&format!("dctcp{pid}")));
            assert_eq!(both, [true, true], "each command has its own DCTCP");
        }
    }
    for command in commands {
        let output = command.wait_with_output().expect("output");
        let Some(summaries) = done(&output) else { return };
        assert!(complete, "each command has four agents");
        let summary = &summaries[0];
        println!("{}, unfit: {:?}", summary.link.utilization, summary.engine.unfit);
        assert!(summary.groups.iter().all(|group| group.rate_bps > 0.0), "{summary:?}");
    }
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let Some(_) = long() else { return };
    let _alone = alone();
    let sweep = TWO.replace("dctcp", "reno").replace("2s", "1s");
    let folder = folder(&format!("{sweep}[sweep]\n\"link.rate\" = [\"10mbit\", \"20mbit\"]\n"));
    let first = folder.path().join("out/runs/0000000");
    let mut command = start(folder.path(), &["--out", "out"]);
    assert!(within(Duration::from_secs(60), || first.exists()), "the first run is kept");
    std::thread::sleep(Duration::from_millis(300));
    machine::kill(&[command.id()]);
    command.wait().expect("a process");
    // The record, and then its checksum.
    let kept = fs::read_to_string(&first).expect("a run");
    let kept: serde_json::Value =
        serde_json::from_str(kept.lines().next().unwrap_or_default()).expect("a record");

    let more = ["--json", "--out", "out", "--resume"];
    let output = l4s(folder.path(), &more).output().expect("l4s starts");
    let summaries = done(&output).expect("it ran before");
    assert!(stderr(&output).contains("1 runs were done before"), "{}", stderr(&output));
    let rates: Vec<_> = summaries.iter().map(|summary| summary.link.rate_bps).collect();
    assert_eq!(rates, [10e6, 20e6]);
    assert_eq!(serde_json::to_value(&summaries[0]).expect("JSON"), kept["summary"]);
    let results = Results::open(&folder.path().join("out")).expect("results");
    assert_eq!(results.runs().len(), 2);
    for run in results.runs() {
        // Packets, not a rate: half a second after a start that dropped packets has no rate.
        let packets = run.summary.groups.iter().map(|group| group.packets);
        assert!(packets.min() > Some(0), "{:?}", run.summary);
    }
}
