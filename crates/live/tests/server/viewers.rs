//! Messages from viewers and to viewers.

use super::*;

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
        // A message that is too long ends only its viewer.
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

/// The number of states that a viewer received, and the number of the last one.
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

/// A frame of a WebSocket, masked with zeros: first byte, and unchanged second byte.
fn frame(first: u8, second: u8, rest: &[u8]) -> Vec<u8> {
    [&[first, second][..], &[0; 4], rest].concat()
}

/// Frames that no client should send, and some that are unusual but allowed.
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
            desk.upgrade(&mut stream, &id);
            let mut first = [0; 12];
            stream.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 101", "{what}");
            // The connection may be closed during the write.
            let _ = stream.write_all(&bytes);
            assert_eq!(other.next_of("state").await["type"], "state", "{what}");
        }
        assert_eq!(other.command(r#"{"do":"restart","id":1}"#).await["type"], "done");
        // Their slots are free, and the last viewer has its own.
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
