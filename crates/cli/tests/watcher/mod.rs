//! A minimal viewer of a session: a WebSocket with text messages.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

pub struct Watcher {
    stream: TcpStream,
    deadline: Duration,
}

impl Watcher {
    pub fn new(address: SocketAddr, session: &str, token: &str, deadline: Duration) -> Watcher {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(deadline)).unwrap();
        let head = format!(
            "GET /api/sessions/{session}/watch?token={token} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(byte(&mut stream));
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
        Watcher { stream, deadline }
    }

    /// RFC 6455 §5.2: a final frame of text, masked with zeros.
    pub fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let length = u8::try_from(text.len()).ok().filter(|n| *n < 126).expect("a short message");
        let head = [0x81, 0x80 | length, 0, 0, 0, 0];
        self.stream.write_all(&[&head[..], text.as_bytes()].concat()).unwrap();
    }

    /// The next message that meets the condition; earlier ones are discarded.
    pub fn until(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let message = self.next();
            if is(&message) {
                return message;
            }
            assert!(start.elapsed() < self.deadline, "{what}: {message}");
        }
    }

    fn next(&mut self) -> Value {
        loop {
            let kind = byte(&mut self.stream) & 0x0f;
            let more = match byte(&mut self.stream) {
                126 => 2,
                127 => 8,
                length => {
                    if let Some(value) = self.take(kind, length.into()) {
                        return value;
                    }
                    continue;
                }
            };
            let length = (0..more).fold(0, |n, _| n << 8 | usize::from(byte(&mut self.stream)));
            if let Some(value) = self.take(kind, length) {
                return value;
            }
        }
    }

    /// The payload of a frame. A ping needs no answer within the time of a test.
    fn take(&mut self, kind: u8, length: usize) -> Option<Value> {
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).expect("a whole frame");
        assert_ne!(kind, 8, "it closed: {}", String::from_utf8_lossy(&payload));
        (kind == 1).then(|| serde_json::from_slice(&payload).expect("JSON"))
    }
}

fn byte(stream: &mut TcpStream) -> u8 {
    let mut one = [0];
    stream.read_exact(&mut one).expect("more");
    one[0]
}

/// The processes that a process started.
pub fn children(process: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").expect("a list of processes");
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|id: &u32| parent(*id) == Some(process))
        .collect()
}

/// The parent of a process: after the name, which may contain any character, come the state and the parent.
fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

pub fn lives(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}
