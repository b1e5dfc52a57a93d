//! A test bed: what the study may have run on, as far as it does not say, and its network.

use std::fmt;

use groupkey::{PartyId, Recipient};
use groupkey_sim::group::{Carrier, SimulatedNetwork, Station};
use groupkey_sim::{
    ClientId, Duration, Event, HandOver, LinkProfile, LwipProfile, MessageId, NetworkConfig,
    Processing, Qos, Stack, TcpProfile, Time, Traffic,
};
use serde::{Serialize, Serializer};

/// Assumptions about the study's test bed. It says that loss and delay act on each client, for
/// packets that come in and packets that go out, and that messages have QoS 2; the rest is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TestBed {
    /// Whose links lose packets.
    pub lossy: Lossy,
    /// In which direction they lose them.
    pub direction: Direction,
    /// The members' TCP. The controller is a PC and runs Linux.
    #[serde(serialize_with = "name_of_stack")]
    pub members: Stack,
    /// The broker's TCP.
    #[serde(serialize_with = "name_of_stack")]
    pub broker: Stack,
    /// Quality of service from the broker to a subscriber: 0, 1 or 2.
    pub delivery_qos: u8,
    /// The packet at which the broker forwards a message.
    #[serde(serialize_with = "name_of_packet")]
    pub forwards_on: HandOver,
    /// The packet at which a subscriber takes a QoS 2 message as delivered.
    #[serde(serialize_with = "name_of_packet")]
    pub delivers_on: HandOver,
    /// Whether Nagle's algorithm is on at both ends: paho and Mosquitto leave it on.
    pub nagle: bool,
    /// Most exchanges under way from one client: 20 in paho unless changed.
    pub in_flight: u16,
    /// Which time is reported.
    pub reported: Reported,
}

/// Whose links lose packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lossy {
    /// Those of all clients.
    All,
    /// Those of the members.
    Members,
    /// That of the controller; in G-DH, which has none, that of the first member.
    Controller,
}

/// In which direction links lose packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// In each direction with the stated probability.
    Both,
    /// In both directions together with the stated probability: half of it each way.
    BothTogether,
    /// From the client to the broker.
    Up,
    /// From the broker to the client.
    Down,
}

/// Which time the study reports for a centralized operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reported {
    /// The time until the last member has the key.
    LastMember,
    /// The mean over members.
    MeanOfMembers,
}

/// What stands on the devices besides the test bed: the figures that are solved for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Devices {
    pub(super) controller: Processing,
    pub(super) member: Processing,
}

