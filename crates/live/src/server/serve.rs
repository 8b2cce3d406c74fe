//! Connections: taken, bounded in number and time, and left in the end.

use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Extension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::callers::{Admission, Callers};
use super::{App, router};

/// The longest head of a request, in bytes.
const HEAD: usize = 16 << 10;
/// How long an answer may take, in patiences.
const ANSWER: u32 = 6;
/// Time for the messages to viewers about the end, and for sessions to end.
const FAREWELL: Duration = Duration::from_millis(600);
/// After an error that passes, such as too many open files.
const RECOVER: Duration = Duration::from_millis(100);

/// Answers until `signal` comes, and then ends all sessions and informs their viewers.
pub(super) async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    signal: impl AsyncFn(),
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let router = router(app.clone());
    let callers = Callers::new(app.limits.connections);
    let mut until = pin!(signal());
    'serving: loop {
        let (stream, from) = tokio::select! {
            biased;
            () = &mut until => break,
            next = listener.accept() => match next {
                Ok((stream, from)) => (stream, from.ip()),
                // The client went, or a moment without resources: the next one may do better.
                Err(_) => {
                    sleep(RECOVER).await;
                    continue;
                }
            },
        };
        // Data is sent at once.
        let _ = stream.set_nodelay(true);
        let patience = app.limits.patience;
        let place = loop {
            match callers.receive(from, Instant::now()) {
                Admission::Granted(place) => break Some(Arc::new(place)),
                Admission::Refused => break None,
                Admission::Wait(then) => tokio::select! {
                    biased;
                    () = &mut until => break 'serving,
                    () = sleep_until(then) => {}
                },
            }
        };
        let Some(place) = place else { continue };
        let service = TowerToHyperService::new(router.clone().layer(Extension(place.clone())));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(HEAD);
        let connection = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        tokio::spawn(async move {
            tokio::select! {
                // An error of a client is between it and its connection.
                _ = timeout(patience * ANSWER, connection) => {}
                () = place.lost() => {}
            }
        });
    }
    drop(listener);
    end(&app, &signal).await;
    Ok(())
}

/// Ends all sessions. A simulation leaves nothing behind on the machine. So a session that
/// does not end in time, because it reads a long text, ends with the process.
async fn end(app: &App, signal: &impl AsyncFn()) {
    let threads = app.end();
    let last = Instant::now() + FAREWELL;
    let simulated = app.ground.substrate.has_virtual_time();
    let mut again = pin!(signal());
    loop {
        let viewers = app.viewers.load(Ordering::Relaxed) > 0 && Instant::now() < last;
        let sessions = threads.iter().any(|thread| !thread.is_finished());
        let sessions = sessions && (!simulated || Instant::now() < last);
        if !viewers && !sessions {
            return;
        }
        tokio::select! {
            biased;
            () = &mut again => return,
            () = sleep(Duration::from_millis(5)) => {}
        }
    }
}
