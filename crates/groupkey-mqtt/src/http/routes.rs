//! The routes and their handlers.

use std::time::Duration;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use rand_chacha::ChaCha20Rng;
use serde::Deserialize;
use tokio::time::timeout;

use super::answer_bodies::{
    DevicesView, GroupView, GroupsView, Health, ObservationView, OperationResultView, Operations,
    SchemeView,
};
use super::evictions::{evict, evict_all};
use super::export::export;
use super::frame::framed;
use super::problem::Problem;
use super::request_bodies::{EpochCondition, OptionalBody, RekeyRequest, SchemeChangeRequest};
use super::token::{NamedCaller, Token};
use super::{Access, AuditView, HttpLimits, metrics, page};
use crate::Service;
use crate::driver::{Handle, Status};
use crate::service::{ChangeError, OperationError};

pub(super) fn router(service: Handle<Service>, access: Access, limits: HttpLimits) -> Router {
    let Access { token, tokens_file, hosts, exports } = access;
    let token = Token::new(token, tokens_file, limits.wrong_tokens);
    let patience = limits.answer_time;
    let lists = DefaultBodyLimit::max(limits.body_of_list);
    let state = RouteState { service, token: token.clone(), exports, patience };
    let guarded = Router::new()
        .route("/metrics", get(metrics))
        .route("/api/v1/groups", get(groups))
        .route("/api/v1/groups/{group}", get(group))
        .route("/api/v1/groups/{group}/evictions", post(evict_all).layer(lists))
        .route("/api/v1/groups/{group}/export", post(export))
        .route("/api/v1/groups/{group}/audit", get(audit))
        .route("/api/v1/groups/{group}/members", get(members))
        .route("/api/v1/groups/{group}/members/{name}/evict", post(evict))
        .route("/api/v1/groups/{group}/members/{name}/readmit", post(readmit))
        .route("/api/v1/groups/{group}/observation", get(observation))
        .route("/api/v1/groups/{group}/operations", get(operations))
        .route("/api/v1/groups/{group}/rekey", post(rekey))
        .route("/api/v1/groups/{group}/scheme", get(scheme).post(change))
        .route("/api/v1/groups/{group}/scheme/cancel", post(cancel));
    let open = Router::new()
        .route("/", get(page::page))
        .route("/health", get(health))
        .route("/openapi.json", get(description));
    let paths = "this path does not exist: see /openapi.json";
    framed(open, guarded, token, hosts, limits, paths).with_state(state)
}

/// The state with which handlers reach the service.
#[derive(Clone)]
pub(super) struct RouteState {
    pub(super) service: Handle<Service>,
    token: Token,
    /// Whether clients may ask for keys for other protocols.
    pub(super) exports: bool,
    patience: Duration,
}

impl RouteState {
    /// Calls the service, if `group` is its group's number.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        group: String,
        act: impl FnOnce(&mut Service, u64, &mut ChaCha20Rng) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.call(move |service, now, rng| {
            is_of(service, &group)?;
            act(service, now, rng)
        })
        .await?
    }

    /// Carries out an operation of the group, if its condition holds.
    pub(super) async fn operate(
        &self,
        group: String,
        caller: &NamedCaller,
        condition: EpochCondition,
        act: impl Fn(&mut Service, u64, &mut ChaCha20Rng) -> Result<(), OperationError>
        + Clone
        + Send
        + 'static,
    ) -> Result<Json<OperationResultView>, Problem> {
        let actor = caller.actor();
        let operated = self.service.operate(move |service, now, rng| {
            if let Err(problem) = is_of(service, &group).and_then(|()| condition.check(service)) {
                return Ok(Err(problem));
            }
            act(service.acting_for(actor.clone()), now, rng)?;
            Ok(Ok(Json(OperationResultView::of(service))))
        });
        self.answered(operated).await??
    }

    async fn call<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Service, u64, &mut ChaCha20Rng) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.answered(self.service.call(act)).await
    }

    /// Waits for the service's answer as long as clients may.
    pub(super) async fn answered<T>(
        &self,
        asked: impl Future<Output = Option<T>>,
    ) -> Result<T, Problem> {
        match timeout(self.patience, asked).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(unavailable(ENDED)),
            Err(_) => Err(unavailable(
                "the service is busy; the operation may still be done: check before you repeat it",
            )),
        }
    }

    fn broker(&self) -> Status {
        self.service.status().borrow().clone()
    }
}

/// Refuses unless this is the number of the service's group.
pub(super) fn is_of(service: &Service, group: &str) -> Result<(), Problem> {
    match service.policy().form.group.0.to_string() == group {
        true => Ok(()),
        false => Err(Problem::not_found(format!("no group has the number {group}"))),
    }
}

async fn health(State(state): State<RouteState>) -> Response {
    let ready = state.call(|service, _, _| (service.ready(), service.is_confirmed())).await;
    let health = Health::of(ready.ok(), &state.broker());
    let status = if health.is_well() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(health)).into_response()
}

async fn description() -> Response {
    let media = [(header::CONTENT_TYPE, "application/vnd.oai.openapi+json;version=3.1")];
    (media, include_str!("openapi.json")).into_response()
}

async fn metrics(State(state): State<RouteState>) -> Result<Response, Problem> {
    let (broker, wrong) = (state.broker(), state.token.wrong());
    let text = state.call(move |service, _, _| metrics::of(service, &broker, wrong)).await?;
    Ok(([(header::CONTENT_TYPE, metrics::MEDIA)], text).into_response())
}

