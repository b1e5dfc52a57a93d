//! Keys for other protocols, for a program beside the service that is no member.
//!
//! Whoever has the token can then read what other protocols protect with such keys. So the operator
//! says first that this may be asked for (`export` in `[http]`). The group key itself never leaves.

use std::fmt;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use groupkey::exporter::LONGEST_EXPORT;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::problem::Problem;
use super::request_bodies::{EpochCondition, OptionalBody, count, whole};
use super::routes::{PathOf, RouteState};
use crate::keyring::{from_hex, hex};

/// What is to be exported.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExportRequest {
    /// The purpose of the key.
    pub label: String,
    /// What tells uses of one label apart, in hexadecimal digits.
    pub context: String,
    /// The number of bytes: 1 to 8,160.
    #[serde(deserialize_with = "count")]
    pub length: usize,
    /// The only epoch whose key may be taken.
    #[serde(deserialize_with = "whole")]
    pub epoch: Option<u64>,
}

/// A key for another protocol.
#[derive(Clone, Deserialize, Serialize, Zeroize, ZeroizeOnDrop)]
pub struct ExportView {
    /// The epoch from whose key it follows.
    pub epoch: u64,
    /// The key, in hexadecimal digits.
    pub key: String,
}

impl fmt::Debug for ExportView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportView").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

pub(super) async fn export(
    State(state): State<RouteState>,
    path: PathOf<String>,
    OptionalBody(request): OptionalBody<ExportRequest>,
) -> Result<Json<ExportView>, Problem> {
    let Path(group) = path?;
    if !state.exports {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "the service gives no keys away: say export = true in its [http]",
        ));
    }
    let ExportRequest { label, context, length, epoch } = request;
    let wrong = |detail: &str| Problem::new(StatusCode::BAD_REQUEST, detail);
    if label.is_empty() || !(1..=LONGEST_EXPORT).contains(&length) {
        return Err(wrong("give a label, and a length of 1 to 8160"));
    }
    let context = from_hex(&context).ok_or_else(|| wrong("context is in hexadecimal digits"))?;
    state
        .ask(group, move |service, _, _| {
            EpochCondition::of(epoch).check(service)?;
            let mut output = Zeroizing::new(vec![0; length]);
            let exported = service.export(&label, &context, &mut output);
            let none = |_| Problem::new(StatusCode::CONFLICT, "the group has no key yet");
            let epoch = exported.map_err(none)?.0;
            Ok(Json(ExportView { epoch, key: hex(&output) }))
        })
        .await
}
