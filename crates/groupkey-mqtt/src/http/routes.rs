//! The routes and their handlers.

use std::time::Duration;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rand_chacha::ChaCha20Rng;
use serde::Deserialize;
use tokio::time::timeout;

use super::answer_bodies::{
    DecisionView, DevicesView, GroupView, GroupsView, Health, ObservationView, OperationResultView,
    Operations, SchemeView,
};
use super::host::{self, AllowedHosts};
use super::problem::Problem;
use super::request_bodies::{EpochCondition, OptionalBody, RekeyRequest, SchemeChangeRequest};
use super::token::{self, Token};
use super::{Access, HttpLimits, metrics, page};
use crate::Service;
use crate::adapt::Adapter;
use crate::driver::{Handle, Status};
use crate::service::{ChangeError, OperationError};

/// Returns the router with all routes.
pub(super) fn router(
    service: Handle<Service>,
    adapter: Option<Adapter>,
    access: Access,
    limits: HttpLimits,
) -> Router {
    let Access { token, hosts } = access;
    let token = Token::new(token, limits.wrong_tokens);
    let patience = limits.answer_time;
    let state = RouteState { service, adapter, token: token.clone(), patience };
    let guarded = Router::new()
        .route("/metrics", get(metrics))
        .route("/api/v1/groups", get(groups))
        .route("/api/v1/groups/{group}", get(group))
        .route("/api/v1/groups/{group}/adapt/pin", post(pin))
        .route("/api/v1/groups/{group}/adapt/unpin", post(unpin))
        .route("/api/v1/groups/{group}/adapt/unveto", post(unveto))
        .route("/api/v1/groups/{group}/adapt/veto", post(veto))
        .route("/api/v1/groups/{group}/members", get(members))
        .route("/api/v1/groups/{group}/members/{name}/evict", post(evict))
        .route("/api/v1/groups/{group}/members/{name}/readmit", post(readmit))
        .route("/api/v1/groups/{group}/observation", get(observation))
        .route("/api/v1/groups/{group}/operations", get(operations))
        .route("/api/v1/groups/{group}/rekey", post(rekey))
        .route("/api/v1/groups/{group}/scheme", get(scheme).post(change))
        .route("/api/v1/groups/{group}/scheme/cancel", post(cancel))
        .route_layer(from_fn_with_state(token, token::check));
    Router::new()
        .route("/", get(page::page))
        .route("/health", get(health))
        .route("/openapi.json", get(description))
        .merge(guarded)
        .fallback(|| async { Problem::not_found("this path does not exist: see /openapi.json") })
        .method_not_allowed_fallback(|| async {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "the header Allow lists the allowed methods",
            )
        })
        .layer(DefaultBodyLimit::max(limits.body))
        .layer(from_fn_with_state(AllowedHosts::from(hosts), host::check))
        .layer(map_response(harden))
        .with_state(state)
}

/// The state with which handlers reach the service.
#[derive(Clone)]
struct RouteState {
    service: Handle<Service>,
    adapter: Option<Adapter>,
    token: Token,
    patience: Duration,
}

impl RouteState {
    /// Calls the service, if `group` is its group's number.
    async fn ask<T: Send + 'static>(
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
    async fn operate(
        &self,
        group: String,
        condition: EpochCondition,
        act: impl Fn(&mut Service, u64, &mut ChaCha20Rng) -> Result<(), OperationError>
        + Clone
        + Send
        + 'static,
    ) -> Result<Json<OperationResultView>, Problem> {
        let operated = self.service.operate(move |service, now, rng| {
            if let Err(problem) = is_of(service, &group).and_then(|()| condition.check(service)) {
                return Ok(Err(problem));
            }
            act(service, now, rng)?;
            Ok(Ok(Json(OperationResultView::of(service))))
        });
        self.answered(operated).await??
    }

    /// Returns what adapts the scheme, if `group` is the group's number.
    async fn adapter(&self, group: String) -> Result<&Adapter, Problem> {
        self.ask(group, |_, _, _| Ok(())).await?;
        self.adapter.as_ref().ok_or_else(|| {
            Problem::new(StatusCode::CONFLICT, "the scheme does not adapt: see --scheme auto")
        })
    }

    /// Waits for the adapter as long as for the service.
    async fn decide<T>(&self, deciding: impl Future<Output = T>) -> Result<T, Problem> {
        let late = |_| unavailable("the service is busy: look before you ask again");
        timeout(self.patience, deciding).await.map_err(late)
    }

