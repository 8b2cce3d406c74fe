//! The two ends of a connection, of TCP or of QUIC: the only place that knows both.

use l4s_cc::Window;
use l4s_cc::classic_ecn::Report;
use l4s_model::{Feedback, Hold, SourceId};
use l4s_observe::{Contents, Header, OnWire, Wire};
use l4s_units::{Duration, Ecn, Time};

use crate::message::{Message, Return};
use crate::packet::Packet;
use crate::quic;
use crate::tcp::{self, Offer, SenderConfig, State};

/// The end that sends.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // Nearly all are of TCP, which needs no pointer.
pub(crate) enum Server {
    Tcp(tcp::Sender),
    Quic(Box<quic::Sender>),
}

/// The end that opens the connection, and receives.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // Nearly all are of TCP, which needs no pointer.
pub(crate) enum Client {
    Tcp(tcp::Client),
    Quic(Box<quic::Client>),
}

/// Calls a function that both transports have.
macro_rules! either {
    ($of:ident, $end:expr, $name:ident => $call:expr) => {
        match $end {
            $of::Tcp($name) => $call,
            $of::Quic($name) => $call,
        }
    };
}

/// The two ends of a new connection of TCP.
pub(crate) fn ends_of_tcp(sender: &SenderConfig, offer: Offer) -> (Server, Client) {
    let client = tcp::Client::new(offer, sender.mss, sender.rcvbuf);
    (Server::Tcp(tcp::Sender::new(sender)), Client::Tcp(client))
}

/// The two ends of a new connection of QUIC.
pub(crate) fn ends_of_quic(
    sender: &SenderConfig,
    offer: Offer,
    ack_eliciting_threshold: u32,
) -> (Server, Client) {
    let server = quic::Sender::new(sender, ack_eliciting_threshold);
    let client = quic::Client::new(offer.feedback != Feedback::None, ack_eliciting_threshold);
    (Server::Quic(Box::new(server)), Client::Quic(Box::new(client)))
}

impl Server {
    /// A message of the client arrived.
    #[inline(always)]
    pub fn on_message(
        &mut self,
        message: &Message,
        now: Time,
        out: &mut (impl tcp::Output + quic::Output),
    ) {
        match self {
            Server::Tcp(server) => match message {
                Message::Ack(ack) => server.on_ack(ack, now, out),
                Message::Syn(syn) => server.on_syn(syn, now, out),
                Message::Request(request) => server.on_request(request, now, out),
                // A scenario was changed in mid-run: this is of the connection before.
                Message::Quic(_) => {}
            },
            Server::Quic(server) => {
                if let Message::Quic(message) = message {
                    server.on_message(message, now, out);
                }
            }
        }
    }

    /// The timer is due.
    pub fn on_timer(&mut self, now: Time, out: &mut (impl tcp::Output + quic::Output)) {
        either!(Server, self, server => server.on_timer(now, out));
    }

    /// When it is due, and whether all is acknowledged.
    #[inline(always)]
    pub fn status(&self) -> (Time, bool) {
        match self {
            Server::Tcp(server) => (server.deadline(), server.state() == State::Closed),
            Server::Quic(server) => (server.deadline(), server.is_closed()),
        }
    }

    /// Asks for the memory of its segments in flight, with TCP. Thousands of connections of QUIC were not measured.
    #[inline]
    pub fn prefetch_flight(&self) {
        if let Server::Tcp(server) = self {
            server.prefetch_flight();
        }
    }

    /// Whether data may flow.
    pub fn is_established(&self) -> bool {
        match self {
            Server::Tcp(server) => server.state().is_established(),
            Server::Quic(server) => server.is_established(),
        }
    }

    pub fn window(&self) -> Window {
        either!(Server, self, server => server.window())
    }

    pub fn srtt(&self) -> Option<Duration> {
        either!(Server, self, server => server.srtt())
    }

    pub fn alpha(&self) -> Option<f64> {
        either!(Server, self, server => server.alpha())
    }

    pub fn classic_ecn(&self) -> Option<Report> {
        either!(Server, self, server => server.classic_ecn())
    }

