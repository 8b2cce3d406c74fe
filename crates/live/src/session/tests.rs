use std::sync::atomic::Ordering::SeqCst;

use l4s_scenario::bundled;
use l4s_units::Duration as Span;
use serde_json::Value;

use super::*;
use crate::protocol::{Changes, Start};

#[path = "../../tests/fake/mod.rs"]
mod fake;
use fake::Fake;

fn ground(fake: &Fake) -> Arc<Ground> {
    let live = bundled::find("live").unwrap().plan(&[]).unwrap();
    let presets = Presets::new(&live, "live.toml", Some("live")).unwrap();
    let unwatched = Duration::from_secs(30);
    let (budget, readers) = (Budget::new(4_000_000_000), Semaphore::new(2));
    Arc::new(Ground { substrate: Box::new(fake.clone()), presets, unwatched, budget, readers })
}

/// A runner on a clock that only its lanes advance.
struct Bench {
    fake: Fake,
    standing: watch::Sender<Standing>,
    states: broadcast::Sender<Arc<str>>,
    ending: Arc<AtomicBool>,
}

impl Bench {
    fn new(fake: Fake) -> Bench {
        Bench {
            fake,
            standing: watch::Sender::new(Standing::Starting),
            states: broadcast::Sender::new(8),
            ending: Arc::default(),
        }
    }

