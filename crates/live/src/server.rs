//! The server: a page, a little REST, and a WebSocket for each viewer.
//!
//! One thread serves all requests; each session has its own. Requests from outside are bounded in
//! number, size and time, and pass `guard` first.

mod answer;
mod assets;
mod bind;
mod callers;
mod guard;
mod serve;
mod viewer;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State, WebSocketUpgrade};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use l4s_substrate::Lanes;
use serde_json::value::RawValue;

use crate::Meter;
use crate::budget::{self, Budget, Semaphore};
use crate::document::Presets;
use crate::limits;
use crate::protocol::{self, Bucketing, Discipline, Fault, Greeting, Opening, Span};
use crate::session::{Ground, Session, Standing, to_json};
use answer::{Created, Refusal};
use guard::Guard;

pub use bind::{Background, BindError, Server, interrupted};
pub use guard::{Token, TokenError};

/// The longest message to the server, in bytes.
pub const MESSAGE: usize = 64 << 10;

/// The configuration of a server.
pub struct Options {
    /// The substrate of its lanes.
    pub substrate: Box<dyn Lanes<Meter>>,
    /// The presets of its sessions.
    pub presets: Presets,
    /// The token that requests must carry. A server that listens on more than loopback makes one
    /// for itself where there is none.
    pub token: Option<Token>,
    /// Its limits.
    pub limits: Limits,
}

/// Limits of a server. Those of a scenario are in [`crate::limits`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// Sessions at a time.
    pub sessions: usize,
    /// Viewers at a time, of all sessions.
    pub viewers: usize,
    /// Concurrent connections, without those of viewers: this many unverified ones, at most a quarter of
    /// them from one address other than loopback, and as many verified ones. A further connection
    /// takes the place of the oldest.
    pub connections: usize,
    /// The memory that all sessions together may come to need, in bytes.
    pub memory: u64,
    /// Texts of scenarios that are read at a time.
    pub readers: usize,
    /// Commands of a viewer per second; twice as many at once.
    pub commands: f64,
    /// How long a session goes on without viewers.
    pub unwatched: Duration,
    /// How long a client may take to send a request, or to take a message.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            sessions: 64,
            viewers: 64,
            connections: 256,
            memory: 8_000_000_000,
            readers: 2,
            commands: 50.0,
            unwatched: Duration::from_secs(30),
            patience: Duration::from_secs(10),
        }
    }
}

/// The shared state of all requests.
struct App {
    ground: Arc<Ground>,
    limits: Limits,
    guard: Guard,
    greeting: Arc<str>,
    sessions: Mutex<HashMap<String, Entry>>,
    viewers: AtomicUsize,
}

/// A session and its thread.
struct Entry {
    session: Arc<Session>,
    thread: JoinHandle<()>,
}

impl App {
    fn new(options: Options, guard: Guard) -> App {
        let Options { substrate, presets, limits, .. } = options;
        let greeting = to_json(&greeting(&*substrate, &presets, &limits));
        let (unwatched, budget) = (limits.unwatched, Budget::new(limits.memory));
        let readers = Semaphore::new(limits.readers);
        let ground = Arc::new(Ground { substrate, presets, unwatched, budget, readers });
        let (sessions, viewers) = Default::default();
        App { ground, limits, guard, greeting, sessions, viewers }
    }

    /// Nothing that holds the lock can leave the map half changed.
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: &str) -> Result<Arc<Session>, Refusal> {
        let found = self.sessions().get(id).map(|entry| entry.session.clone());
        let found = found.filter(|session| !session.is_ending());
        found.ok_or_else(|| {
            let fault = Fault::new("session", "there is no such session, or it is over");
            Refusal(StatusCode::NOT_FOUND, fault)
        })
    }

    /// Starts a session, which removes itself when it is over.
    fn start(self: &Arc<App>, opening: Opening) -> Result<(String, Arc<Session>), Refusal> {
        let busy =
            |what: String| Refusal(StatusCode::SERVICE_UNAVAILABLE, Fault::new("session", what));
        let id = guard::random_hex(8).map_err(|error| busy(error.to_string()))?;
        let mut sessions = self.sessions();
        let most = self.limits.sessions;
        if sessions.len() >= most {
            return Err(busy(format!("{most} sessions run already, which is the limit")));
        }
        let (app, ending) = (Arc::downgrade(self), id.clone());
        // Waits for the lock that is held here, so that the session is there when it goes.
        let ended = move || {
            if let Some(app) = app.upgrade() {
                app.sessions().remove(&ending);
            }
        };
        let (session, thread) = Session::start(self.ground.clone(), opening, ended)
            .map_err(|error| busy(format!("no thread for another session: {error}")))?;
        let session = Arc::new(session);
        sessions.insert(id.clone(), Entry { session: session.clone(), thread });
        Ok((id, session))
    }

    /// Ends all sessions; returns their threads.
    fn end(&self) -> Vec<JoinHandle<()>> {
        let entries: Vec<Entry> = self.sessions().drain().map(|(_, entry)| entry).collect();
        let end = |entry: Entry| {
            entry.session.end();
            entry.thread
        };
        entries.into_iter().map(end).collect()
    }

    /// One more viewer, unless there are as many as there may be.
    fn viewer(self: &Arc<App>) -> Result<Seat, Refusal> {
        let most = self.limits.viewers;
        let taken = self.viewers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |viewers| {
            (viewers < most).then_some(viewers + 1)
        });
        match taken {
            Ok(_) => Ok(Seat(self.clone())),
            Err(_) => {
                let message = format!("{most} viewers watch already, which is the limit");
                Err(Refusal(StatusCode::SERVICE_UNAVAILABLE, Fault::new("viewers", message)))
            }
        }
    }
}

