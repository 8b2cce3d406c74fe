//! A server on a port of its own, and the operations of a client.

// Each test file uses a part of it.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use l4s_live::Meter;
use l4s_live::document::Presets;
use l4s_live::server::{Limits, Options, Server, Token};
use l4s_scenario::bundled;
use l4s_substrate::Lanes;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// The longest time that a test waits for an event.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A server that ends with the test.
pub struct Desk {
    pub address: SocketAddr,
    pub url: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An answer: status, head, body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub fn desk(substrate: impl Lanes<Meter> + 'static) -> Desk {
    desk_with(substrate, Limits::default(), None)
}

pub fn desk_with(
    substrate: impl Lanes<Meter> + 'static,
    limits: Limits,
    token: Option<&str>,
) -> Desk {
    let live = bundled::find("live").unwrap().plan(&[]).unwrap();
    let presets = Presets::new(&live, "live.toml", Some("live")).unwrap();
    let token = token.map(|token| Token::new(token).unwrap());
    let options = Options { substrate: Box::new(substrate), presets, token, limits };
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let (address, url) = (server.address(), server.url());
    let (end, ended) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        let ended = tokio::sync::Mutex::new(Some(ended));
        server
            .run(async || match ended.lock().await.take() {
                Some(ended) => drop(ended.await),
                None => std::future::pending().await,
            })
            .unwrap();
    });
    Desk { address, url, end: Some(end), thread: Some(thread) }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.end();
    }
}

impl Desk {
    /// Requests to watch a session over a WebSocket on `stream`.
    pub fn upgrade(&self, stream: &mut TcpStream, id: &str) {
        let head = format!(
            "GET /api/sessions/{id}/watch HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).unwrap();
    }

    /// Ends the server and waits for it.
    pub fn end(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    /// Sends these bytes unchanged, and reads to the end.
    pub fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        // The server may have refused already.
        let _ = stream.write_all(bytes);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// A request with these lines in its head.
    pub fn ask(&self, method: &str, path: &str, head: &[&str], body: &str) -> Answer {
        let host = format!("Host: {}", self.address);
        let own = head.iter().any(|line| line.to_lowercase().starts_with("host:"));
        let host = if own { String::new() } else { format!("{host}\r\n") };
        let lines: String = head.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        self.raw(
            format!(
                "{method} {path} HTTP/1.1\r\n{host}{lines}Content-Length: {length}\r\n\r\n{body}"
            )
            .as_bytes(),
        )
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    /// The name of a new session.
    pub fn session(&self, body: &str) -> String {
        let created = self.ask("POST", "/api/sessions", &[], body);
        assert_eq!(created.status, 201, "{created:?}");
        created.json()["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a session is over.
    pub fn until_gone(&self, id: &str) {
        until("the session is over", || self.get(&format!("/api/sessions/{id}")).status == 404);
    }

    pub fn watch_url(&self, id: &str) -> String {
        format!("ws://{}/api/sessions/{id}/watch", self.address)
    }
}

/// Waits until a condition is true.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < DEADLINE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A viewer.
pub struct Viewer {
    pub socket: WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>,
}

impl Viewer {
    pub async fn open(desk: &Desk, id: &str) -> Viewer {
        Viewer::with(&desk.watch_url(id), &[]).await.expect("it may watch")
    }

    /// The viewer, or the status of a refusal.
    pub async fn with(url: &str, head: &[(&'static str, &str)]) -> Result<Viewer, u16> {
        let mut request = url.into_client_request().unwrap();
        for (name, value) in head {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match connect_async(request).await {
            Ok((socket, _)) => Ok(Viewer { socket }),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub async fn say(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// The next message; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let message = tokio::time::timeout(DEADLINE, self.socket.next());
            match message.await.expect("something within the deadline") {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The next message of this type.
    pub async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next().await.expect("the session goes on");
            if message["type"] == kind {
                return message;
            }
        }
    }

    /// The answer to the command with this id.
    pub async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await.expect("the session goes on");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Sends a command, and returns the answer.
    pub async fn command(&mut self, command: &str) -> Value {
        let id = serde_json::from_str::<Value>(command).unwrap()["id"].as_u64().expect("an id");
        self.say(command).await;
        self.answer(id).await
    }
}

/// A runtime for one test.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
