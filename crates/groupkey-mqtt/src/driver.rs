//! Connects a runtime to a broker, with tokio, and with rumqttc for MQTT 3.1.1 and 5.
//!
//! Every reconnection makes a new client. The driver then publishes unacknowledged messages again
//! from its own queue. There are two reasons: rumqttc can livelock on a packet identifier after a
//! reconnection, and a runtime's publishes must outlive the client.
//!
//! The QoS determines the session at the broker. At QoS 1 the session persists, and the broker
//! keeps messages for clients that are offline. At QoS 2 the session cannot persist, because the
//! client's half of a handshake is lost. A member that was offline then catches up from the notice
//! of the epoch. Runtimes tolerate repeated messages, so QoS 1 is the default. In MQTT 5 a session
//! ends a day after its client disconnected, and messages may expire earlier ([`Publish::expiry`](crate::store::Publish::expiry)).
//! In MQTT 3.1.1 neither sessions nor messages expire.

mod clock;
mod connection;
mod handle;
pub(crate) mod link;
pub(crate) mod pause;
mod properties;
mod queue;
mod status;

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use zeroize::Zeroizing;

pub use self::clock::now;
pub use self::connection::{Connection, Quality, Version};
use self::handle::Call;
pub use self::handle::{Handle, Running};
use self::link::BrokerLink;
use self::link::client::{LinkEvent, PublishRefusal};
use self::pause::pause;
pub use self::properties::BrokerProperties;
use self::queue::{BrokerRequest, FlightWindow, Queue};
pub use self::status::Status;
use crate::diagnostics;
use crate::generator::Generator;
use crate::runtime::{Fatal, Input, Output, Runtime};

/// Runs a runtime in a task of the current tokio runtime.
pub fn run<R>(runtime: R, connection: Connection) -> Running<R>
where
    R: Runtime + Send + 'static,
    R::Event: Send + 'static,
{
    let (calls, incoming_calls) = mpsc::channel(64);
    let address = format!("{}:{}", connection.host, connection.port);
    let (status_out, status) =
        watch::channel(Status { address, qos: connection.qos, ..Status::default() });
    let (events_out, events) = mpsc::channel(EVENTS);
    let driver = Driver {
        runtime,
        connection,
        events: events_out,
        status: status_out,
        subscriptions: BTreeSet::new(),
        queue: Queue::default(),
        link: None,
        window: FlightWindow::default(),
        answered_at: Instant::now(),
        reconnect_at: Instant::now(),
        connected_at: None,
        failures: 0,
        brief: 0,
    };
    let client = driver.connection.client.clone();
    let end = tokio::spawn(diagnostics::in_span(&client, driver.run(incoming_calls)));
    Running { handle: Handle { calls, status }, events, end }
}

/// Returns randomness from the operating system, for one call of a runtime.
pub fn fresh_rng() -> Result<Generator, Fatal> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed).map_err(|_| Fatal::NoRandomness)?;
    Ok(Generator::from_seed(&seed))
}

struct Driver<R: Runtime> {
    runtime: R,
    connection: Connection,
    events: mpsc::Sender<R::Event>,
    status: watch::Sender<Status>,
    subscriptions: BTreeSet<String>,
    /// What the broker does not have yet.
    queue: Queue,
    link: Option<BrokerLink>,
    /// How many publishes may be in flight, if the link has no lower limit.
    window: FlightWindow,
    /// When the broker last acknowledged a publish, or last had none to acknowledge.
    answered_at: Instant,
    reconnect_at: Instant,
    connected_at: Option<Instant>,
    /// Connections in a row that failed, or did not last.
    failures: u32,
    /// Connections in a row that did not last.
    brief: u32,
}

impl<R: Runtime> Driver<R> {
    async fn run(mut self, mut calls: mpsc::Receiver<Call<R>>) -> Result<(), Fatal> {
        loop {
            self.collect()?;
            self.pump()?;
            let wake = self.wake();
            tokio::select! {
                event = BrokerLink::next(&mut self.link) => self.link_event(event)?,
                call = calls.recv() => match call {
                    Some(call) => {
                        self.answer(call)?;
                        // What waits together may become one change with the next tick.
                        for _ in 0..calls.len() {
                            self.collect()?;
                            let Ok(call) = calls.try_recv() else { break };
                            self.answer(call)?;
                        }
                    }
                    None => return Ok(()),
                },
                () = sleep_until(wake) => {
                    if self.gives_up_at().is_some_and(|at| Instant::now() >= at) {
                        self.stalled()?;
                    }
                    if self.link.is_none() && Instant::now() >= self.reconnect_at {
                        self.link = Some(BrokerLink::open(&self.connection));
                    }
                    if self.runtime.deadline().is_some_and(|deadline| deadline <= now()) {
                        self.handle(Input::Tick)?;
                    }
                }
            }
        }
    }