    async fn call<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Service, u64, &mut ChaCha20Rng) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.answered(self.service.call(act)).await
    }

    /// Waits for the service's answer as long as clients may.
    async fn answered<T>(&self, asked: impl Future<Output = Option<T>>) -> Result<T, Problem> {
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
fn is_of(service: &Service, group: &str) -> Result<(), Problem> {
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
    if !(1..=MOST_MEMBERS).contains(&limit) {
        let detail = format!("limit is {limit}: it can be 1 to {MOST_MEMBERS}");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    state.ask(group, move |service, _, _| Ok(Json(DevicesView::of(service, from, limit)))).await
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
    let seen = state.ask(group, move |service, now, _| Ok(ObservationView::of(service, qos, now)));
    let mut observation = seen.await?;
    if let Some(adapter) = &state.adapter {
        observation.adapt = match timeout(state.patience, adapter.state(&state.service)).await {
            Ok(Ok(state)) => Some(state),
            Ok(Err(error)) => return Err(unavailable(error.to_string())),
            Err(_) => return Err(unavailable("the service is busy: ask again")),
        };
    }
    Ok(Json(observation))
}

async fn evict(
    State(state): State<RouteState>,
    path: PathOf<(String, String)>,
    OptionalBody(condition): OptionalBody<EpochCondition>,
) -> Result<Json<OperationResultView>, Problem> {
    let Path((group, name)) = path?;
    state
        .operate(group, condition, move |service, now, rng| {
            service.evict(&name, now, rng).map(drop)
        })
        .await
}

async fn readmit(
    State(state): State<RouteState>,
    path: PathOf<(String, String)>,
    OptionalBody(condition): OptionalBody<EpochCondition>,
) -> Result<Json<OperationResultView>, Problem> {
    let Path((group, name)) = path?;
    state.operate(group, condition, move |service, now, _| service.readmit(&name, now)).await
}

async fn rekey(
    State(state): State<RouteState>,
    path: PathOf<String>,
    OptionalBody(request): OptionalBody<RekeyRequest>,
) -> Result<Json<OperationResultView>, Problem> {
    let Path(group) = path?;
    state
        .operate(group, request.condition(), move |service, now, rng| {
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
            service.change_scheme(form, now, rng)?;
            Ok(Json(SchemeView::of(service)))
        })
        .await
}

async fn cancel(
    State(state): State<RouteState>,
    path: PathOf<String>,
    OptionalBody(condition): OptionalBody<EpochCondition>,
) -> Result<Json<SchemeView>, Problem> {
    let Path(group) = path?;
    state
        .ask(group, move |service, _, _| {
            condition.check(service)?;
            if !service.cancel_change() {
                return Err(Problem::new(StatusCode::CONFLICT, "no change is under way"));
            }
            Ok(Json(SchemeView::of(service)))
        })
        .await
}

async fn pin(
    State(state): State<RouteState>,
    path: PathOf<String>,
) -> Result<Json<DecisionView>, Problem> {
    decide_on_pin(state, path, true).await
}

async fn unpin(
    State(state): State<RouteState>,
    path: PathOf<String>,
) -> Result<Json<DecisionView>, Problem> {
    decide_on_pin(state, path, false).await
}

async fn decide_on_pin(
    state: RouteState,
    path: PathOf<String>,
    is_pinned: bool,
) -> Result<Json<DecisionView>, Problem> {
    let Path(group) = path?;
    let adapter = state.adapter(group).await?;
    Ok(Json(DecisionView::about(state.decide(adapter.pin(is_pinned)).await?)))
}

async fn veto(
    State(state): State<RouteState>,
    path: PathOf<String>,
) -> Result<Json<DecisionView>, Problem> {
    let Path(group) = path?;
    let adapter = state.adapter(group).await?;
    let vetoed = state.decide(adapter.veto(&state.service)).await?;
    let vetoed = vetoed.map_err(|error| unavailable(error.to_string()))?;
    let nothing = || Problem::new(StatusCode::CONFLICT, "there is nothing to veto");
    Ok(Json(DecisionView::about(vetoed.ok_or_else(nothing)?)))
}

async fn unveto(
    State(state): State<RouteState>,
    path: PathOf<String>,
) -> Result<Json<DecisionView>, Problem> {
    let Path(group) = path?;
    let adapter = state.adapter(group).await?;
    Ok(Json(DecisionView::lifted(state.decide(adapter.lift_vetoes()).await?)))
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

fn unavailable(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
}

const ENDED: &str = "the service has ended: start it again";

type PathOf<T> = Result<Path<T>, PathRejection>;

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

impl Portion {
    const fn usual() -> usize {
        100
    }
}

/// The maximum number of members in one answer.
const MOST_MEMBERS: usize = 1_000;
