//! A service with its HTTP interface, members, and the broker between them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use groupkey::catalogue;
use groupkey_mqtt::driver::{Connection, Running, fresh_rng, now, run};
use groupkey_mqtt::http::{self, Access, HttpLimits};
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::store::{MemoryStore, Store};
use groupkey_mqtt::{GroupForm, Member, Policy, Service, member};
use groupkey_testbed::broker;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::http::client::{Answer, send};

pub(crate) struct HttpFixture {
    pub(crate) address: SocketAddr,
    pub(crate) policy: Policy,
    pub(crate) service: Running<Service>,
    service_key: [u8; 32],
    pub(crate) members: Vec<Running<Member>>,
}

impl HttpFixture {
    /// A service that creates a group of `founders`, and as many members.
    pub(crate) async fn with(founders: u32) -> Self {
        Self::with_scheme("lkh-group", founders).await
    }

    pub(crate) async fn with_scheme(scheme: &str, founders: u32) -> Self {
        let form = GroupForm::of(catalogue::scheme(scheme).unwrap());
        let policy = Policy { form, ..policy(founders) };
        Self::full(policy, founders, HttpLimits::default()).await
    }

    pub(crate) async fn with_limits(founders: u32, limits: HttpLimits) -> Self {
        Self::full(policy(founders), founders, limits).await
    }

    async fn full(policy: Policy, founders: u32, limits: HttpLimits) -> Self {
        let mut house = Self::of(policy, Box::new(MemoryStore::default()), limits).await;
        (0..founders).for_each(|number| house.arrive(number));
        house.wait_for(founders).await;
        house
    }

    pub(crate) async fn of(policy: Policy, store: Box<dyn Store>, limits: HttpLimits) -> Self {
        Self::accessible(policy, store, limits, (true, None)).await
    }

    /// The same, with or without keys for other protocols.
    pub(crate) async fn exporting(
        policy: Policy,
        store: Box<dyn Store>,
        limits: HttpLimits,
        exports: bool,
    ) -> Self {
        Self::accessible(policy, store, limits, (exports, None)).await
    }

    pub(crate) async fn with_tokens(
        policy: Policy,
        store: Box<dyn Store>,
        limits: HttpLimits,
        tokens_file: Option<PathBuf>,
    ) -> Self {
        Self::accessible(policy, store, limits, (true, tokens_file)).await
    }

    async fn accessible(
        policy: Policy,
        store: Box<dyn Store>,
        limits: HttpLimits,
        (exports, tokens_file): (bool, Option<PathBuf>),
    ) -> Self {
        let service =
            Service::open(policy.clone(), store, now(), &mut fresh_rng().unwrap()).unwrap();
        let service_key = service.public();
        let service = run(service, connection(&policy.prefix, "service"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let hosts = vec![OUR_NAME.to_owned()];
        let access = Access { token: token(), tokens_file, hosts, exports };
        tokio::spawn(http::serve(listener, service.handle.clone(), access, limits));
        Self { address, policy, service, service_key, members: Vec::new() }
    }

    pub(crate) fn settings(&self, number: u32) -> member::MemberSettings {
        member::MemberSettings {
            prefix: self.policy.prefix.clone(),
            name: name(number),
            identity: Secret::from_bytes([number as u8 + 100; 32]),
            shared: Some(key(number)),
            service: Some(self.service_key),
            allowed: self.policy.allowed,
            messages: Default::default(),
            freshness: Default::default(),
        }
    }

    pub(crate) fn arrive(&mut self, number: u32) {
        let member = Member::new(self.settings(number)).unwrap();
        self.members.push(run(member, connection(&self.policy.prefix, &name(number))));
    }

    /// Waits until the group has this many members and the broker has acknowledged everything.
    pub(crate) async fn wait_for(&self, members: u32) {
        let is_so = |group: &Value| group["members"] == members && group["publish_backlog"] == 0;
        self.wait_until("/api/v1/groups/1", is_so).await;
    }

    /// Waits until an answer meets the condition.
    pub(crate) async fn wait_until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let answer = self.get(path).await;
            if answer.status == 200 && is_so(&answer.json()) {
                return answer.json();
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{path} stays at {answer:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.address, "GET", path, &[bearer()], "").await
    }

    /// An operation, without a body if it is empty.
    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        let mut headers = vec![bearer()];
        if !body.is_empty() {
            headers.push("Content-Type: application/json".to_owned());
        }
        send(self.address, "POST", path, &headers, body).await
    }
}

pub(crate) fn policy(founders: u32) -> Policy {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let form = GroupForm::of(catalogue::scheme("lkh-group").unwrap());
    let prefix = format!("http/{}/{number}", std::process::id());
    let mut policy = Policy { founders: founders as usize, prefix, ..Policy::of(form) };
    for number in 0..16 {
        policy.keys.insert(name(number), key(number));
    }
    policy
}

/// The name under which it is reached.
pub(crate) const OUR_NAME: &str = "groups.example";

pub(crate) fn token() -> Secret {
    Secret::from_bytes([7; 32])
}

/// The header with the token.
pub(crate) fn bearer() -> String {
    format!("Authorization: Bearer {}", *token().to_hex())
}

pub(crate) fn name(number: u32) -> String {
    format!("device-{number}")
}

fn key(number: u32) -> Secret {
    Secret::from_bytes([number as u8 + 1; 32])
}

fn connection(prefix: &str, name: &str) -> Connection {
    static BROKER: OnceLock<u16> = OnceLock::new();
    let start = || broker::start().expect("the broker starts").port();
    let port = *BROKER.get_or_init(start);
    let client = format!("{}-{name}", prefix.replace('/', "-"));
    Connection::new("127.0.0.1", port, client)
}
