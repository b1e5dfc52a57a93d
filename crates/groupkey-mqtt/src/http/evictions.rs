//! Evictions of one member or of a list. Those that come together become one change of the key.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use groupkey::Epoch;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::answer_bodies::OperationResultView;
use super::problem::Problem;
use super::request_bodies::{EpochCondition, OptionalBody, whole};
use super::routes::{PathOf, RouteState, is_of};
use super::token::NamedCaller;
use crate::Service;
use crate::service::{EvictionResults, OperationError};
use crate::topics::is_name;

/// Who is to be evicted.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvictionsRequest {
    /// The names of the members: 1 to [`MOST_EVICTIONS`].
    pub names: Vec<String>,
    /// The only epoch in which they may be evicted.
    #[serde(deserialize_with = "whole")]
    pub epoch: Option<u64>,
}

/// The most members that one request may evict.
pub const MOST_EVICTIONS: usize = 1_000;

/// What became of evictions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvictionsView {
    /// The group after them.
    #[serde(flatten)]
    pub group: OperationResultView,
    /// What became of each name, in the order of the request.
    pub evictions: Vec<EvictionView>,
}

/// What became of an eviction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvictionView {
    /// The name of the device.
    pub name: String,
    /// Whether it is no member any more, and barred.
    pub evicted: bool,
    /// Why it is not evicted.
    pub refusal: Option<String>,
}

pub(super) async fn evict(
    State(state): State<RouteState>,
    Extension(caller): Extension<NamedCaller>,
    path: PathOf<(String, String)>,
    OptionalBody(condition): OptionalBody<EpochCondition>,
) -> Result<Json<OperationResultView>, Problem> {
    let Path((group, name)) = path?;
    let (view, mut results) = carry_out(&state, group, &caller, condition, vec![name]).await?;
    results.pop().transpose()?;
    Ok(Json(view))
}

pub(super) async fn evict_all(
    State(state): State<RouteState>,
    Extension(caller): Extension<NamedCaller>,
    path: PathOf<String>,
    OptionalBody(request): OptionalBody<EvictionsRequest>,
) -> Result<Json<EvictionsView>, Problem> {
    let Path(group) = path?;
    let EvictionsRequest { names, epoch } = request;
    if !(1..=MOST_EVICTIONS).contains(&names.len()) || !names.iter().all(|name| is_name(name)) {
        let detail = format!("give names of 1 to {MOST_EVICTIONS} devices");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    let condition = EpochCondition::of(epoch);
    let (view, results) = carry_out(&state, group, &caller, condition, names.clone()).await?;
    let evictions = names.into_iter().zip(results).map(|(name, result)| EvictionView {
        name,
        evicted: result.is_ok(),
        refusal: result.err().map(|error| error.to_string()),
    });
    Ok(Json(EvictionsView { group: view, evictions: evictions.collect() }))
}

/// The group after evictions, and what became of each.
type CarriedOut = (OperationResultView, Vec<Result<Epoch, OperationError>>);

/// Evicts devices, with others that wait. What has a condition does not wait: another change would end
/// the epoch.
async fn carry_out(
    state: &RouteState,
    group: String,
    caller: &NamedCaller,
    condition: EpochCondition,
    names: Vec<String>,
) -> Result<CarriedOut, Problem> {
    let actor = caller.actor();
    let asked = state.service.operate(move |service, now, rng| {
        if let Err(problem) = is_of(service, &group).and_then(|()| condition.check(service)) {
            return Ok(Err(problem));
        }
        let (answer, answered) = oneshot::channel();
        let answer = move |service: &Service, results: EvictionResults| {
            let view = OperationResultView::of(service);
            let _ = answer.send(results.map(|results| (view, results)));
        };
        if condition.is_none() {
            service.evict_soon(actor.clone(), names.clone(), Box::new(answer), now)?;
        } else {
            let evictions: Vec<_> =
                names.iter().map(|name| (actor.clone(), name.as_str())).collect();
            let results = service.evict_all(&evictions, now, rng)?;
            answer(service, Ok(results));
        }
        Ok(Ok(answered))
    });
    state
        .answered(async {
            Some(match asked.await? {
                Ok(Ok(answered)) => answered.await.ok()?.map_err(Problem::from),
                Ok(Err(problem)) => Err(problem),
                Err(error) => Err(error.into()),
            })
        })
        .await?
}