    fn runner(&self) -> Runner<'_> {
        let (ground, opening) = (ground(&self.fake), Opening::default());
        Runner::open(ground, &opening, self.states.clone(), &self.standing, &self.ending).unwrap()
    }

    fn now(&self) -> Span {
        Span::from_nanos(self.fake.clock.load(SeqCst))
    }

    /// Waits this time without an event.
    fn wait(&self, ms: u64) {
        self.fake.clock.fetch_add(ms * 1_000_000, SeqCst);
    }

    fn step(&self, runner: &mut Runner<'_>) {
        runner.step(&|| self.now()).unwrap();
    }

    fn obey(&self, runner: &mut Runner<'_>, command: &str) -> Result<(), Fault> {
        runner.obey(Command::read(command).unwrap(), self.now())
    }

    fn settings(&self) -> Value {
        match &*self.standing.borrow() {
            Standing::On { settings, .. } => serde_json::from_str(settings).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

fn state(states: &mut broadcast::Receiver<Arc<str>>) -> Value {
    serde_json::from_str(&states.try_recv().unwrap()).unwrap()
}

#[test]
fn a_step_runs_what_is_owed_and_tells_it() {
    let bench = Bench::new(Fake::default());
    let mut runner = bench.runner();
    let mut states = bench.states.subscribe();
    bench.wait(20);
    bench.step(&mut runner);
    let first = state(&mut states);
    assert_eq!(
        (&first["type"], &first["number"], &first["run"]),
        (&"state".into(), &1.into(), &1.into())
    );
    assert_eq!((&first["time_s"], &first["span_s"]), (&0.02.into(), &0.02.into()));
    assert_eq!(first["lanes"][0]["turned_away"], 20);
    // The lanes took 40 ms. At the start of the step that time was not owed; now it is.
    bench.step(&mut runner);
    let second = state(&mut states);
    assert_eq!((&second["time_s"], &second["late_s"]), (&0.04.into(), &0.02.into()));
    assert_eq!(second["number"], 2);
}

#[test]
fn a_machine_that_is_too_slow_runs_slower_and_skips_nothing() {
    let bench = Bench::new(Fake::default());
    let mut runner = bench.runner();
    let mut states = bench.states.subscribe();
    // In each step the lanes take the permitted 40 ms for 20 ms of virtual time, and the runner waits 10 ms.
    let mut last = Value::Null;
    for number in 1..=100 {
        bench.wait(10);
        bench.step(&mut runner);
        last = state(&mut states);
        if number > 1 {
            assert_eq!(last["lanes"][0]["turned_away"], 20, "step {number}");
        }
    }
    assert!((last["time_s"].as_f64().unwrap() - 2.0).abs() < 0.03, "{last}");
    assert!(last["late_s"].as_f64().unwrap() <= 0.2, "{last}");
}

#[test]
fn what_can_be_changed_goes_on_and_what_cannot_begins_anew() {
    let bench = Bench::new(Fake::default());
    let mut runner = bench.runner();
    let mut states = bench.states.subscribe();
    bench.wait(20);
    bench.step(&mut runner);
    bench.obey(&mut runner, r#"{"do":"set","set":{"link.rate":"20mbit"}}"#).unwrap();
    bench.wait(20);
    bench.step(&mut runner);
    state(&mut states);
    let on = state(&mut states);
    assert_eq!((&on["run"], &on["lanes"][0]["link"]["rate_bps"]), (&1.into(), &20e6.into()));
    assert_eq!(bench.settings()["number"], 2);
    bench.obey(&mut runner, r#"{"do":"set","set":{"seed":"2"}}"#).unwrap();
    bench.wait(10);
    bench.step(&mut runner);
    let anew = state(&mut states);
    assert_eq!(
        (&anew["run"], &anew["time_s"], &anew["number"]),
        (&2.into(), &0.01.into(), &3.into())
    );
    assert_eq!(bench.settings()["set"]["seed"], "2");
    assert_eq!(bench.fake.lanes.load(SeqCst), 1);
}

#[test]
fn what_is_refused_changes_nothing() {
    let bench = Bench::new(Fake::default());
    let mut runner = bench.runner();
    let before = bench.settings();
    for command in [
        r#"{"do":"set","set":{"link.rate":"20mbit","link.rat":"1"}}"#,
        r#"{"do":"set","set":{"seed":"15"}}"#,
        r#"{"do":"set","lane":1,"set":{"aqm":"pie"}}"#,
        r#"{"do":"load","point":99}"#,
        r#"{"do":"load","text":"nonsense"}"#,
        r#"{"do":"load","point":1,"text":""}"#,
        r#"{"do":"compare","set":{"link.rate":"1mbit"}}"#,
        r#"{"do":"speed","speed":0}"#,
        r#"{"do":"speed","speed":11}"#,
        r#"{"do":"speed","speed":-1}"#,
    ] {
        bench.obey(&mut runner, command).unwrap_err();
        assert_eq!(bench.settings(), before, "{command}");
    }
    bench.wait(20);
    bench.step(&mut runner);
    assert_eq!(bench.fake.lanes.load(SeqCst), 1);
}

#[test]
fn two_lanes_are_at_the_same_time() {
    let bench = Bench::new(Fake::default());
    let mut runner = bench.runner();
    let mut states = bench.states.subscribe();
    bench.obey(&mut runner, r#"{"do":"compare","set":{"aqm":"pie"}}"#).unwrap();
    assert_eq!(bench.settings()["lanes"][1]["aqm"]["kind"], "pie");
    for _ in 0..10 {
        bench.wait(10);
        bench.step(&mut runner);
        let state = state(&mut states);
        let packets = |lane: usize| state["lanes"][lane]["turned_away"].clone();
        assert_eq!(packets(0), packets(1));
        assert_eq!(state["run"], 2);
    }
    bench.obey(&mut runner, r#"{"do":"set","lane":1,"set":{"aqm.target":"5ms"}}"#).unwrap();
    assert_eq!(bench.settings()["lanes"][1]["set"]["aqm.target"], "5ms");
    bench.obey(&mut runner, r#"{"do":"compare","set":null}"#).unwrap();
    assert_eq!(bench.settings()["lanes"].as_array().unwrap().len(), 1);
    assert_eq!(bench.fake.lanes.load(SeqCst), 1);
    // A preset ends the comparison.
    bench.obey(&mut runner, r#"{"do":"compare","set":{"aqm":"pie"}}"#).unwrap();
    bench.obey(&mut runner, r#"{"do":"load","point":3,"set":{"link.rate":"9mbit"}}"#).unwrap();
    let settings = bench.settings();
    assert_eq!(settings["lanes"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&settings["point"], &settings["lanes"][0]["aqm"]["kind"]),
        (&3.into(), &"fq_codel".into())
    );
}

#[test]
fn speed_and_pause_are_of_virtual_time() {
    let bench = Bench::new(Fake::default());
    let mut runner = bench.runner();
    let mut states = bench.states.subscribe();
    bench.obey(&mut runner, r#"{"do":"speed","speed":0.5}"#).unwrap();
    bench.wait(20);
    bench.step(&mut runner);
    let slow = state(&mut states);
    assert_eq!((&slow["time_s"], &slow["speed"]), (&0.01.into(), &0.5.into()));
    bench.obey(&mut runner, r#"{"do":"pause","paused":true}"#).unwrap();
    assert_eq!(
        (&bench.settings()["paused"], &bench.settings()["speed"]),
        (&true.into(), &0.5.into())
    );
    bench.wait(1000);
    bench.step(&mut runner);
    assert!(states.try_recv().is_err(), "nothing is told while it is paused");
}

#[test]
fn real_sockets_have_the_time_of_the_world() {
    let bench = Bench::new(Fake { real: true, ..Fake::default() });
    let mut runner = bench.runner();
    for command in [
        r#"{"do":"speed","speed":0.5}"#,
        r#"{"do":"pause","paused":true}"#,
        r#"{"do":"compare","set":{"aqm":"pie"}}"#,
    ] {
        let fault = bench.obey(&mut runner, command).unwrap_err();
        assert!(fault.message.contains("--on fake"), "{fault}");
    }
}

/// Starts a session with this seed, and waits until it is over.
fn over(seed: u64) -> (Option<Fault>, Fake) {
    let fake = Fake::default();
    let set = Changes(vec![("seed".to_owned(), Some(seed.to_string()))]);
    let opening = Opening { start: Start::Point(0), set };
    let (told, ended) = sync_channel(1);
    let ended_told = move || told.send(()).unwrap();
    let (session, thread) = Session::start(ground(&fake), opening, ended_told).unwrap();
    thread.join().unwrap();
    ended.recv().unwrap();
    let standing = session.standing().borrow().clone();
    match standing {
        Standing::Over(fault) => (fault, fake),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lane_that_breaks_down_ends_its_session_with_a_fault() {
    for (seed, message) in [
        (
            fake::PANICS,
            "the session failed, which is a defect of l4s: the test asked for this panic",
        ),
        (fake::BREAKS, "the fake broke down"),
        (fake::NONE, "there is no such lane"),
    ] {
        let (fault, fake) = over(seed);
        assert_eq!(fault.unwrap().message, message);
        assert_eq!(fake.lanes.load(SeqCst), 0);
    }
}

#[test]
fn a_session_ends_when_it_is_told_to() {
    let fake = Fake::default();
    let (session, thread) = Session::start(ground(&fake), Opening::default(), || {}).unwrap();
    session.end();
    thread.join().unwrap();
    assert!(matches!(*session.standing().borrow(), Standing::Over(None)));
    let (answer, _) = mpsc::channel(1);
    let command = Command::Restart { id: Some(8) };
    assert_eq!(session.order(Order { command, answer }).unwrap_err().id, Some(8));
}