    /// From now on it sends the writes of an application. QUIC holds none of them back.
    pub fn serve_application(&mut self, hold: Hold) {
        match self {
            Server::Tcp(server) => server.serve_application(hold),
            Server::Quic(server) => server.serve_application(),
        }
    }

    /// The application writes `bytes`, and pushes them.
    pub fn write(&mut self, bytes: u64, now: Time, out: &mut (impl tcp::Output + quic::Output)) {
        either!(Server, self, server => server.write(bytes, now, out));
    }

    /// How many writes of the application have not been sent to their end.
    pub fn unsent_writes(&self) -> usize {
        either!(Server, self, server => server.unsent_writes())
    }

    /// How many of them the client has not received to their end, where it has all bytes before
    /// `received`.
    pub fn undelivered_writes(&self, received: u64) -> usize {
        either!(Server, self, server => server.undelivered_writes(received))
    }

    /// The ECN field of a client's message.
    pub fn ecn_of(&self, message: &Message) -> Ecn {
        match self {
            Server::Tcp(server) => server.ecn_of(message),
            Server::Quic(server) => server.codepoint_of_client(),
        }
    }
}

impl Client {
    /// Opens the connection, or tries again.
    pub fn open(&mut self, now: Time) -> Option<Message> {
        match self {
            Client::Tcp(client) => client.open(now),
            Client::Quic(client) => client.open(now).map(Message::Quic),
        }
    }

    /// A packet arrived; `send` gets each answer.
    #[inline(always)]
    pub fn on_packet(
        &mut self,
        packet: &Packet,
        now: Time,
        mut send: impl FnMut(Message),
    ) -> Arrival {
        match self {
            Client::Tcp(client) => {
                let before = (client.is_closed(), client.read());
                client.on_packet(packet, now, send);
                Arrival::of(before, client.is_closed(), client.read(), client.deadline())
            }
            Client::Quic(client) => {
                let before = (client.is_closed(), client.read());
                client.on_packet(packet, now, |message| send(Message::Quic(message)));
                Arrival::of(before, client.is_closed(), client.read(), client.deadline())
            }
        }
    }

    /// The timer is due.
    pub fn on_timer(&mut self, now: Time) -> Option<Message> {
        match self {
            Client::Tcp(client) => client.on_timer(now),
            Client::Quic(client) => client.on_timer(now).map(Message::Quic),
        }
    }

    /// When it is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        either!(Client, self, client => client.deadline())
    }

    /// Whether everything arrived.
    #[inline]
    pub fn is_closed(&self) -> bool {
        either!(Client, self, client => client.is_closed())
    }

    /// Bytes that the application has read, each once and in order.
    #[inline]
    pub fn read(&self) -> u64 {
        either!(Client, self, client => client.read())
    }

    /// When the last data arrived; time zero where none did.
    pub fn last_arrival(&self) -> Time {
        either!(Client, self, client => client.last_arrival())
    }
}

/// The effects of a packet on its client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Bytes that the application read.
    pub read: u64,
    /// Everything has arrived with it.
    pub closes: bool,
    /// When the client's timer is due.
    pub deadline: Time,
}

impl Arrival {
    #[inline(always)]
    fn of(before: (bool, u64), is_closed: bool, read: u64, deadline: Time) -> Arrival {
        let (was_closed, had_read) = before;
        Arrival { read: read - had_read, closes: is_closed && !was_closed, deadline }
    }
}

/// A message that arrives at its server.
pub(crate) struct Answer<'a> {
    pub returned: &'a Return,
    pub group: SourceId,
    pub server: &'a Server,
}

impl OnWire for Answer<'_> {
    fn wire(&self) -> Wire<'_> {
        let message = &self.returned.message;
        let header = match self.server {
            Server::Tcp(server) => Header::Tcp(server.answer(message)),
            Server::Quic(_) => Header::Udp { payload: message.udp_payload(), number: 0 },
        };
        let contents = Contents::Headers(self.server.ecn_of(message), header);
        Wire { flow: self.returned.flow, group: self.group, contents }
    }
}
