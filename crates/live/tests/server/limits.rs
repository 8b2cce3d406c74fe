//! Slow, greedy and too many clients.

use super::*;

/// Requests answers and reads none of them, until the server closes the connection.
fn reads_nothing(desk: &Desk, id: &str) -> std::thread::JoinHandle<()> {
    let mut stream = TcpStream::connect(desk.address).unwrap();
    desk.upgrade(&mut stream, id);
    // A text frame of 4000 bytes, masked with zeros. It is no JSON, which the answer reports.
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
        // Its slot is free.
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
        // The connection ends, with or without an answer.
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
        // Its slot is free after the server noticed its end.
        let start = Instant::now();
        while Viewer::with(&desk.watch_url(&one), &[]).await.is_err() {
            assert!(start.elapsed() < DEADLINE);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    desk.ask("DELETE", &format!("/api/sessions/{one}"), &[], "");
    until("its place is free", || desk.ask("POST", "/api/sessions", &[], "{}").status == 201);
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
    // A session must not become greedy either, and it continues.
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

/// `connections` connections that have sent `said`, and then send single bytes from time to time.
fn dribbling(desk: &Desk, connections: usize, said: &str) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = TcpStream::connect(desk.address).unwrap();
        // Some were already closed.
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
            // The connections are all still open: their time limit is not reached for long.
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
