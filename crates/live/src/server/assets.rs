//! The page. It is public, and has nothing of a session in it.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::App;

/// A file of the page.
#[derive(Clone, Copy)]
struct Asset {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const ASSETS: [Asset; 3] = [
    Asset {
        path: "/",
        kind: "text/html; charset=utf-8",
        bytes: include_bytes!("../../assets/index.html"),
    },
    Asset {
        path: "/live.js",
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../assets/live.js"),
    },
    Asset {
        path: "/live.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!("../../assets/live.css"),
    },
];

pub(super) fn router() -> Router<Arc<App>> {
    ASSETS.into_iter().fold(Router::new(), |router, asset| {
        let tag = asset.tag();
        router.route(
            asset.path,
            get(move |asked: HeaderMap| async move { asset.answer(&tag, &asked) }),
        )
    })
}

impl Asset {
    /// Distinguishes versions of it: FNV-1a of its bytes.
    fn tag(&self) -> String {
        let hash = self.bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("\"{hash:016x}\"")
    }

    fn answer(&self, tag: &str, asked: &HeaderMap) -> Response {
        // A browser asks each time, so that page and server are of one version.
        let head = [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache")];
        if asked.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag) {
            return (StatusCode::NOT_MODIFIED, head).into_response();
        }
        (head, [(header::CONTENT_TYPE, self.kind)], self.bytes).into_response()
    }
}