/// Counts as a viewer as long as it lives.
struct Seat(Arc<App>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

fn greeting(substrate: &dyn Lanes<Meter>, presets: &Presets, limits: &Limits) -> Greeting {
    let (min, max) = (*limits::SPEED.start(), *limits::SPEED.end());
    let real = Span { min: 1.0, max: 1.0 };
    Greeting {
        protocol: protocol::PROTOCOL,
        version: env!("CARGO_PKG_VERSION"),
        on: substrate.name(),
        scenario: presets.name().to_owned(),
        points: presets.list(),
        delay_buckets: Bucketing::default(),
        limits: protocol::Limits {
            sessions: limits.sessions,
            viewers: limits.viewers,
            flows: limits::FLOWS,
            downloads: limits::DOWNLOADS_AT_A_TIME,
            rate_bps: limits::RATE.as_bps() as f64,
            message_bytes: MESSAGE,
            compare: substrate.has_virtual_time(),
            speed: if substrate.has_virtual_time() { Span { min, max } } else { real },
        },
        disciplines: Discipline::all(),
        controls: Discipline::controls(),
    }
}

/// All that can be asked.
fn router(app: Arc<App>) -> Router {
    let api = Router::new()
        .route("/greeting", get(greet))
        .route("/sessions", axum::routing::post(create))
        .route("/sessions/{id}", get(settings).delete(delete))
        .route("/sessions/{id}/scenario", get(scenario))
        .route("/sessions/{id}/watch", get(watch))
        .fallback(nothing)
        .layer(from_fn_with_state(app.clone(), guard::api));
    Router::new()
        .merge(assets::router())
        // Browsers ask for it, and call it an error where there is none.
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .nest("/api", api)
        .fallback(nothing)
        .method_not_allowed_fallback(not_so)
        .layer(from_fn_with_state(app.clone(), guard::every))
        .with_state(app)
}

async fn nothing() -> Refusal {
    Refusal(StatusCode::NOT_FOUND, Fault::new("path", "there is nothing here"))
}

async fn not_so() -> Refusal {
    Refusal(StatusCode::METHOD_NOT_ALLOWED, Fault::new("method", "not this method"))
}

async fn greet(State(app): State<Arc<App>>) -> Response {
    answer::json(StatusCode::OK, app.greeting.to_string())
}

async fn create(State(app): State<Arc<App>>, body: Body) -> Result<Response, Refusal> {
    let body = answer::body(body, app.limits.patience).await?;
    let opening = protocol::Request::read(&body).map_err(Refusal::not_understood)?;
    let (id, session) = app.start(opening)?;
    match answer::standing(&session).await {
        Standing::On { settings, .. } => {
            let settings: Box<RawValue> =
                serde_json::from_str(&settings).map_err(Refusal::defect)?;
            Ok(answer::json(
                StatusCode::CREATED,
                to_json(&Created { id: &id, settings }).to_string(),
            ))
        }
        // It may do later.
        Standing::Over(Some(fault)) if fault.field == budget::OTHERS => {
            Err(Refusal(StatusCode::SERVICE_UNAVAILABLE, fault))
        }
        Standing::Over(Some(fault)) => Err(Refusal(StatusCode::UNPROCESSABLE_ENTITY, fault)),
        Standing::Over(None) | Standing::Starting => {
            Err(Refusal::defect("the session ended before it began"))
        }
    }
}

async fn settings(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let (settings, _) = answer::on(&*app.session(&id)?).await?;
    Ok(answer::json(StatusCode::OK, settings.to_string()))
}

async fn scenario(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let (_, text) = answer::on(&*app.session(&id)?).await?;
    let head = [
        (header::CONTENT_TYPE, "application/toml; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"scenario.toml\""),
    ];
    Ok((head, text.to_string()).into_response())
}

async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    app.session(&id)?.end();
    Ok(StatusCode::NO_CONTENT)
}

async fn watch(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    use axum::extract::FromRequest;
    let session = app.session(&id)?;
    let upgrade = WebSocketUpgrade::from_request(request, &app).await.map_err(|refused| {
        Refusal(refused.status(), Fault::new("upgrade", "expected a WebSocket"))
    })?;
    let seat = app.viewer()?;
    let watching = session.watching();
    let upgrade = upgrade.max_message_size(MESSAGE).max_frame_size(MESSAGE);
    Ok(upgrade.on_upgrade(async move |socket| {
        let _here = (seat, watching);
        viewer::watch(socket, &session, &app.limits).await;
    }))
}
