//! Access control: the token, and the browser's headers about the page that sends a request.
//!
//! A page from elsewhere that a viewer has open could send requests to this server. Two headers reveal
//! it: its Origin is not ours; or, where its name was made to point here (DNS rebinding), the Host is
//! not. On loopback both are checked, and without a token that is all. Beyond loopback the names of a
//! server are not known to it, and a foreign page does not have the token.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::answer::Refusal;
use super::{App, callers};
use crate::protocol::Fault;

/// The sources that the page may use: itself, and nothing from elsewhere. Charts set styles.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// The token of requests.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A text is no token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected 16 to 128 letters, digits, `-`, `_` or `.`")]
pub struct TokenError;

impl Token {
    /// A token that somebody chose.
    ///
    /// # Errors
    /// It is too short to be a secret, or would have to be escaped in a URL.
    pub fn new(text: &str) -> Result<Token, TokenError> {
        // `~` needs no escape in a URL either, but browsers write one (application/x-www-form-urlencoded).
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let fits = (16..=128).contains(&text.len()) && text.chars().all(plain);
        if fits { Ok(Token(text.to_owned())) } else { Err(TokenError) }
    }

    /// A token of 128 bits by chance.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn random() -> std::io::Result<Token> {
        random_hex(16).map(Token)
    }

    /// As it stands in a URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not reveal how much of it is right.
    fn is(&self, shown: &str) -> bool {
        let (own, shown) = (self.0.as_bytes(), shown.as_bytes());
        let differences = own.iter().zip(shown).fold(0, |differ, (a, b)| differ | (a ^ b));
        own.len() == shown.len() && std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for Token {
    /// A token is not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// This number of random bytes, in hexadecimal.
pub(super) fn random_hex(bytes: usize) -> std::io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The requirements of a server for requests.
#[derive(Debug)]
pub(super) struct Guard {
    token: Option<Token>,
    /// The valid values of Host; `None` where they are not known.
    hosts: Option<Vec<String>>,
}

impl Guard {
    /// For a server that listens there.
    pub fn new(address: SocketAddr, token: Option<Token>) -> Guard {
        let port = address.port();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        let own = match address.ip() {
            std::net::IpAddr::V4(ip) => ip.to_string(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let hosts = names.into_iter().chain([own]).flat_map(|name| {
            let with_port = format!("{name}:{port}");
            if port == 80 { vec![name, with_port] } else { vec![with_port] }
        });
        Guard { token, hosts: address.ip().is_loopback().then(|| hosts.collect()) }
    }

    fn host(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(hosts) = &self.hosts else { return Ok(()) };
        let host = only(headers, header::HOST).unwrap_or_default();
        if hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            return Ok(());
        }
        let message = "this server goes by localhost: a foreign Host is refused";
        Err(Refusal(StatusCode::FORBIDDEN, Fault::new("Host", message)))
    }

    /// A page's Origin is this server; programs have none.
    fn origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let foreign = || {
            let fault = Fault::new("Origin", "requests from other pages are refused");
            Refusal(StatusCode::FORBIDDEN, fault)
        };
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
            return Err(foreign());
        }
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = only(headers, header::ORIGIN).unwrap_or_default();
        let authority = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
        let host = only(headers, header::HOST);
        match (authority, host) {
            (Some(authority), Some(host)) if authority.eq_ignore_ascii_case(host) => Ok(()),
            _ => Err(foreign()),
        }
    }

    fn token(&self, request: &Request) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let bearer = only(request.headers(), header::AUTHORIZATION)
            .and_then(|text| text.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, shown)| shown.trim());
        // Browsers cannot set the headers of a WebSocket.
        let watches = request.uri().path().ends_with("/watch");
        let query = request.uri().query().filter(|_| watches).unwrap_or_default();
        let query = query.split('&').find_map(|pair| pair.strip_prefix("token="));
        match bearer.or(query) {
            Some(shown) if token.is(shown) => Ok(()),
            shown => {
                let message = if shown.is_some() { "a wrong token" } else { "expected a token" };
                let help = "open the address that `l4s live` printed".to_owned();
                let fault = Fault { help: Some(help), ..Fault::new("token", message) };
                Err(Refusal(StatusCode::UNAUTHORIZED, fault))
            }
        }
    }
}

/// The value of a header that stands once.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok();
    first.filter(|_| values.next().is_none())
}

/// The checks of every request, and the headers of every answer.
pub(super) async fn every(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match app.guard.host(request.headers()) {
        Ok(()) => {
            // Beyond loopback any Host will do: the token decides.
            if app.guard.token.is_none() {
                callers::vouch(&request);
            }
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    let upgrades = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    if !upgrades {
        // A page has few requests, and an idle connection would keep others waiting.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let said = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // The address of the page has the token in it.
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in said {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The further checks of a request about sessions.
pub(super) async fn api(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let allowed = app.guard.origin(request.headers()).and_then(|()| app.guard.token(&request));
    match allowed {
        Ok(()) => {
            callers::vouch(&request);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard::new(address.parse().unwrap(), None)
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn on_loopback_a_host_is_loopback() {
        let loopback = guard("127.0.0.1:4545");
        for host in ["localhost:4545", "LOCALHOST:4545", "127.0.0.1:4545", "[::1]:4545"] {
            assert!(loopback.host(&headers(&[("host", host)])).is_ok(), "{host}");
        }
        for host in ["localhost", "localhost:4546", "evil.example:4545", "127.0.0.1.evil:4545", ""]
        {
            assert!(loopback.host(&headers(&[("host", host)])).is_err(), "{host}");
        }
        assert!(loopback.host(&headers(&[])).is_err());
        let two = headers(&[("host", "localhost:4545"), ("host", "evil.example")]);
        assert!(loopback.host(&two).is_err());
        assert!(guard("127.0.0.1:80").host(&headers(&[("host", "localhost")])).is_ok());
        assert!(guard("0.0.0.0:4545").host(&headers(&[("host", "lab.example:4545")])).is_ok());
    }

    #[test]
    fn an_origin_is_ours_or_absent() {
        let guard = guard("127.0.0.1:4545");
        let origin = |pairs: &[(&'static str, &'static str)]| {
            let host = [("host", "localhost:4545")];
            let pairs: Vec<_> = host.iter().chain(pairs).copied().collect();
            guard.origin(&headers(&pairs)).is_ok()
        };
        assert!(origin(&[]));
        assert!(origin(&[("origin", "http://localhost:4545")]));
        assert!(origin(&[("sec-fetch-site", "same-origin")]));
        for foreign in [
            "http://evil.example",
            "http://127.0.0.1:4545",
            "http://localhost",
            "http://localhost:4546",
            "http://localhost:4545.evil.example",
            "http://x@localhost:4545",
            "file://localhost:4545",
            "null",
            "",
        ] {
            assert!(!origin(&[("origin", foreign)]), "{foreign}");
        }
        assert!(!origin(&[("sec-fetch-site", "cross-site")]));
        let ours = ("origin", "http://localhost:4545");
        assert!(!origin(&[ours, ("origin", "http://evil.example")]));
    }

    #[test]
    fn a_token_is_shown_whole() {
        let token = Token::random().unwrap();
        assert_eq!(token.as_str().len(), 32);
        assert_ne!(token, Token::random().unwrap());
        assert!(token.is(token.as_str()));
        for wrong in ["", "x", &token.as_str()[..31], &format!("{}0", token.as_str())] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert!(Token::new("0123456789abcdef").is_ok());
        for bad in ["", "short", "with a blank in it", "0123456789abcde&", "0123456789abcde~"] {
            assert_eq!(Token::new(bad), Err(TokenError));
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