impl TestBed {
    /// Returns all test beds that are searched.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for members in Stack::ALL {
            for broker in Stack::ALL {
                for (delivery_qos, forwards_on, delivers_on) in deliveries() {
                    for nagle in [false, true] {
                        for in_flight in [u16::MAX, PAHO_IN_FLIGHT] {
                            for reported in [Reported::LastMember, Reported::MeanOfMembers] {
                                for lossy in [Lossy::All, Lossy::Members, Lossy::Controller] {
                                    for direction in Direction::ALL {
                                        all.push(Self {
                                            lossy,
                                            direction,
                                            members,
                                            broker,
                                            delivery_qos,
                                            forwards_on,
                                            delivers_on,
                                            nagle,
                                            in_flight,
                                            reported,
                                        });
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        all
    }

    /// Returns the same test bed with one value for everything that matters only under loss.
    pub(super) const fn without_loss(self) -> Self {
        Self { lossy: Lossy::All, direction: Direction::Both, ..self }
    }

    /// Returns the network of a run at this loss (%) and one-way delay (ms).
    pub(super) fn network(
        &self,
        devices: &Devices,
        loss_percent: f64,
        delay_ms: f64,
        has_controller: bool,
        seed: u64,
    ) -> BedNetwork {
        let config = NetworkConfig {
            qos: Qos::ExactlyOnce,
            delivery_qos: Qos::from_number(self.delivery_qos),
            hand_over: self.delivers_on,
            broker_forwards_on: self.forwards_on,
            client_stack: self.members,
            broker_stack: self.broker,
            tcp: TcpProfile { nagle: self.nagle, ..TcpProfile::default() },
            lwip: LwipProfile { nagle: self.nagle, ..LwipProfile::default() },
            max_in_flight: self.in_flight,
            broker: devices.controller,
            client: devices.member,
            seed,
            ..NetworkConfig::default()
        };
        let loss = loss_percent / 100.0;
        let each = 1.0 - (1.0 - loss).sqrt();
        let [up, down] = match self.direction {
            Direction::Both => [loss, loss],
            Direction::BothTogether => [each, each],
            Direction::Up => [loss, 0.0],
            Direction::Down => [0.0, loss],
        };
        BedNetwork {
            network: SimulatedNetwork::new(config),
            bed: *self,
            devices: *devices,
            loss: [up, down],
            delay: Duration::from_nanos((delay_ms * 1e6) as u64),
            has_controller,
        }
    }
}

impl Direction {
    const ALL: [Self; 4] = [Self::Both, Self::BothTogether, Self::Up, Self::Down];
}

/// What paho allows under way without being asked for more.
const PAHO_IN_FLIGHT: u16 = 20;

/// The ways of a QoS 2 message to its subscriber.
fn deliveries() -> Vec<(u8, HandOver, HandOver)> {
    let mut all = Vec::new();
    for forwards_on in HandOver::ALL {
        all.extend(HandOver::ALL.map(|delivers_on| (2, forwards_on, delivers_on)));
        // With less, a subscriber takes a message at PUBLISH.
        all.extend([0, 1].map(|qos| (qos, forwards_on, HandOver::Publish)));
    }
    all
}

/// `all links, each way, Linux at members, Linux at the broker, …`
impl fmt::Display for TestBed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lossy = match self.lossy {
            Lossy::All => "all links",
            Lossy::Members => "members' links",
            Lossy::Controller => "controller's link",
        };
        let direction = match self.direction {
            Direction::Both => "each way",
            Direction::BothTogether => "both ways together",
            Direction::Up => "to the broker",
            Direction::Down => "from the broker",
        };
        let reported = match self.reported {
            Reported::LastMember => "last member",
            Reported::MeanOfMembers => "mean of members",
        };
        let (members, broker) = (self.members.name(), self.broker.name());
        let nagle = if self.nagle { "Nagle" } else { "no Nagle" };
        write!(f, "{lossy}, {direction}; {members} to {broker}, {nagle}; ")?;
        write!(f, "forwards at {}, ", self.forwards_on.name())?;
        match self.delivery_qos {
            2 => write!(f, "delivers at {}, ", self.delivers_on.name())?,
            qos => write!(f, "delivers with QoS {qos}, ")?,
        }
        match self.in_flight {
            u16::MAX => write!(f, "any number in flight; {reported}"),
            most => write!(f, "{most} in flight; {reported}"),
        }
    }
}

/// The simulated network of a test bed. It gives each party the links and the TCP of the test bed.
#[derive(Debug)]
pub(super) struct BedNetwork {
    network: SimulatedNetwork,
    bed: TestBed,
    devices: Devices,
    /// Losses towards the broker and from it.
    loss: [f64; 2],
    delay: Duration,
    has_controller: bool,
}

impl BedNetwork {
    fn station(&self, party: PartyId, station: Station) -> Station {
        let is_controller = party == PartyId::Controller;
        let publishes = match party {
            PartyId::Controller => true,
            PartyId::Member(member) => !self.has_controller && member.0 == 0,
            PartyId::SubgroupController(_) => false,
        };
        let loses = match self.bed.lossy {
            Lossy::All => true,
            Lossy::Members => !is_controller,
            Lossy::Controller => publishes,
        };
        let [up, down] = self
            .loss
            .map(|loss| LinkProfile::delay_and_loss(self.delay, if loses { loss } else { 0.0 }));
        let (stack, processing) = match is_controller {
            true => (Stack::Linux, self.devices.controller),
            false => (self.bed.members, self.devices.member),
        };
        Station { up, down, stack, processing, ..station }
    }
}

impl Carrier for BedNetwork {
    const ALTERS_NOTHING: bool = SimulatedNetwork::ALTERS_NOTHING;

    fn seat(&mut self, party: PartyId, station: Station) -> ClientId {
        let station = self.station(party, station);
        self.network.seat(party, station)
    }

    fn subscribe(&mut self, client: ClientId, to: Recipient) {
        self.network.subscribe(client, to);
    }

    fn unsubscribe(&mut self, client: ClientId, to: Recipient) {
        self.network.unsubscribe(client, to);
    }

    fn publish(&mut self, from: ClientId, to: Recipient, message: MessageId, bytes: &[u8]) {
        self.network.publish(from, to, message, bytes);
    }

    fn wake_at(&mut self, time: Time, token: u64) {
        self.network.wake_at(time, token);
    }

    fn poll(&mut self) -> Result<Option<Event>, String> {
        self.network.poll()
    }

    fn rest(&mut self, done: Time, time: Duration) -> Result<(), String> {
        self.network.rest(done, time)
    }

    fn now(&self) -> Time {
        self.network.now()
    }

    fn traffic(&self) -> Traffic {
        self.network.traffic()
    }
}

fn name_of_stack<S: Serializer>(stack: &Stack, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(stack.name())
}

fn name_of_packet<S: Serializer>(packet: &HandOver, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(packet.name())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_test_bed_is_searched_twice() {
        let all = TestBed::all();
        let words: BTreeSet<String> = all.iter().map(TestBed::to_string).collect();
        assert_eq!(words.len(), all.len());
    }
}
