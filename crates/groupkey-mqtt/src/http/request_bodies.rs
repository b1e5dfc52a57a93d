//! The bodies of operations: a condition, and what a change of scheme leads to.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

use super::answer_bodies::epoch;
use super::problem::Problem;
use crate::Service;
use crate::group_form::FormRequest;

/// The optional body of an operation.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EpochCondition {
    /// The only epoch in which the operation may run. So a client can repeat a request whose answer
    /// was lost.
    #[serde(default, deserialize_with = "whole")]
    epoch: Option<u64>,
}

/// The optional body of a change of the key.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RekeyRequest {
    /// The only epoch in which the operation may run.
    #[serde(deserialize_with = "whole")]
    epoch: Option<u64>,
    /// Whether members refuse the key before at once.
    pub(super) hard: bool,
}

/// The body of a change of scheme. What is missing stays as it is, but for the parameters: these have
/// their defaults.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchemeChangeRequest {
    /// The scheme's name in the catalogue.
    pub scheme: Option<String>,
    /// Its parameters.
    #[serde(deserialize_with = "numbers")]
    pub parameters: BTreeMap<String, u32>,
    /// The suite's name.
    pub suite: Option<String>,
    /// The name of the protection.
    pub protection: Option<String>,
    /// The name of what members' messages rest on.
    pub senders: Option<String>,
    /// The only epoch in which the change may begin.
    #[serde(deserialize_with = "whole")]
    pub epoch: Option<u64>,
}

/// Reads the parameters' values, which are whole numbers, too.
fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, u32>, D::Error> {
    let numbers = BTreeMap::<String, Number>::deserialize(deserializer)?;
    let number = |(name, number): (String, Number)| match small(&number) {
        Some(value) => Ok((name, value)),
        None => Err(D::Error::custom("a parameter is a whole number below 2^32")),
    };
    numbers.into_iter().map(number).collect()
}

fn small(number: &Number) -> Option<u32> {
    let is_whole = |float: &f64| float.fract() == 0.0 && (0.0..4_294_967_296.0).contains(float);
    number.as_f64().filter(is_whole).map(|float| float as u32)
}

/// Reads a whole number. In JSON Schema, 7.0 is a whole number, too.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    const TOO_MUCH: f64 = 18_446_744_073_709_551_616.0;
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_u64().or_else(|| {
        let is_whole = |float: &f64| float.fract() == 0.0 && (0.0..TOO_MUCH).contains(float);
        number.as_f64().filter(is_whole).map(|float| float as u64)
    });
    whole.map(Some).ok_or_else(|| D::Error::custom("an epoch is a whole number below 2^64"))
}

/// Reads a whole number of things.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let number = small(&Number::deserialize(deserializer)?);
    let count = number.and_then(|number| usize::try_from(number).ok());
    count.ok_or_else(|| D::Error::custom("a length is a whole number"))
}

impl EpochCondition {
    pub(super) const fn of(epoch: Option<u64>) -> Self {
        Self { epoch }
    }

    pub(super) const fn is_none(self) -> bool {
        self.epoch.is_none()
    }

    pub(super) fn check(&self, service: &Service) -> Result<(), Problem> {
        let present = epoch(service);
        if self.epoch.is_none() || self.epoch == present {
            return Ok(());
        }
        let detail = match present {
            Some(present) => format!("the group is in epoch {present}"),
            None => "the group is not created yet".to_owned(),
        };
        Err(Problem::new(StatusCode::CONFLICT, detail))
    }
}

impl RekeyRequest {
    pub(super) const fn condition(self) -> EpochCondition {
        EpochCondition { epoch: self.epoch }
    }
}

impl From<FormRequest> for SchemeChangeRequest {
    fn from(request: FormRequest) -> Self {
        let FormRequest { scheme, parameters, suite, protection, senders } = request;
        Self { scheme, parameters, suite, protection, senders, epoch: None }
    }
}

impl SchemeChangeRequest {
    pub(super) fn parts(self) -> (EpochCondition, FormRequest) {
        let Self { scheme, parameters, suite, protection, senders, epoch } = self;
        let wish = FormRequest { scheme, parameters, suite, protection, senders };
        (EpochCondition { epoch }, wish)
    }
}

/// The body of a request, which may be missing.
pub(super) struct OptionalBody<T>(pub(super) T);

impl<T: Default + DeserializeOwned, S: Send + Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        read(request, state).await.map(Self)
    }
}

async fn read<T: Default + DeserializeOwned, S: Send + Sync>(
    request: Request,
    state: &S,
) -> Result<T, Problem> {
    let media = request.headers().get(header::CONTENT_TYPE).cloned();
    let body = Bytes::from_request(request, state).await?;
    if body.is_empty() {
        return Ok(T::default());
    }
    let media = media.as_ref().and_then(|media| media.to_str().ok()).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") {
        let detail = "send application/json, or nothing";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    if !body.trim_ascii_start().starts_with(b"{") {
        // Serde would also accept a list for a struct.
        return Err(Problem::new(StatusCode::BAD_REQUEST, "send a JSON object"));
    }
    serde_json::from_slice(&body)
        .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.to_string()))
}