    fn wake(&self) -> Instant {
        let mut wake = Instant::now() + Duration::from_secs(60);
        if self.link.is_none() {
            wake = wake.min(self.reconnect_at);
        }
        if let Some(deadline) = self.runtime.deadline() {
            wake = wake.min(Instant::now() + Duration::from_nanos(deadline.saturating_sub(now())));
        }
        if let Some(at) = self.gives_up_at() {
            wake = wake.min(at);
        }
        if self.has_room() && self.queue.is_waiting() {
            // The client's channel was full, so try again soon.
            wake = wake.min(Instant::now() + Duration::from_millis(5));
        }
        wake
    }

    fn has_room(&self) -> bool {
        let in_flight = self.queue.in_flight();
        let has_room = |link: &BrokerLink| link.has_room(in_flight);
        self.window.has_room(in_flight) && self.link.as_ref().is_some_and(has_room)
    }

    /// Returns the time at which the driver gives up a broker that acknowledges nothing.
    fn gives_up_at(&self) -> Option<Instant> {
        let waits = self.link.is_some() && self.queue.in_flight() > 0;
        waits.then(|| self.answered_at + self.connection.patience)
    }

    /// Reconnects with a smaller window. Some brokers stop answering a client that has more
    /// publishes in flight than they allow. MQTT 3.1.1 has no way to announce that limit.
    fn stalled(&mut self) -> Result<(), Fatal> {
        self.window.stalled(self.queue.in_flight());
        self.lost("the broker acknowledges nothing".to_owned())
    }

    fn answer(&mut self, call: Call<R>) -> Result<(), Fatal> {
        call(&mut self.runtime, now(), &mut *fresh_rng()?);
        self.runtime.finished(now());
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>) -> Result<(), Fatal> {
        self.runtime.handle(input, now(), &mut *fresh_rng()?)?;
        self.runtime.finished(now());
        Ok(())
    }

    fn collect(&mut self) -> Result<(), Fatal> {
        while let Some(output) = self.runtime.poll()? {
            match output {
                Output::Event(event) => {
                    if self.events.try_send(event).is_err() {
                        self.status.send_modify(|status| status.lost_events += 1);
                    }
                }
                Output::Publish(publish) => self.queue.push(BrokerRequest::publish(publish)),
                Output::Subscribe(topic) => {
                    if self.subscriptions.insert(topic.clone()) {
                        self.queue.push(BrokerRequest::Subscribe(topic));
                    }
                }
                Output::Unsubscribe(topic) => {
                    if self.subscriptions.remove(&topic) {
                        self.queue.push(BrokerRequest::Unsubscribe(topic));
                    }
                }
            }
        }
        Ok(())
    }

    /// Hands waiting requests to the client until it takes no more.
    fn pump(&mut self) -> Result<(), Fatal> {
        while self.has_room() {
            let Some(link) = &self.link else { break };
            let Some(request) = self.queue.next() else { break };
            let is_taken = match request {
                BrokerRequest::Publish { publish, .. } if !link.fits(publish) => {
                    let (longest, id) = (link.longest_packet(), publish.id);
                    let why = format!("it accepts no packets of more than {longest} bytes");
                    self.refused_for_good(&publish.topic, &why);
                    self.queue.skip();
                    self.handle(Input::Acknowledged(id))?;
                    continue;
                }
                BrokerRequest::Publish { publish, .. } => {
                    if self.queue.in_flight() == 0 {
                        self.answered_at = Instant::now();
                    }
                    link.publish(publish)
                }
                BrokerRequest::Subscribe(topic) => link.subscribe(topic),
                BrokerRequest::Unsubscribe(topic) => link.unsubscribe(topic),
            };
            if !is_taken {
                break;
            }
            self.queue.taken();
        }
        Ok(())
    }

    fn link_event(&mut self, event: Result<LinkEvent, String>) -> Result<(), Fatal> {
        match event {
            Err(problem) => self.broken(problem)?,
            Ok(LinkEvent::Accepted(limits, properties)) => {
                self.announced(properties);
                if !limits.retains {
                    self.nothing_retained()?;
                }
                // The broker may not have the subscriptions, so the link subscribes again.
                let topics = self.subscriptions.iter().cloned().collect::<Vec<_>>();
                self.queue.forget_subscriptions();
                if let Some(link) = &mut self.link {
                    link.accepted(limits, &topics);
                    if link.ready {
                        self.connected()?;
                    }
                }
            }
            Ok(LinkEvent::Subscribed) => {
                if self.link.as_mut().is_some_and(BrokerLink::subscribed) {
                    self.connected()?;
                }
            }
            Ok(LinkEvent::NotSubscribed(why)) => {
                self.lost(format!("the broker refused a subscription: {why}"))?;
            }
            Ok(LinkEvent::Arrived { topic, payload }) => {
                self.handle(Input::Arrived { topic: &topic, payload: &payload })?;
            }
            Ok(LinkEvent::Sent(packet)) => {
                self.queue.sent(packet);
                if self.connection.qos == Quality::AtMostOnce {
                    self.acknowledged(packet)?;
                }
            }
            Ok(LinkEvent::Acknowledged(packet)) => self.acknowledged(packet)?,
            Ok(LinkEvent::Refused(packet, refusal)) => self.refused(packet, refusal)?,
            Ok(LinkEvent::LowerQuality(qos)) => self.lowered(qos),
            Ok(LinkEvent::RetainsNothing) => {
                self.nothing_retained()?;
                self.lost("the broker refused to retain a message".to_owned())?;
            }
        }
        Ok(())
    }

