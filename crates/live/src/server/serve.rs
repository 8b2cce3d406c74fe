//! Connections: taken, bounded in number and time, and left in the end.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::{App, router};

/// The longest head of a request, in bytes.
const HEAD: usize = 16 << 10;
/// How long an answer may take, in patiences.
const ANSWER: u32 = 6;
/// How long viewers have to hear that it is over.
const FAREWELL: Duration = Duration::from_secs(2);
/// After an error that passes, such as too many open files.
const RECOVER: Duration = Duration::from_millis(100);

/// Answers until `until` is there, and tells viewers then.
pub(super) async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    until: impl Future<Output = ()>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let router = router(app.clone());
    let seats = Arc::new(Semaphore::new(app.limits.connections));
    let mut until = pin!(until);
    loop {
        let next = async {
            // It is never closed.
            let seat = seats.clone().acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((seat, listener.accept().await?.0))
        };
        let (seat, stream) = tokio::select! {
            biased;
            () = &mut until => break,
            next = next => match next {
                Ok(next) => next,
                // The client went, or a moment without resources: the next one may do better.
                Err(_) => {
                    sleep(RECOVER).await;
                    continue;
                }
            },
        };
        // What is sent is to be seen now.
        let _ = stream.set_nodelay(true);
        let patience = app.limits.patience;
        let service = TowerToHyperService::new(router.clone());
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(HEAD);
        let connection = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        tokio::spawn(async move {
            let _seat = seat;
            // What a client does wrong is between it and its connection.
            let _ = timeout(patience * ANSWER, connection).await;
        });
    }
    drop(listener);
    for entry in app.sessions().values() {
        entry.session.end();
    }
    let last = Instant::now() + FAREWELL;
    while app.viewers.load(Ordering::Relaxed) > 0 && Instant::now() < last {
        sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