async fn groups(State(state): State<RouteState>) -> Result<Json<GroupsView>, Problem> {
    let group = state.call(|service, _, _| GroupView::of(service)).await?;
    Ok(Json(GroupsView { groups: vec![group] }))
}

async fn group(
    State(state): State<RouteState>,
    path: PathOf<String>,
) -> Result<Json<GroupView>, Problem> {
    let Path(group) = path?;
    state.ask(group, |service, _, _| Ok(Json(GroupView::of(service)))).await
}

async fn members(
    State(state): State<RouteState>,
    path: PathOf<String>,
    query: Result<Query<Portion>, QueryRejection>,
) -> Result<Json<DevicesView>, Problem> {
    let (Path(group), Query(Portion { from, limit })) = (path?, query?);
    require_portion(limit)?;
    state.ask(group, move |service, _, _| Ok(Json(DevicesView::of(service, from, limit)))).await
}

async fn audit(
    State(state): State<RouteState>,
    path: PathOf<String>,
    query: Result<Query<Since>, QueryRejection>,
) -> Result<Json<AuditView>, Problem> {
    let (Path(group), Query(Since { since, limit })) = (path?, query?);
    require_portion(limit)?;
    if since > LAST_RECORD {
        let detail = format!("since is {since}: it can be 0 to {LAST_RECORD}");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    state.ask(group, move |service, _, _| Ok(Json(AuditView::of(service, since, limit)))).await
}

async fn operations(
    State(state): State<RouteState>,
    path: PathOf<String>,
) -> Result<Json<Operations>, Problem> {
    let Path(group) = path?;
    state.ask(group, |service, _, _| Ok(Json(Operations::of(service)))).await
}

async fn observation(
    State(state): State<RouteState>,
    path: PathOf<String>,
) -> Result<Json<ObservationView>, Problem> {
    let Path(group) = path?;
    let qos = state.broker().qos;
    state.ask(group, move |service, now, _| Ok(Json(ObservationView::of(service, qos, now)))).await
}

async fn readmit(
    State(state): State<RouteState>,
    Extension(caller): Extension<NamedCaller>,
    path: PathOf<(String, String)>,
    OptionalBody(condition): OptionalBody<EpochCondition>,
) -> Result<Json<OperationResultView>, Problem> {
    let Path((group, name)) = path?;
    state
        .operate(group, &caller, condition, move |service, now, _| service.readmit(&name, now))
        .await
}

async fn rekey(
    State(state): State<RouteState>,
    Extension(caller): Extension<NamedCaller>,
    path: PathOf<String>,
    OptionalBody(request): OptionalBody<RekeyRequest>,
) -> Result<Json<OperationResultView>, Problem> {
    let Path(group) = path?;
    state
        .operate(group, &caller, request.condition(), move |service, now, rng| {
            let rekey = if request.hard { Service::rekey_hard } else { Service::rekey };
            rekey(service, now, rng).map(drop)
        })
        .await
}

async fn scheme(
    State(state): State<RouteState>,
    path: PathOf<String>,
) -> Result<Json<SchemeView>, Problem> {
    let Path(group) = path?;
    state.ask(group, |service, _, _| Ok(Json(SchemeView::of(service)))).await
}

async fn change(
    State(state): State<RouteState>,
    Extension(caller): Extension<NamedCaller>,
    path: PathOf<String>,
    OptionalBody(change): OptionalBody<SchemeChangeRequest>,
) -> Result<Json<SchemeView>, Problem> {
    let Path(group) = path?;
    let (condition, wish) = change.parts();
    state
        .ask(group, move |service, now, rng| {
            condition.check(service)?;
            let form = service.policy().form.with(&wish);
            let form = form.map_err(|error| OperationError::from(ChangeError::Form(error)))?;
            service.acting_for(caller.actor()).change_scheme(form, now, rng)?;
            Ok(Json(SchemeView::of(service)))
        })
        .await
}

async fn cancel(
    State(state): State<RouteState>,
    Extension(caller): Extension<NamedCaller>,
    path: PathOf<String>,
    OptionalBody(condition): OptionalBody<EpochCondition>,
) -> Result<Json<SchemeView>, Problem> {
    let Path(group) = path?;
    state
        .ask(group, move |service, _, _| {
            condition.check(service)?;
            if !service.acting_for(caller.actor()).cancel_change() {
                return Err(Problem::new(StatusCode::CONFLICT, "no change is under way"));
            }
            Ok(Json(SchemeView::of(service)))
        })
        .await
}

fn unavailable(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
}

const ENDED: &str = "the service has ended: start it again";

pub(super) type PathOf<T> = Result<Path<T>, PathRejection>;

/// The range of members to return.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Portion {
    /// The number of the first member.
    #[serde(default)]
    from: u32,
    /// The maximum number of members.
    #[serde(default = "Portion::usual")]
    limit: usize,
}

/// The range of the trail to return.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    /// The number of the first record.
    #[serde(default)]
    since: u64,
    /// The maximum number of records.
    #[serde(default = "Portion::usual")]
    limit: usize,
}

fn require_portion(limit: usize) -> Result<(), Problem> {
    if (1..=MOST_IN_A_PORTION).contains(&limit) {
        return Ok(());
    }
    let detail = format!("limit is {limit}: it can be 1 to {MOST_IN_A_PORTION}");
    Err(Problem::new(StatusCode::BAD_REQUEST, detail))
}

impl Portion {
    const fn usual() -> usize {
        100
    }
}

/// The last number of a record that every reader of JSON can tell from the next one: 2^53 - 1.
const LAST_RECORD: u64 = (1 << 53) - 1;

/// The maximum number of members or records in one answer.
const MOST_IN_A_PORTION: usize = 1_000;
