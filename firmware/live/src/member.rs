//! Connects the member to the broker: the device's counterpart of the host's driver.
//!
//! It hands what arrives to the member's state machine, and the member's messages to the MQTT
//! client. It keeps a message until the broker acknowledges it, over connections that break in between.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;

use groupkey::catalogue::{self, Scheme};
use groupkey_mqtt::device_settings::DeviceSettings;
use groupkey_mqtt::event::{Hint, MemberEvent};
use groupkey_mqtt::member::MemberSettingsError;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::store::{MembershipStore, Publish};
use groupkey_mqtt::{Generator, Input, Member, Output, Runtime, Secret};
use minimq::{
    Connection, Error, Io, Op, Property, PubError, Publication, QoS, ResourceError,
    SubscriptionOptions, TopicFilter,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

use crate::console::{self, line};
use crate::{board, memory};

/// The schemes that the program links: the one that `GROUPKEY_SCHEME` named when it was built, or the
/// first of its family.
static SCHEMES: &[Scheme] = &match option_env!("GROUPKEY_SCHEME") {
    Some(id) => [linked(id); 3],
    None => [linked("lkh-group"), linked("lkh-key"), linked("skdc")],
};

/// Leaves the scheme's controller out of the program.
const fn linked(id: &str) -> Scheme {
    catalogue::scheme(id).expect("the program's features have the scheme").for_members()
}

/// A member, and what it has to do at the broker.
pub struct MemberDriver {
    member: Member,
    randomness: ChaCha20Rng,
    console: console::ConsoleLine,
    has_key: bool,
    subscriptions: BTreeSet<String>,
    /// What the client has not taken yet, in order.
    waiting: VecDeque<Deed>,
    /// What the client has taken, and the broker has not acknowledged.
    flight: VecDeque<(Op, Deed)>,
    /// Whether the broker has confirmed all subscriptions of this connection.
    is_ready: bool,
    /// Messages that were too long for the client's buffer, or for the broker.
    dropped: u64,
    needs: memory::Needs,
}

enum Deed {
    Publish(Publish),
    Subscribe(String),
    Unsubscribe(String),
}

/// Why a connection, or the program, ends.
pub enum End<E> {
    Lost(Error<E>),
    /// The device is no longer a member.
    Evicted,
    /// The member cannot continue.
    Fatal,
}

impl MemberDriver {
    /// Creates a device that resumes the membership in `memory`, or joins, once it is connected. `starts`
    /// says how often it has started.
    pub fn new(
        settings: &DeviceSettings,
        identity: Secret,
        starts: u32,
        memory: Box<dyn MembershipStore>,
        randomness: ChaCha20Rng,
    ) -> Result<Self, MemberSettingsError> {
        let member = Member::with_schemes(settings.member(identity), SCHEMES)?;
        Ok(Self {
            // A start of 50 days does not reach the stamps of the next one.
            member: member.stamped_from(u64::from(starts) << 32).remembering(memory),
            randomness,
            console: console::ConsoleLine::open(),
            has_key: false,
            subscriptions: BTreeSet::new(),
            waiting: VecDeque::new(),
            flight: VecDeque::new(),
            is_ready: false,
            dropped: 0,
            needs: memory::Needs::default(),
        })
    }

    /// Takes part over this connection until it breaks, or the device is evicted.
    pub async fn take_part<IO: Io>(
        &mut self,
        mut connection: Connection<'_, '_, IO>,
    ) -> Result<core::convert::Infallible, End<IO::Error>> {
        self.subscribe_again();
        loop {
            self.settle(&connection)?;
            self.collect()?;
            self.pump(&mut connection).await?;
            if !self.is_ready && !self.is_subscribing() {
                self.is_ready = true;
                line!("connected");
                self.handle(Input::Connected)?;
                continue;
            }
            self.wait(&mut connection).await?;
        }
    }

    /// Subscribes to all topics once more: the broker may not have the session any more, and sends
    /// its retained notice of the epoch only to new subscriptions.
    fn subscribe_again(&mut self) {
        self.is_ready = false;
        self.waiting.retain(|deed| matches!(deed, Deed::Publish(_)));
        self.flight.retain(|(_, deed)| matches!(deed, Deed::Publish(_)));
        let topics = self.subscriptions.iter().cloned().map(Deed::Subscribe);
        topics.rev().for_each(|deed| self.waiting.push_front(deed));
    }

    fn is_subscribing(&self) -> bool {
        let is_subscription = |deed: &Deed| matches!(deed, Deed::Subscribe(_));
        self.waiting.iter().any(is_subscription)
            || self.flight.iter().any(|(_, deed)| is_subscription(deed))
    }

    /// Takes what the broker has acknowledged out of the flight, and publishes again what was lost
    /// with the broker's session.
    fn settle<IO: Io>(
        &mut self,
        connection: &Connection<'_, '_, IO>,
    ) -> Result<(), End<IO::Error>> {
        for (op, deed) in core::mem::take(&mut self.flight).into_iter().rev() {
            if connection.is_pending(&op) {
                self.flight.push_front((op, deed));
            } else if connection.is_invalidated(&op) {
                self.waiting.push_front(deed);
            } else if let Deed::Publish(publish) = deed {
                self.handle(Input::Acknowledged(publish.id))?;
            }
        }
        Ok(())
    }

    fn collect<E>(&mut self) -> Result<(), End<E>> {
        while let Some(output) = self.member.poll()? {
            match output {
                Output::Event(event) => self.print(event)?,
                Output::Publish(publish) => self.waiting.push_back(Deed::Publish(publish)),
                Output::Subscribe(topic) => {
                    if self.subscriptions.insert(topic.clone()) {
                        self.waiting.push_back(Deed::Subscribe(topic));
                    }
                }
                Output::Unsubscribe(topic) => {
                    if self.subscriptions.remove(&topic) {
                        self.waiting.push_back(Deed::Unsubscribe(topic));
                    }
                }
            }
        }
        Ok(())
    }

    /// Hands what waits to the client, until it takes no more.
    async fn pump<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), End<IO::Error>> {
        while self.flight.len() < WINDOW
            && let Some(deed) = self.waiting.pop_front()
        {
            if matches!(deed, Deed::Publish(_)) && !self.is_ready {
                self.waiting.push_front(deed);
                break;
            }
            let taken = match &deed {
                Deed::Publish(publish) => send(connection, publish).await,
                Deed::Subscribe(topic) => {
                    let options = SubscriptionOptions::default().maximum_qos(QoS::AtLeastOnce);
                    let filter = TopicFilter::new(topic).options(options);
                    connection.subscribe(&[filter], &[]).await
                }
                Deed::Unsubscribe(topic) => connection.unsubscribe(&[topic], &[]).await,
            };
            match taken {
                Ok(op) => self.flight.push_back((op, deed)),
                Err(Error::Resource(
                    ResourceError::PacketTooLarge | ResourceError::BufferTooSmall,
                )) if self.flight.is_empty() => {
                    self.dropped += 1;
                    if let Deed::Publish(publish) = deed {
                        line!("dropped {}", publish.payload.len());
                        self.handle(Input::Acknowledged(publish.id))?;
                    }
                }
                // There is room once the broker has acknowledged what is in flight.
                Err(Error::NotReady | Error::Resource(_)) => {
                    self.waiting.push_front(deed);
                    break;
                }
                Err(error) => {
                    self.waiting.push_front(deed);
                    return Err(End::Lost(error));
                }
            }
        }
        Ok(())
    }

    /// Waits until a message arrives, something is acknowledged, a line comes in, or the member's
    /// time has come.
    async fn wait<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), End<IO::Error>> {
        let deadline = self.member.deadline().unwrap_or(u64::MAX);
        // Lines wait for a key, and until the lines before them are on their way.
        let listens = self.has_key && self.waiting.is_empty();
        let console = &mut self.console;
        let mut progress = pin!(connection.poll());
        let happened = poll_fn(|context| match progress.as_mut().poll(context) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if board::now() >= deadline || listens && console.read() => {
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        })
        .await;
        match happened {
            Some(Ok(Some(message))) => {
                let (topic, payload) = (message.topic(), message.payload());
                self.handle(Input::Arrived { topic, payload })
            }
            Some(Ok(None)) => Ok(()),
            Some(Err(error)) => Err(End::Lost(error)),
            None if listens && self.console.read() => {
                self.say();
                Ok(())
            }
            None => self.handle(Input::Tick),
        }
    }

    fn say(&mut self) {
        let mut rng = fresh(&mut self.randomness);
        let said = self
            .console
            .take()
            .is_some_and(|text| self.member.say(text, board::now(), &mut rng).is_ok());
        line!("{}", if said { "said" } else { "unsaid" });
    }

    fn handle<E>(&mut self, input: Input<'_>) -> Result<(), End<E>> {
        let mut rng = fresh(&mut self.randomness);
        self.member.handle(input, board::now(), &mut rng)?;
        Ok(())
    }

    /// Prints what the member reports. `groupkey device run` understands these lines.
    fn print<E>(&mut self, event: MemberEvent) -> Result<(), End<E>> {
        match event {
            MemberEvent::Behind(epoch) => {
                self.has_key = false;
                line!("behind {}", epoch.0);
            }
            MemberEvent::Joined { member, founded } => line!("joined {} {founded}", member.0),
            MemberEvent::Changed { scheme, founded } => line!("changed {scheme} {founded}"),
            MemberEvent::Rekeyed(epoch) => {
                self.has_key = true;
                line!("epoch {}", epoch.0);
                self.report();
            }
            MemberEvent::Heard(received) => {
                line!("heard {} {}", received.sender.0, Hex(&received.content));
            }
            MemberEvent::NotIn(hint) => line!("outside {}", word(hint)),
            MemberEvent::JoinsAgain => {
                self.has_key = false;
                line!("again");
            }
            MemberEvent::Evicted => return Err(End::Evicted),
            MemberEvent::Resumed { member, founded } => line!("resumed {} {founded}", member.0),
            MemberEvent::Unkept(_) => line!("unkept"),
            MemberEvent::Activated(_) | MemberEvent::Proven | MemberEvent::Unproven => {}
        }
        Ok(())
    }

    /// Prints how much memory the program needs, if that has grown, and what it has refused.
    fn report(&mut self) {
        let needs = memory::needs();
        if needs != self.needs {
            self.needs = needs;
            let memory::Needs { flash, statics, heap, stack } = needs;
            line!("memory {flash} {statics} {heap} {stack}");
        }
        let counters = self.member.counters();
        line!("counters {} {} {}", counters.taken, counters.refusals(), self.dropped);
    }
}

