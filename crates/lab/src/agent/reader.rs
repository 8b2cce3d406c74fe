//! Reads an endless flow inside the kernel.
//!
//! A thread waits in a long `recv` (MSG_WAITALL, MSG_TRUNC). A segment wakes it in TCP's loop, which discards the
//! data, acknowledges as after any read (`tcp_cleanup_rbuf`), adjusts the receive buffer, and waits again. So the
//! flow is read at once, and the process goes on once per megabyte.
//!
//! In user-mode Linux a switch between the kernel and a process is one between two processes of the host. A
//! switch between threads inside the kernel is a jump.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use l4s_os::OsError;
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown};

use super::socket;

/// The most that is discarded by one call.
const LONG: usize = 1 << 20;
/// The thread's, which calls `recv` and little else.
const STACK: usize = 64 << 10;

/// A flow's thread. It stops when this is dropped.
pub(super) struct Reader {
    socket: Arc<OwnedFd>,
    thread: Option<JoinHandle<Read>>,
}

/// Bytes that were read until the end of a flow, and the error that ended it, if any.
type Read = (u64, rustix::io::Result<()>);

impl Reader {
    /// Reads a connected socket from now on, alone. `received` bytes were read before.
    pub fn start(socket: &Arc<OwnedFd>, received: u64) -> Result<Reader, OsError> {
        let failed = |error| OsError::machine("a thread that reads", error);
        rustix::io::ioctl_fionbio(socket, false).map_err(|error| failed(error.into()))?;
        let (socket, theirs) = (Arc::clone(socket), Arc::clone(socket));
        let thread = thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || read(&theirs, received))
            .map_err(failed)?;
        Ok(Reader { socket, thread: Some(thread) })
    }

    /// The bytes that were read so far: in virtual time, all that TCP has received in order.
    pub fn received(&self) -> Result<u64, OsError> {
        socket::received(&self.socket)
    }

    /// Whether the flow has ended.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops it, after it has read the waiting data. The peer sees nothing of it.
    pub fn stop(mut self) -> Read {
        self.join()
    }

    fn join(&mut self) -> Read {
        let Some(thread) = self.thread.take() else { return (0, Ok(())) };
        // It fails where the connection is gone, and with it the wait.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Read);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

/// Discards data until the end of the flow. `received` bytes were read before.
fn read(socket: &OwnedFd, mut received: u64) -> Read {
    // Never touched: discarded data is not copied, so that its pages need not exist.
    let mut sink = vec![0; LONG];
    loop {
        match rustix::net::recv(socket, &mut sink[..], RecvFlags::TRUNC | RecvFlags::WAITALL) {
            Ok((_, 0)) => return (received, Ok(())),
            Ok((_, n)) => received += n as u64,
            Err(Errno::INTR) => {}
            Err(error) => return (received, Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    /// A server's end, and the reader of its client's end.
    fn pair() -> (TcpStream, Reader) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nonblocking(true).unwrap();
        let reader = Reader::start(&Arc::new(client.into()), 0).unwrap();
        (listener.accept().unwrap().0, reader)
    }

    fn wait_until(come: impl Fn() -> bool) {
        let began = Instant::now();
        while !come() {
            assert!(began.elapsed() < Duration::from_secs(20));
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn it_counts_what_was_sent_until_it_is_stopped() {
        let (mut server, reader) = pair();
        // Less than one call takes.
        server.write_all(&[0; 100_000]).unwrap();
        wait_until(|| reader.received().unwrap() == 100_000);
        assert!(!reader.is_over());
        assert_eq!(reader.stop(), (100_000, Ok(())));
    }

    #[test]
    fn the_peer_of_a_flow_can_write_after_a_stop() {
        let (mut server, mut reader) = pair();
        assert_eq!(reader.join(), (0, Ok(())));
        for _ in 0..10 {
            server.write_all(&[0; 1000]).unwrap();
        }
        assert!(server.take_error().unwrap().is_none());
    }

    #[test]
    fn it_ends_with_its_flow() {
        let (mut server, reader) = pair();
        server.write_all(&[0; 5000]).unwrap();
        drop(server);
        wait_until(|| reader.is_over());
        assert_eq!(reader.stop(), (5000, Ok(())));
    }
}
