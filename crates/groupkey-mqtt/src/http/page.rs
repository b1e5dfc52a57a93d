//! The page for the browser: one file that loads nothing from elsewhere.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use super::problem::Problem;
use crate::keyring::Secret;

/// Returns the page. A fresh nonce in its content security policy allows only its own scripts and
/// styles.
pub(super) async fn page() -> Result<Response, Problem> {
    let failed = |_| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no randomness for a nonce");
    let nonce = Secret::random().map_err(failed)?.to_hex();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'",
        *nonce
    );
    let mut response = Html(PAGE.replace("{nonce}", &nonce)).into_response();
    if let Ok(policy) = HeaderValue::try_from(policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}

const PAGE: &str = include_str!("page.html");
