//! The ends of sessions and of the server.

use super::*;

#[test]
fn a_session_that_nobody_watches_ends_and_one_that_is_watched_does_not() {
    let limits = Limits { unwatched: Duration::from_millis(600), ..Limits::default() };
    let fake = Fake::default();
    let desk = desk_with(fake.clone(), limits, None);
    let (lonely, watched) = (desk.session("{}"), desk.session("{}"));
    block_on(async {
        let mut viewer = Viewer::open(&desk, &watched).await;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(1500) {
            viewer.next_of("state").await;
        }
        assert_eq!(viewer.command(r#"{"do":"restart","id":1}"#).await["type"], "done");
    });
    desk.until_gone(&lonely);
    desk.until_gone(&watched);
    until("its lanes are gone", || fake.lanes.load(SeqCst) == 0);
}

#[test]
fn a_lane_that_breaks_down_takes_its_session_along_and_no_other() {
    let desk = desk(Fake::default());
    let other = desk.session("{}");
    for (seed, message) in
        [(fake::PANICS, "the test asked for this panic"), (fake::BREAKS, "the fake broke down")]
    {
        let id = desk.session("{}");
        block_on(async {
            let mut viewer = Viewer::open(&desk, &id).await;
            viewer.say(&format!(r#"{{"do":"set","set":{{"seed":"{seed}"}},"id":1}}"#)).await;
            let fault = viewer.next_of("error").await;
            assert_eq!(fault["field"], "session");
            assert!(fault["message"].as_str().unwrap().contains(message), "{fault}");
            assert_eq!(viewer.next().await.unwrap()["type"], "over");
        });
        desk.until_gone(&id);
    }
    block_on(async { Viewer::open(&desk, &other).await.next_of("state").await });
}

#[test]
fn a_server_that_ends_tells_its_viewers_and_leaves_nothing_behind() {
    let fake = Fake::default();
    let mut desk = desk(fake.clone());
    let id = desk.session("{}");
    let address = desk.address;
    let told = block_on(async {
        let mut viewer = Viewer::open(&desk, &id).await;
        viewer.next_of("state").await;
        let ending = std::thread::spawn(move || desk.end());
        viewer.next_of("over").await;
        ending
    });
    told.join().unwrap();
    assert_eq!(fake.lanes.load(SeqCst), 0);
    assert!(TcpStream::connect(address).is_err());
    // The next server starts on the same address.
    let options = || {
        let live = l4s_scenario::bundled::find("live").unwrap().plan(&[]).unwrap();
        let presets = l4s_live::document::Presets::new(&live, "live.toml", Some("live")).unwrap();
        let substrate = Box::new(Fake::default());
        Options { substrate, presets, token: None, limits: Limits::default() }
    };
    let again = Server::bind(address, options()).unwrap();
    match Server::bind(address, options()) {
        Err(BindError::InUse { address: taken, free }) => {
            assert_eq!(taken, address);
            assert!(free.is_none_or(|free| free.port() > address.port()));
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("two servers on one port"),
    }
    drop(again);
}

/// The number of threads of this process whose names mark them as sessions.
fn sessions_of_this_process() -> usize {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let names =
        tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "session").count()
}

#[test]
fn two_hundred_sessions_leave_no_thread_and_no_lane() {
    let fake = Fake::default();
    let desk = desk(fake.clone());
    for round in 0..50 {
        let ids: Vec<String> = (0..4).map(|_| desk.session("{}")).collect();
        if round % 10 == 0 {
            block_on(async { Viewer::open(&desk, &ids[0]).await.next_of("state").await });
        }
        for id in &ids {
            assert_eq!(desk.ask("DELETE", &format!("/api/sessions/{id}"), &[], "").status, 204);
        }
        until("sessions end", || fake.lanes.load(SeqCst) == 0);
    }
    drop(desk);
    // Other tests of this process have sessions, too, but all of them end.
    until("threads end", || sessions_of_this_process() < 50);
}

#[test]
fn a_server_ends_in_time_whatever_a_session_does() {
    let fake = Fake::default();
    let mut desk = desk(fake.clone());
    let body = r#"{"set": {"seed": "17"}}"#;
    let (address, length) = (desk.address, body.len());
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("POST /api/sessions HTTP/1.1\r\nHost: {address}\r\n");
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    until("a session stalls", || fake.stalled.load(SeqCst) == 1);
    let start = Instant::now();
    desk.end();
    // The session is abandoned after 0.6 s; two busy cores are a little late.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(fake.lanes.load(SeqCst), 0);
    fake.let_go.store(true, SeqCst);
}

#[test]
fn what_sessions_have_to_take_back_is_waited_for() {
    let fake = Fake { real: true, ..Fake::default() };
    let mut desk = desk_with(fake.clone(), Limits::default(), Some(TOKEN));
    let body = r#"{"set": {"seed": "17"}}"#;
    let (address, length) = (desk.address, body.len());
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /api/sessions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n"
    );
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    until("a session stalls", || fake.stalled.load(SeqCst) == 1);
    let ending = std::thread::spawn(move || desk.end());
    until("it listens no more", || TcpStream::connect(address).is_err());
    std::thread::sleep(Duration::from_millis(1000));
    assert!(!ending.is_finished(), "real sockets are not left");
    fake.let_go.store(true, SeqCst);
    ending.join().unwrap();
    until("its lane is gone", || fake.lanes.load(SeqCst) == 0);
}