/// Publishes a message at QoS 1.
async fn send<IO: Io>(
    connection: &mut Connection<'_, '_, IO>,
    publish: &Publish,
) -> Result<Op, Error<IO::Error>> {
    let expiry = publish.expiry.map(Property::MessageExpiryInterval);
    let mut publication = Publication::bytes(&publish.topic, &publish.payload)
        .qos(QoS::AtLeastOnce)
        .properties(expiry.as_slice());
    if publish.retain {
        publication = publication.retain();
    }
    match connection.publish(publication).await {
        Ok(Some(op)) => Ok(op),
        // The broker allows no QoS 1, which the group needs.
        Ok(None) => Err(Error::InvalidRequest),
        Err(PubError::Session(error)) => Err(error),
        // Bytes need no serialization. Only a lack of room is left.
        Err(PubError::Payload(_)) => Err(Error::Resource(ResourceError::BufferTooSmall)),
    }
}

fn fresh(randomness: &mut ChaCha20Rng) -> Generator {
    let mut seed = [0; 32];
    randomness.fill_bytes(&mut seed);
    Generator::from_seed(&seed)
}

const fn word(hint: Hint) -> &'static str {
    match hint {
        Hint::NoAnswer => "no-answer",
        Hint::Known => "known",
        Hint::Unopened => "unopened",
        Hint::OtherScheme => "other-scheme",
        Hint::TooWeak(_) => "too-weak",
    }
}

/// Bytes as hexadecimal digits.
pub struct Hex<'a>(pub &'a [u8]);

impl core::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<E> From<Fatal> for End<E> {
    fn from(_: Fatal) -> Self {
        Self::Fatal
    }
}

/// How many requests and messages may be in flight. The client has room for eight.
const WINDOW: usize = 4;
