//! Answers to requests, and refusals.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::value::RawValue;

use super::MESSAGE;
use crate::protocol::Fault;
use crate::session::{Session, Standing, to_json};

/// Why a request is refused.
#[derive(Debug)]
pub(super) struct Refusal(pub StatusCode, pub Fault);

/// The answer to `POST /api/sessions`.
#[derive(Serialize)]
pub(super) struct Created<'a> {
    pub id: &'a str,
    pub settings: Box<RawValue>,
}

impl Refusal {
    /// The request makes no sense.
    pub fn not_understood(fault: Fault) -> Refusal {
        Refusal(StatusCode::BAD_REQUEST, fault)
    }

    /// An error that should not happen.
    pub fn defect(error: impl ToString) -> Refusal {
        Refusal(StatusCode::INTERNAL_SERVER_ERROR, Fault::new("server", error.to_string()))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        json(self.0, to_json(&self.1).to_string())
    }
}

/// A JSON text as an answer.
pub(super) fn json(status: StatusCode, text: String) -> Response {
    let head = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, head, text).into_response()
}

/// The body of a request, unless it is too long or too slow.
pub(super) async fn body(body: Body, patience: Duration) -> Result<Bytes, Refusal> {
    let refusal = |status, message: String| Refusal(status, Fault::new("body", message));
    match tokio::time::timeout(patience, to_bytes(body, MESSAGE)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => {
            Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, format!("expected at most {MESSAGE} bytes")))
        }
        Err(_) => Err(refusal(StatusCode::REQUEST_TIMEOUT, "it took too long".to_owned())),
    }
}

/// How a session stands, once its scenario was read.
pub(super) async fn standing(session: &Session) -> Standing {
    let mut standing = session.standing();
    let began = standing.wait_for(|standing| !matches!(standing, Standing::Starting)).await;
    // Its thread went without a word.
    began.map_or(Standing::Over(None), |standing| standing.clone())
}

/// The settings and the scenario of a session.
pub(super) async fn on(session: &Session) -> Result<(Arc<str>, Arc<str>), Refusal> {
    match standing(session).await {
        Standing::On { settings, text } => Ok((settings, text)),
        Standing::Over(fault) => {
            let over = || Fault::new("session", "there is no such session, or it is over");
            Err(Refusal(StatusCode::NOT_FOUND, fault.unwrap_or_else(over)))
        }
        Standing::Starting => Err(Refusal::defect("it never began")),
    }
}
