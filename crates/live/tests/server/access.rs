//! Permissions: the page, requests, tokens and origins.

use super::*;

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
    // Bytes that are not HTTP are refused, too, and the server continues.
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
