//! Where a server listens, and the address that a person opens.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use super::guard::{Guard, Token};
use super::{App, Options, serve};

/// How many ports are tried for a suggestion.
const NEAR_PORTS: u16 = 50;

/// A server that listens, and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: Option<Token>,
    app: Arc<App>,
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Something else listens there.
    #[error("port {port} of {ip} is in use", port = address.port(), ip = address.ip())]
    InUse {
        /// Where.
        address: SocketAddr,
        /// The same with a port that is free, where one is near.
        free: Option<SocketAddr>,
    },
    /// The system refuses it.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// There is no randomness for a token.
    #[error("no token: {0}")]
    Token(io::Error),
}

impl Server {
    /// Listens at an address; port 0 is any that is free. Beyond loopback, and with real sockets, it
    /// has a token, and makes one where there is none.
    ///
    /// # Errors
    /// The address is in use or not available.
    pub fn bind(address: SocketAddr, mut options: Options) -> Result<Server, BindError> {
        let refused = |source| BindError::Refused { address, source };
        let listener = TcpListener::bind(address).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse { address, free: free_near(address) },
            _ => refused(error),
        })?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let mut token = options.token.take();
        // Who has real sockets is root, and other users of this machine are not.
        let open = address.ip().is_loopback() && options.substrate.has_virtual_time();
        if token.is_none() && !open {
            token = Some(Token::random().map_err(BindError::Token)?);
        }
        let guard = Guard::new(address, token.clone());
        Ok(Server { listener, address, token, app: Arc::new(App::new(options, guard)) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether requests must show a token.
    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// The URL to open in a browser, with the token.
    pub fn url(&self) -> String {
        let ip = match self.address.ip() {
            ip if ip.is_unspecified() => own_address(ip),
            ip => ip,
        };
        let host = SocketAddr::new(ip, self.address.port());
        match &self.token {
            Some(token) => format!("http://{host}/?token={}", token.as_str()),
            None => format!("http://{host}/"),
        }
    }

    /// Serves until `signal` comes. Then it ends all sessions and informs their viewers, for less than
    /// a second. Sessions with real sockets have no limit for their clean-up, unless
    /// `signal` comes again.
    ///
    /// # Errors
    /// The system refuses the resources of a server.
    pub fn run(self, signal: impl AsyncFn()) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(serve::serve(self.listener, self.app, signal))
    }
}

/// A server on a thread of its own. It ends when this is dropped.
pub struct Background {
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Server {
    /// Serves on a thread of its own.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn in_background(self) -> io::Result<Background> {
        let (end, ended) = watch::channel(false);
        let over = async move || {
            // Where the sender is gone, it is over, too.
            let _ = ended.clone().wait_for(|over| *over).await;
        };
        let builder = std::thread::Builder::new().name("page".to_owned());
        let thread = builder.spawn(move || self.run(over))?;
        Ok(Background { end, thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end.send_replace(true);
        // A panic of the thread was reported by itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Until the process is asked to end: Ctrl-C, or SIGTERM.
pub async fn interrupted() {
    #[cfg(unix)]
    if let Ok(mut terminated) =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        }
        return;
    }
    // Without a handler the system ends the process.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn free_near(address: SocketAddr) -> Option<SocketAddr> {
    let ports = address.port().saturating_add(1)..=address.port().saturating_add(NEAR_PORTS);
    let near = ports.map(|port| SocketAddr::new(address.ip(), port));
    near.into_iter().find(|near| TcpListener::bind(near).is_ok())
}

/// The address that other machines know this one by, where there is one: that of the way out. Nothing
/// is sent.
fn own_address(unspecified: IpAddr) -> IpAddr {
    let (any, out): (SocketAddr, SocketAddr) = match unspecified {
        IpAddr::V4(_) => {
            let documentation = Ipv4Addr::new(192, 0, 2, 1);
            ((Ipv4Addr::UNSPECIFIED, 0).into(), (documentation, 9).into())
        }
        IpAddr::V6(_) => {
            let documentation = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
            ((Ipv6Addr::UNSPECIFIED, 0).into(), (documentation, 9).into())
        }
    };
    let found = UdpSocket::bind(any).and_then(|socket| {
        socket.connect(out)?;
        socket.local_addr()
    });
    let loopback = match unspecified {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::LOCALHOST),
    };
    found.map(|address| address.ip()).ok().filter(|ip| !ip.is_unspecified()).unwrap_or(loopback)
}
