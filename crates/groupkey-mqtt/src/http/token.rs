//! The tokens that clients must send, what they may do, and the limit for wrong ones.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use subtle::ConstantTimeEq;

use super::open_connections::ConnectionProgress;
use super::problem::Problem;
use crate::config::{NamedToken, OPERATOR, TokenRights};
use crate::driver::now;
use crate::keyring::Secret;
use crate::rate_limit::RateLimit;
use crate::runtime::SECOND;
use crate::service::trail::Actor;

/// The service's tokens, and how often others were sent.
#[derive(Clone)]
pub(super) struct Token(Arc<Inner>);

struct Inner {
    token: Secret,
    file: Option<PathBuf>,
    limit: Mutex<RateLimit>,
    wrong: AtomicU64,
}

impl Token {
    pub(super) fn new(token: Secret, file: Option<PathBuf>, wrong_tokens: u32) -> Self {
        let limit = Mutex::new(RateLimit::new(wrong_tokens.into(), SECOND));
        Self(Arc::new(Inner { token, file, limit, wrong: AtomicU64::new(0) }))
    }

    pub(super) fn wrong(&self) -> u64 {
        self.0.wrong.load(Ordering::Relaxed)
    }

    /// Returns whose token it is. Refuses headers without one.
    fn check(&self, headers: &HeaderMap) -> Result<NamedCaller, Problem> {
        let unauthorized = || Problem::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED);
        let shown = bearer(headers).ok_or_else(unauthorized)?;
        if let Some(caller) = Secret::from_hex(shown).and_then(|shown| self.caller(&shown)) {
            return Ok(caller);
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

impl Token {
    fn caller(&self, shown: &Secret) -> Option<NamedCaller> {
        if shown.as_bytes().ct_eq(self.0.token.as_bytes()).into() {
            let name = OPERATOR.to_owned();
            return Some(NamedCaller { name, rights: TokenRights::Operate });
        }
        let tokens = NamedToken::read(self.0.file.as_deref()?).ok()?;
        let NamedToken { name, rights, .. } = NamedToken::find(&tokens, shown)?;
        Some(NamedCaller { name: name.clone(), rights: *rights })
    }
}

/// Whose token a request has.
#[derive(Clone, Debug)]
pub(super) struct NamedCaller {
    name: String,
    rights: TokenRights,
}

impl NamedCaller {
    pub(super) fn actor(&self) -> Actor {
        Actor::Token(self.name.clone())
    }

    /// Refuses a method that the token has no right to.
    fn may(&self, method: &Method) -> Result<(), Problem> {
        match self.rights == TokenRights::Operate || method.is_safe() {
            true => Ok(()),
            false => Err(Problem::new(StatusCode::FORBIDDEN, FORBIDDEN)),
        }
    }
}

/// Refuses a request without a token, or without the right. Handlers get the caller.
pub(super) async fn check(
    State(token): State<Token>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = token.check(request.headers())?;
    request.extensions().get().into_iter().for_each(ConnectionProgress::showed_a_token);
    caller.may(request.method())?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

const FORBIDDEN: &str = "this token may only read: operations need one with the right operate";
const UNAUTHORIZED: &str = "send the service's token: Authorization: Bearer ...";
const TOO_MANY: &str =
    "too many wrong tokens were sent: wait, and read the token from the service's file";
