//! The server as clients meet it, over real sockets.

mod desk;
mod fake;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use desk::{DEADLINE, Desk, Viewer, block_on, desk, desk_with, until};
use fake::Fake;
use futures_util::SinkExt;
use l4s_live::server::{BindError, Limits, Options, Server};
use l4s_substrate::Sim;
use tokio_tungstenite::tungstenite::Message;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn the_page_is_public_and_says_what_a_browser_may_do_with_it() {
    let desk = desk_with(Fake::default(), Limits::default(), Some(TOKEN));
    for (path, kind) in [
        ("/", "text/html"),
        ("/?token=x", "text/html"),
        ("/live.js", "text/javascript"),
        ("/live.css", "text/css"),
    ] {
        let page = desk.get(path);
        assert_eq!(page.status, 200, "{path}");
        assert!(page.head.contains(&format!("content-type: {kind}")), "{}", page.head);
        for said in [
            "content-security-policy: default-src 'self'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-cache",
        ] {
            assert!(page.head.contains(said), "{path}: {}", page.head);
        }
        let tag = page.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
        let again = desk.ask("GET", path, &[&format!("If-None-Match: {tag}")], "");
        assert_eq!((again.status, again.body.as_str()), (304, ""));
    }
}

#[test]
fn a_session_is_made_looked_at_and_ended() {
    let desk = desk(Sim);
    let greeting = desk.get("/api/greeting").json();
    assert_eq!((&greeting["protocol"], &greeting["on"]), (&1.into(), &"sim".into()));
    assert_eq!(greeting["points"][0]["label"], "DualPI2");
    assert_eq!(greeting["delay_buckets"]["count"], 281);
    let body = r#"{"point": 2, "set": {"link.rate": "20mbit"}}"#;
    let created = desk.ask("POST", "/api/sessions", &[], body);
    assert_eq!(created.status, 201);
    let created = created.json();
    let settings = &created["settings"];
    assert_eq!((&settings["type"], &settings["point"]), (&"settings".into(), &2.into()));
    assert_eq!(settings["lanes"][0]["aqm"]["kind"], "pie");
    let path = format!("/api/sessions/{}", created["id"].as_str().unwrap());
    assert_eq!(desk.get(&path).json(), *settings);
    let scenario = desk.get(&format!("{path}/scenario"));
    assert!(scenario.head.contains("content-type: application/toml"), "{}", scenario.head);
    assert_eq!(scenario.body, settings["text"]);
    assert_eq!(desk.ask("DELETE", &path, &[], "").status, 204);
    assert_eq!(desk.get(&path).status, 404);
    assert_eq!(desk.ask("DELETE", &path, &[], "").status, 404);
}

