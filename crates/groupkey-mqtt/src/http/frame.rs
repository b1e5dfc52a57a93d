//! What our interfaces have in common: a token before what is guarded, the names of the host, problems,
//! and headers for browsers.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;

use super::HttpLimits;
use super::host::{self, AllowedHosts};
use super::problem::Problem;
use super::token::{self, Token};

/// Joins the routes that anybody may ask for with those that need a token. `paths` says where a
/// client finds what there is.
pub(super) fn framed<S: Clone + Send + Sync + 'static>(
    open: Router<S>,
    guarded: Router<S>,
    token: Token,
    hosts: Vec<String>,
    limits: HttpLimits,
    paths: &'static str,
) -> Router<S> {
    open.merge(guarded.route_layer(from_fn_with_state(token, token::check)))
        .fallback(move || async move { Problem::not_found(paths) })
        .method_not_allowed_fallback(|| async {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "the header Allow lists the allowed methods",
            )
        })
        .layer(DefaultBodyLimit::max(limits.body))
        .layer(from_fn_with_state(AllowedHosts::from(hosts), host::check))
        .layer(map_response(harden))
}

/// Adds headers that forbid a browser to cache, embed or reinterpret an answer.
async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
