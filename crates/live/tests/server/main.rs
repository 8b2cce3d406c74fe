//! The server from the clients' view, over real sockets.

mod access;
mod desk;
mod ends;
#[path = "../fake/mod.rs"]
mod fake;
mod limits;
mod viewers;

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
