//! Errors of requests, as problem details (RFC 9457).

use axum::Json;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::runtime::Fatal;
use crate::service::OperationError;

/// The HTTP status of an error, and its description.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
}

#[derive(Serialize)]
struct Body {
    /// Always `about:blank`: the status says as much as a type could.
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }
}

impl From<OperationError> for Problem {
    fn from(error: OperationError) -> Self {
        let status = match &error {
            OperationError::Fatal(_) | OperationError::Unconfirmed => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            OperationError::BarredOnly(_)
            | OperationError::CannotChange(_)
            | OperationError::Refused(_) => StatusCode::CONFLICT,
            OperationError::Unknown(_) => StatusCode::NOT_FOUND,
        };
        Self::new(status, error.to_string())
    }
}

impl From<Fatal> for Problem {
    fn from(fatal: Fatal) -> Self {
        OperationError::Fatal(fatal).into()
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Body {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: self.detail,
        };
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        let media = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, media);
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"groupkey\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