#[test]
fn what_is_refused_has_its_status_and_a_fault() {
    let desk = desk(Fake::default());
    let id = desk.session("{}");
    let post = |body: &str| ("POST", "/api/sessions".to_owned(), body.to_owned());
    let long = format!("{{\"text\": \"{}\"}}", "x".repeat(70_000));
    for ((method, path, body), status, field) in [
        (post("{"), 400, "message"),
        (post("[]"), 400, "message"),
        (post(r#"{"pint": 1}"#), 400, "pint"),
        (post(r#"{"point": -1}"#), 400, "message"),
        (post(r#"{"point": 1, "text": ""}"#), 400, "text"),
        (post(r#"{"set": {"a": 1}}"#), 400, "message"),
        (post(r#"{"point": 99}"#), 422, "point"),
        (post(r#"{"text": "[lnik]"}"#), 422, "text"),
        (post(r#"{"set": {"link.rat": "1mbit"}}"#), 422, "link.rat"),
        (post(r#"{"set": {"seed": "15"}}"#), 422, "session"),
        (post(&long), 413, "body"),
        (("GET", "/nothing".to_owned(), String::new()), 404, "path"),
        (("GET", "/api/nothing".to_owned(), String::new()), 404, "path"),
        (("GET", "/api/sessions/none".to_owned(), String::new()), 404, "session"),
        (("GET", "/../Cargo.toml".to_owned(), String::new()), 404, "path"),
        (("PUT", format!("/api/sessions/{id}"), String::new()), 405, "method"),
        (("POST", "/".to_owned(), String::new()), 405, "method"),
        (("GET", format!("/api/sessions/{id}/watch"), String::new()), 400, "upgrade"),
    ] {
        let answer = desk.ask(method, &path, &[], &body);
        assert_eq!(answer.status, status, "{method} {path} {body:.60}: {:.300}", answer.body);
        let fault = answer.json();
        assert_eq!((&fault["type"], &fault["field"]), (&"error".into(), &field.into()), "{path}");
        assert!(!fault["message"].as_str().unwrap().is_empty());
    }
    // What is no HTTP is refused, too, and the server goes on.
    for bytes in [&b"\r\n\r\n"[..], b"GET", b"\x16\x03\x01\x02\x00\x01\x00", &[0xff; 4000]] {
        let mut stream = TcpStream::connect(desk.address).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    let head = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    assert!([0, 400, 431].contains(&desk.raw(head.as_bytes()).status));
    assert_eq!(desk.get("/api/greeting").status, 200);
}

#[test]
fn without_the_token_nothing_is_told() {
    let desk = desk_with(Fake::default(), Limits::default(), Some(TOKEN));
    assert!(desk.url.ends_with(&format!("/?token={TOKEN}")), "{}", desk.url);
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let created = desk.ask("POST", "/api/sessions", &[&bearer], "{}");
    assert_eq!(created.status, 201);
    let id = created.json()["id"].as_str().unwrap().to_owned();
    let wrong = TOKEN.replace('0', "1");
    for (method, path) in [
        ("GET", "/api/greeting".to_owned()),
        ("GET", format!("/api/greeting?token={TOKEN}")),
        ("POST", "/api/sessions".to_owned()),
        ("GET", format!("/api/sessions/{id}")),
        ("GET", format!("/api/sessions/{id}/scenario")),
        ("DELETE", format!("/api/sessions/{id}")),
        ("GET", format!("/api/sessions/{id}/watch?token={wrong}")),
        ("GET", "/api/nothing".to_owned()),
    ] {
        for head in [
            vec![],
            vec![format!("Authorization: Bearer {wrong}")],
            vec![format!("Authorization: Basic {TOKEN}")],
            vec![format!("Authorization: Bearer {}", &TOKEN[..31])],
            vec![bearer.clone(), bearer.clone()],
        ] {
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            let answer = desk.ask(method, &path, &head, "{}");
            assert_eq!(answer.status, 401, "{method} {path} {head:?}");
            assert_eq!(answer.json()["field"], "token");
            assert!(!answer.body.contains(TOKEN));
        }
    }
    block_on(async {
        let url = desk.watch_url(&id);
        assert_eq!(Viewer::with(&url, &[]).await.err(), Some(401));
        assert_eq!(Viewer::with(&format!("{url}?token={wrong}"), &[]).await.err(), Some(401));
        let mut viewer = Viewer::with(&format!("{url}?token={TOKEN}"), &[]).await.unwrap();
        viewer.next_of("state").await;
    });
}

#[test]
fn pages_from_elsewhere_are_refused() {
    let desk = desk(Fake::default());
    let id = desk.session("{}");
    let port = desk.address.port();
    for head in [
        "Origin: http://evil.example".to_owned(),
        "Origin: null".to_owned(),
        format!("Origin: http://localhost:{port}"),
        "Sec-Fetch-Site: cross-site".to_owned(),
        "Host: evil.example".to_owned(),
        format!("Host: evil.example:{port}"),
        "Host: 127.0.0.1:1".to_owned(),
    ] {
        for (method, path) in [
            ("GET", "/api/greeting".to_owned()),
            ("POST", "/api/sessions".to_owned()),
            ("DELETE", format!("/api/sessions/{id}")),
            ("GET", format!("/api/sessions/{id}/watch")),
        ] {
            let answer = desk.ask(method, &path, &[&head], "{}");
            assert_eq!(answer.status, 403, "{method} {path} {head}");
        }
    }
    assert_eq!(desk.ask("GET", "/", &["Host: evil.example"], "").status, 403);
    let own = format!("Origin: http://{}", desk.address);
    assert_eq!(desk.ask("POST", "/api/sessions", &[&own], "{}").status, 201);
    let named =
        [&format!("Host: localhost:{port}")[..], &format!("Origin: http://localhost:{port}")];
    assert_eq!(desk.ask("POST", "/api/sessions", &named, "{}").status, 201);
    block_on(async {
        let url = desk.watch_url(&id);
        let foreign = Viewer::with(&url, &[("origin", "http://evil.example")]).await;
        assert_eq!(foreign.err(), Some(403));
        let own = format!("http://{}", desk.address);
        assert!(Viewer::with(&url, &[("origin", &own)]).await.is_ok());
    });
}

#[test]
fn all_viewers_see_what_one_of_them_does() {
    let desk = desk(Sim);
    let id = desk.session("{}");
    block_on(async {
        let (mut one, mut two) = (Viewer::open(&desk, &id).await, Viewer::open(&desk, &id).await);
        assert_eq!(one.next().await.unwrap()["type"], "settings");
        assert_eq!(two.next().await.unwrap()["type"], "settings");
        let state = two.next_of("state").await;
        assert_eq!(state["lanes"][0]["groups"][0]["name"], "A");
        let done = one.command(r#"{"do":"set","set":{"link.rate":"20mbit"},"id":4}"#).await;
        assert_eq!(done, serde_json::json!({"type": "done", "id": 4}));
        let settings = two.next_of("settings").await;
        assert_eq!(
            (&settings["number"], &settings["set"]["link.rate"]),
            (&2.into(), &"20mbit".into())
        );
        let state = two.next_of("state").await;
        assert_eq!(
            (&state["run"], &state["lanes"][0]["link"]["rate_bps"]),
            (&1.into(), &20e6.into())
        );
        let refused = two.command(r#"{"do":"set","set":{"link.rat":"1"},"id":9}"#).await;
        assert_eq!(
            (&refused["field"], &refused["help"]),
            (&"link.rat".into(), &"did you mean `rate`?".into())
        );
        two.command(r#"{"do":"compare","set":{"aqm":"pie"},"id":10}"#).await;
        loop {
            let state = one.next_of("state").await;
            if state["run"] == 2 {
                assert_eq!(state["lanes"].as_array().unwrap().len(), 2);
                break;
            }
        }
        assert_eq!(desk.ask("DELETE", &format!("/api/sessions/{id}"), &[], "").status, 204);
        for mut viewer in [one, two] {
            viewer.next_of("over").await;
            assert_eq!(viewer.next().await, None);
        }
    });
}

#[test]
fn whatever_a_viewer_says_it_is_answered_and_the_session_goes_on() {
    let desk = desk(Fake::default());
    let id = desk.session("{}");
    block_on(async {
        let mut viewer = Viewer::open(&desk, &id).await;
        let deep = "[".repeat(50_000);
        let wide = format!("{{\"do\":\"set\",\"id\":5,\"set\":{{{}}}}}", {
            let keys: Vec<String> = (0..3000).map(|i| format!("\"k{i}\":\"1\"")).collect();
            keys.join(",")
        });
        let text =
            format!("{{\"do\":\"load\",\"id\":6,\"text\":\"{}\"}}", "[[group]]\\n".repeat(4000));
        for (said, id) in [
            ("", None),
            ("null", None),
            ("{}", None),
            ("{\"id\":3}", Some(3)),
            ("\u{0}", None),
            (&deep, None),
            (&wide, Some(5)),
            (&text, Some(6)),
            (r#"{"do":"fly","id":1}"#, Some(1)),
            (r#"{"do":"set","id":2}"#, Some(2)),
            (r#"{"do":"set","set":{"a":1},"id":2}"#, Some(2)),
            (r#"{"do":"set","set":{"link.rate":"1e999mbit"},"id":7}"#, Some(7)),
            (r#"{"do":"set","set":{"name":"\u0000"},"id":7}"#, Some(7)),
            (r#"{"do":"set","set":{"group.*.flows":"18446744073709551615"},"id":7}"#, Some(7)),
            (r#"{"do":"set","lane":18446744073709551615,"set":{},"id":8}"#, Some(8)),
            (r#"{"do":"load","point":18446744073709551615,"id":9}"#, Some(9)),
            (r#"{"do":"speed","speed":1e308,"id":10}"#, Some(10)),
            (r#"{"do":"restart","id":11,"x":0}"#, Some(11)),
        ] {
            viewer.say(said).await;
            let fault = viewer.next_of("error").await;
            assert_eq!(fault["id"].as_u64(), id, "{said:.80}: {fault}");
        }
        viewer.socket.send(Message::binary(vec![0; 100])).await.unwrap();
        viewer.next_of("error").await;
        assert_eq!(viewer.command(r#"{"do":"restart","id":12}"#).await["type"], "done");
        // A message that is too long ends its viewer, and nothing else.
        let _ = viewer.socket.send(Message::text("x".repeat(70_000))).await;
        while viewer.next().await.is_some() {}
        Viewer::open(&desk, &id).await.next_of("state").await;
    });
}

#[test]
fn a_viewer_may_not_command_without_end() {
    let limits = Limits { commands: 5.0, ..Limits::default() };
    let desk = desk_with(Fake::default(), limits, None);
    let id = desk.session("{}");
    block_on(async {
        let mut viewer = Viewer::open(&desk, &id).await;
        for id in 0..100 {
            viewer.say(&format!(r#"{{"do":"restart","id":{id}}}"#)).await;
        }
        let (mut done, mut refused) = (0, 0);
        while done + refused < 100 {
            let message = viewer.next().await.unwrap();
            match message["type"].as_str().unwrap() {
                "done" => done += 1,
                "error" => {
                    assert_eq!(message["message"], "more than 5 commands per second");
                    refused += 1;
                }
                _ => {}
            }
        }
        assert!(done >= 10 && refused > 0, "{done} done, {refused} refused");
        let other = Viewer::open(&desk, &id).await.command(r#"{"do":"restart","id":1}"#).await;
        assert_eq!(other["type"], "done", "another one may");
    });
}

/// Asks for answers and reads none of them, until it is cut off.
fn reads_nothing(desk: &Desk, id: &str) -> std::thread::JoinHandle<()> {
    let mut stream = TcpStream::connect(desk.address).unwrap();
    let head = format!(
        "GET /api/sessions/{id}/watch HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        desk.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A text frame of 4000 bytes, masked with zeros: no JSON, which the answer says.
    let frame = [&[0x81, 0x80 | 126, 0x0f, 0xa0, 0, 0, 0, 0][..], &[b'x'; 4000]].concat();
    stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    std::thread::spawn(move || {
        let start = Instant::now();
        let mut rest = &frame[..];
        loop {
            assert!(start.elapsed() < DEADLINE, "it is cut off");
            match stream.write(rest) {
                Ok(n) if n == rest.len() => rest = &frame,
                Ok(n) => rest = &rest[n..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    })
}

#[test]
fn a_slow_reader_is_cut_off_and_holds_up_nobody() {
    let limits =
        Limits { patience: Duration::from_secs(2), commands: 1e9, viewers: 2, ..Limits::default() };
    let desk = desk_with(Fake::default(), limits, None);
    let id = desk.session("{}");
    block_on(async {
        let mut quick = Viewer::open(&desk, &id).await;
        let slow = reads_nothing(&desk, &id);
        let (start, mut seen, mut last) = (Instant::now(), 0, 0);
        while !slow.is_finished() || seen < 10 {
            assert!(start.elapsed() < DEADLINE);
            let number = quick.next_of("state").await["number"].as_u64().unwrap();
            assert!(number > last, "{number} after {last}");
            (seen, last) = (seen + 1, number);
        }
        slow.join().unwrap();
        assert_eq!(quick.command(r#"{"do":"restart","id":1}"#).await["type"], "done");
        // Its place is free.
        Viewer::open(&desk, &id).await.next_of("state").await;
    });
}

#[test]
fn a_slow_request_is_cut_off() {
    let limits = Limits { patience: Duration::from_millis(200), ..Limits::default() };
    let desk = desk_with(Fake::default(), limits, None);
    let open = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(desk.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    };
    let head = format!("POST /api/sessions HTTP/1.1\r\nHost: {}\r\n", desk.address);
    let body = format!("{head}Content-Length: 10\r\n\r\n{{");
    for bytes in [&b""[..], b"GET / HT", head.as_bytes(), body.as_bytes()] {
        let mut answer = Vec::new();
        // It ends, with an answer or without.
        let _ = open(bytes).read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.contains(" 408 "), "{answer}");
    }
}

#[test]
fn more_sessions_and_viewers_than_there_may_be_are_refused() {
    let limits = Limits { sessions: 2, viewers: 2, ..Limits::default() };
    let desk = desk_with(Fake::default(), limits, None);
    let (one, _two) = (desk.session("{}"), desk.session("{}"));
    let refused = desk.ask("POST", "/api/sessions", &[], "{}");
    assert_eq!(refused.status, 503);
    assert!(refused.json()["message"].as_str().unwrap().contains("2 sessions"));
    block_on(async {
        let first = Viewer::open(&desk, &one).await;
        let _second = Viewer::open(&desk, &one).await;
        assert_eq!(Viewer::with(&desk.watch_url(&one), &[]).await.err(), Some(503));
        drop(first);
        // Its place is free when the server has seen it go.
        let start = Instant::now();
        while Viewer::with(&desk.watch_url(&one), &[]).await.is_err() {
            assert!(start.elapsed() < DEADLINE);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    desk.ask("DELETE", &format!("/api/sessions/{one}"), &[], "");
    until("its place is free", || desk.ask("POST", "/api/sessions", &[], "{}").status == 201);
}

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
        [(fake::PANICS, "as it was told to"), (fake::BREAKS, "the fake broke down")]
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
    // The next one begins where that one was.
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

#[test]
fn beyond_loopback_there_is_a_token_always() {
    let live = l4s_scenario::bundled::find("live").unwrap().plan(&[]).unwrap();
    let presets = l4s_live::document::Presets::new(&live, "live.toml", Some("live")).unwrap();
    let substrate = Box::new(Fake::default());
    let options = Options { substrate, presets, token: None, limits: Limits::default() };
    let server = Server::bind("0.0.0.0:0".parse().unwrap(), options).unwrap();
    let (_, token) =
        server.url().split_once("/?token=").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!(token.len(), 32);
}

/// Threads of this process, by their names' beginning.
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
    // Other tests of this process have sessions, too; none of theirs last.
    until("threads end", || sessions_of_this_process() < 50);
}

/// States that a viewer received, and the number of the last one.
async fn received(desk: &Desk, id: &str, time: Duration) -> (u64, u64) {
    let mut viewer = Viewer::open(desk, id).await;
    let (start, mut count, mut last) = (Instant::now(), 0, 0);
    while start.elapsed() < time {
        let number = viewer.next_of("state").await["number"].as_u64().unwrap();
        assert!(number > last, "states come in order");
        (count, last) = (count + 1, number);
    }
    (count, last)
}

#[test]
fn fifty_viewers_see_one_session() {
    // `L4S_LIVE_SECONDS=60` for a minute.
    let seconds = std::env::var("L4S_LIVE_SECONDS").ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(3));
    let desk = desk(Sim);
    let id = desk.session("{}");
    block_on(async {
        let viewers = (0..50).map(|_| received(&desk, &id, time));
        let seen = futures_util::future::join_all(viewers).await;
        let most = seen.iter().map(|(_, last)| *last).max().unwrap();
        assert!(seen.iter().all(|(count, _)| *count > 0), "{seen:?}");
        println!(
            "{most} states in {time:?}; received by each: {:?}",
            seen.iter().map(|(count, _)| count).min()
        );
    });
}

/// 100 links for each of 100 flows, each with 65,536 queues: 9 kB of text.
fn greedy() -> serde_json::Value {
    let hop = |n| {
        format!(
            "[[hop]]\nname = \"h{n}\"\nper = \"flow\"\nrate = \"1gbit\"\n\
             aqm = {{ kind = \"fq_codel\", flows = 65536 }}\n"
        )
    };
    let hops: String = (0..100).map(hop).collect();
    let text = format!(
        "link.rate = \"10mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\nflows = 100\n\
         rtt = \"10ms\"\n{hops}"
    );
    serde_json::json!({ "text": text })
}

#[test]
fn a_scenario_that_needs_too_much_memory_is_refused_before_any_of_it_is_built() {
    let desk = desk(Sim);
    let refused = desk.ask("POST", "/api/sessions", &[], &greedy().to_string());
    assert_eq!(refused.status, 422, "{refused:?}");
    let fault = refused.json();
    assert_eq!(fault["field"], "memory");
    let message = fault["message"].as_str().unwrap();
    for said in ["a session may have 512 MB", "100 hops × 100 links × 65,536 ", " GB"] {
        assert!(message.contains(said), "{message}");
    }
    // Nor may a session become one, and it goes on.
    let id = desk.session("{}");
    block_on(async {
        let mut viewer = Viewer::open(&desk, &id).await;
        let load = serde_json::json!({ "do": "load", "id": 1, "text": greedy()["text"] });
        assert_eq!(viewer.command(&load.to_string()).await["field"], "memory");
        let set = r#"{"do":"compare","set":{"aqm":"fq_codel","aqm.flows":"65536"},"id":2}"#;
        assert_eq!(viewer.command(set).await["type"], "done");
        viewer.next_of("state").await;
    });
}

#[test]
fn sessions_share_the_memory_that_there_is() {
    let limits = Limits { memory: 200_000_000, ..Limits::default() };
    let desk = desk_with(Fake::default(), limits, None);
    let mut ids = Vec::new();
    let refused = loop {
        assert!(ids.len() < 64, "they are refused");
        let created = desk.ask("POST", "/api/sessions", &[], "{}");
        if created.status != 201 {
            break created;
        }
        ids.push(created.json()["id"].as_str().unwrap().to_owned());
    };
    assert!(!ids.is_empty() && refused.status == 503, "{refused:?}");
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("all sessions together may have 200 MB"), "{message}");
    desk.ask("DELETE", &format!("/api/sessions/{}", ids[0]), &[], "");
    until("there is room", || desk.ask("POST", "/api/sessions", &[], "{}").status == 201);
}

/// So many connections that have said this and then say a little now and then.
fn dribbling(desk: &Desk, connections: usize, said: &str) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = TcpStream::connect(desk.address).unwrap();
        // Some were shown out already.
        let _ = stream.write_all(said.as_bytes());
        stream
    };
    (0..connections).map(open).collect()
}

#[test]
fn who_dribbles_holds_up_nobody() {
    let limits = Limits { patience: Duration::from_secs(60), ..Limits::default() };
    for token in [None, Some(TOKEN)] {
        let desk = desk_with(Fake::default(), limits, token);
        let host = desk.address;
        let bearer = format!("Authorization: Bearer {TOKEN}");
        for said in [
            String::new(),
            "GET /api/gre".to_owned(),
            format!("GET / HTTP/1.1\r\nHost: {host}\r\nX-Slow: "),
            format!("POST /api/sessions HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n{{"),
        ] {
            let start = Instant::now();
            let mut crowd = dribbling(&desk, 300, &said);
            for _ in 0..5 {
                crowd.iter_mut().for_each(|stream| drop(stream.write(b"x")));
                let answer = desk.ask("GET", "/api/greeting", &[&bearer], "");
                assert_eq!(answer.status, 200, "{said:?}");
            }
            // Nobody of the crowd gave up: their time is not over for long.
            assert!(start.elapsed() < limits.patience / 2, "{:?}", start.elapsed());
        }
    }
}

#[test]
fn a_crowd_that_comes_again_and_again_holds_up_nobody() {
    let limits = Limits { patience: Duration::from_secs(60), ..Limits::default() };
    let desk = desk_with(Fake::default(), limits, None);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut crowd: Vec<TcpStream> = Vec::new();
            while !over.load(SeqCst) {
                crowd.retain_mut(|stream| stream.write(b"G").is_ok());
                crowd.extend(dribbling(&desk, 300 - crowd.len(), "GET /"));
            }
        });
        let start = Instant::now();
        let answers: Vec<u16> = (0..5).map(|_| desk.get("/api/greeting").status).collect();
        over.store(true, SeqCst);
        assert_eq!(answers, [200; 5]);
        assert!(start.elapsed() < limits.patience / 2, "{:?}", start.elapsed());
    });
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
    // It is left after 0.6 s; two busy cores are a little late.
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

/// A frame of a WebSocket, masked with zeros: first byte, and second as it is.
fn frame(first: u8, second: u8, rest: &[u8]) -> Vec<u8> {
    [&[first, second][..], &[0; 4], rest].concat()
}

/// Frames that no client should send, and some that are odd and allowed.
fn odd_frames() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |what: &str, bytes: Vec<u8>| all.push((what.to_owned(), bytes));
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        add(&format!("reserved opcode {opcode}"), frame(0x80 | opcode, 0x80, b""));
    }
    for bit in [0x40, 0x20, 0x10, 0x70] {
        add(&format!("reserved bits {bit:#x}"), frame(0x81 | bit, 0x82, b"{}"));
    }
    add("not masked", vec![0x81, 2, b'{', b'}']);
    add("a continuation of nothing", frame(0x80, 0x82, b"{}"));
    add("a first part that is never continued", frame(0x01, 0x82, b"{}"));
    let twice = [frame(0x01, 0x81, b"{"), frame(0x81, 0x81, b"}")].concat();
    add("a text within a text", twice);
    let parts: Vec<u8> = (0..2000).flat_map(|_| frame(0x00, 0x81, b"x")).collect();
    add("two thousand parts", [frame(0x01, 0x81, b"{"), parts].concat());
    add("a ping in parts", frame(0x09, 0x81, b"x"));
    add(
        "a ping of 126 bytes",
        frame(0x89, 0xfe, &[0, 126].iter().chain(&[b'x'; 126]).copied().collect::<Vec<_>>()),
    );
    add("a close in parts", frame(0x08, 0x80, b""));
    add("a close of one byte", frame(0x88, 0x81, b"x"));
    for code in [0_u16, 999, 1004, 1005, 1006, 1015, 5000, 65_535] {
        add(&format!("a close of code {code}"), frame(0x88, 0x82, &code.to_be_bytes()));
    }
    add("a reason that is no UTF-8", frame(0x88, 0x84, &[3, 0xe8, 0xff, 0xfe]));
    add("a text that is no UTF-8", frame(0x81, 0x84, &[0xff, 0xfe, 0xc0, 0x80]));
    add("a text that ends within a letter", frame(0x81, 0x81, &[0xc3]));
    let long = |length: u64| [&[0x81, 0xff][..], &length.to_be_bytes(), &[0; 4], b"{}"].concat();
    add("a length of 2^63", long(1 << 63));
    add("a length of 2^64 - 1", long(u64::MAX));
    add("a length of 65 KiB", long(65 << 10));
    add("a short length in eight bytes", long(2));
    add("an empty text", frame(0x81, 0x80, b""));
    add("an empty binary", frame(0x82, 0x80, b""));
    add("a thousand pings", (0..1000).flat_map(|_| frame(0x89, 0x80, b"")).collect());
    add(
        "a thousand pongs that nobody asked for",
        (0..1000).flat_map(|_| frame(0x8a, 0x80, b"")).collect(),
    );
    add("half a frame", vec![0x81]);
    add("no frame at all", b"GET / HTTP/1.1\r\n\r\n".to_vec());
    all
}

#[test]
fn whatever_frames_a_viewer_sends_the_others_see_the_session_go_on() {
    let limits = Limits { patience: Duration::from_secs(2), ..Limits::default() };
    let desk = desk_with(Fake::default(), limits, None);
    let id = desk.session("{}");
    let odd = odd_frames();
    assert!(odd.len() >= 33);
    block_on(async {
        let mut other = Viewer::open(&desk, &id).await;
        for (what, bytes) in odd {
            let mut stream = TcpStream::connect(desk.address).unwrap();
            stream.set_read_timeout(Some(DEADLINE)).unwrap();
            let head = format!(
                "GET /api/sessions/{id}/watch HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\n\
                 Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                 Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                desk.address
            );
            stream.write_all(head.as_bytes()).unwrap();
            let mut first = [0; 12];
            stream.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 101", "{what}");
            // It may be cut off in the middle.
            let _ = stream.write_all(&bytes);
            assert_eq!(other.next_of("state").await["type"], "state", "{what}");
        }
        assert_eq!(other.command(r#"{"do":"restart","id":1}"#).await["type"], "done");
        // Their places are free, and the last one has its own.
        let start = Instant::now();
        let viewers = async || {
            let mut all = Vec::new();
            for _ in 0..Limits::default().viewers - 1 {
                all.push(Viewer::with(&desk.watch_url(&id), &[]).await.ok());
            }
            all.iter().all(Option::is_some)
        };
        while !viewers().await {
            assert!(start.elapsed() < DEADLINE, "places are free again");
        }
    });
}