    fn connected(&mut self) -> Result<(), Fatal> {
        self.connected_at = Some(Instant::now());
        self.status.send_modify(|status| {
            status.connected = true;
            status.connections += 1;
            diagnostics::connected(&status.address, status.connections);
        });
        self.handle(Input::Connected)
    }

    /// Takes what the broker has announced. A client identifier that it assigns names the session from
    /// now on.
    fn announced(&mut self, properties: Option<Box<BrokerProperties>>) {
        let assigned =
            properties.as_ref().and_then(|properties| properties.assigned_client.clone());
        if let Some(client) = assigned {
            self.connection.client = client;
        }
        self.status.send_modify(|status| status.announced = properties.map(|it| *it));
    }

    /// Connects again at once, at the highest QoS that the broker allows. The QoS determines the
    /// session, so the connection cannot continue.
    fn lowered(&mut self, qos: Quality) {
        self.connection.qos = qos;
        self.connected_at = None;
        self.status.send_modify(|status| {
            status.connected = false;
            (status.qos, status.is_lowered) = (qos, true);
        });
        self.drop_link();
        self.link = Some(BrokerLink::open(&self.connection));
    }

    fn nothing_retained(&self) -> Result<(), Fatal> {
        match self.runtime.relies_on_retained_messages() {
            true => Err(Fatal::NothingRetained),
            false => Ok(()),
        }
    }

    fn acknowledged(&mut self, packet: u16) -> Result<(), Fatal> {
        self.answered_at = Instant::now();
        if let Some(id) = self.queue.acknowledge(packet) {
            self.window.acknowledged();
            self.handle(Input::Acknowledged(id))?;
        }
        Ok(())
    }

    /// Handles a refused publish. If the refusal is not final, the driver publishes the message
    /// again over another connection, a little later each time.
    fn refused(&mut self, packet: u16, refusal: PublishRefusal) -> Result<(), Fatal> {
        let Some(publish) = self.queue.publish(packet) else { return Ok(()) };
        let topic = publish.topic.clone();
        let PublishRefusal { why, is_final } = refusal;
        if is_final {
            self.refused_for_good(&topic, why);
            self.acknowledged(packet)?;
        }
        if !is_final || self.connection.qos == Quality::ExactlyOnce {
            self.lost(format!("the broker refused a message to {topic}: {why}"))?;
        }
        Ok(())
    }

    fn refused_for_good(&self, topic: &str, why: &str) {
        let refusal = format!("the broker refused a message to {topic}: {why}");
        diagnostics::lost(&refusal);
        self.status.send_modify(|status| status.refusal = Some(refusal));
    }

    /// Handles a connection that ended with an error. A broker often gives no reason when another
    /// client with the same identifier takes over.
    fn broken(&mut self, problem: String) -> Result<(), Fatal> {
        let brief = self.connected_at.is_some_and(|at| at.elapsed() < LASTING);
        self.brief = if brief { self.brief + 1 } else { 0 };
        self.lost(if self.brief < BRIEF_CONNECTIONS {
            problem
        } else {
            // A broker of MQTT 5 says what it does not support.
            let also = match self.connection.version {
                Version::V3 => ", or does the broker refuse retained messages, or this QoS",
                Version::V5 => "",
            };
            format!(
                "{problem}; several connections in a row ended at once. Is another process running \
                 with the client identifier {}{also}?",
                self.connection.client
            )
        })
    }

    /// Ends the connection. The next client publishes unacknowledged messages again.
    fn lost(&mut self, problem: String) -> Result<(), Fatal> {
        self.drop_link();
        // Only a connection that lasted resets the count. Another one may end at once again: the
        // broker may refuse the same publish, or a client with the same identifier may take over.
        if self.connected_at.take().is_some_and(|at| at.elapsed() >= LASTING) {
            self.failures = 0;
        }
        let pause = pause(self.failures, &mut *fresh_rng()?);
        self.reconnect_at = Instant::now() + pause;
        self.failures = self.failures.saturating_add(1);
        self.status.send_modify(|status| {
            status.connected = false;
            diagnostics::disconnected(&status.address, &problem, pause);
            status.problem = Some(problem);
        });
        Ok(())
    }

    fn drop_link(&mut self) {
        self.link = None;
        self.queue.disconnected();
    }
}

/// The maximum number of events that wait for the application.
const EVENTS: usize = 4_096;

/// A connection that lasts at least this long was successful.
const LASTING: Duration = Duration::from_secs(5);

/// After this many short connections in a row, the status names a likely reason.
const BRIEF_CONNECTIONS: u32 = 3;
