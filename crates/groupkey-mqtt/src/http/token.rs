//! The token that clients must send, and the limit for wrong ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use subtle::ConstantTimeEq;

use super::problem::Problem;
use crate::driver::now;
use crate::keyring::Secret;
use crate::rate_limit::RateLimit;
use crate::runtime::SECOND;

/// The service's token, and how often others were sent.
#[derive(Clone)]
pub(super) struct Token(Arc<Inner>);

struct Inner {
    token: Secret,
    limit: Mutex<RateLimit>,
    wrong: AtomicU64,
}

impl Token {
    pub(super) fn new(token: Secret, wrong_tokens: u32) -> Self {
        let limit = Mutex::new(RateLimit::new(wrong_tokens.into(), SECOND));
        Self(Arc::new(Inner { token, limit, wrong: AtomicU64::new(0) }))
    }

    /// Returns how many wrong tokens were sent.
    pub(super) fn wrong(&self) -> u64 {
        self.0.wrong.load(Ordering::Relaxed)
    }

    /// Refuses headers without the token.
    fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let unauthorized = || Problem::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED);
        let shown = bearer(headers).ok_or_else(unauthorized)?;
        let is_right = |shown: Secret| shown.as_bytes().ct_eq(self.0.token.as_bytes()).into();
        if Secret::from_hex(shown).is_some_and(is_right) {
            return Ok(());
        }
        self.0.wrong.fetch_add(1, Ordering::Relaxed);
        let mut limit = self.0.limit.lock().unwrap_or_else(PoisonError::into_inner);
        if !limit.allows(now()) {
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, TOO_MANY));
        }
        limit.failed();
        Err(unauthorized())
    }
}

/// Refuses a request without the token.
pub(super) async fn check(
    State(token): State<Token>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    token.check(request.headers())?;
    Ok(next.run(request).await)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

const UNAUTHORIZED: &str = "send the service's token: Authorization: Bearer ...";
const TOO_MANY: &str =
    "too many wrong tokens were sent: wait, and read the token from the service's file";
