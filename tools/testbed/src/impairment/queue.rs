//! Decides what happens to packets: it holds them, drops them and turns them around. It has no I/O
//! and no clock: its caller passes the time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// The impairment of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// How long each packet is held.
    pub delay: Duration,
    /// The share of packets that are dropped, 0 to 1. Packets are dropped independently of each
    /// other.
    pub loss: f64,
}

/// A client's link to the broker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImpairedLink {
    /// From the client to the broker.
    pub up: Impairment,
    /// From the broker to the client.
    pub down: Impairment,
}

/// The decision about a packet on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The packet is lost on its link.
    Dropped,
    /// The packet is ignored, because it is no whole TCP segment over IPv4 to or from the broker.
    Foreign,
    /// The packet is on its way until this time.
    Held(Duration),
    /// The packet is dropped, because [`PacketQueue::MOST_PACKETS`] packets are already on their
    /// way.
    Overflow,
}

/// The counts of packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// The bytes of all packets that were not ignored, with the headers of IP and TCP.
    pub bytes: u64,
    /// Packets that were lost on their link.
    pub dropped: u64,
    /// Packets that were ignored.
    pub foreign: u64,
    /// Packets that were held.
    pub held: u64,
    /// Packets that were dropped because the queue was full. This is not part of the impairment, so
    /// it spoils a run.
    pub overflow: u64,
    /// Segments with data that had been sent before.
    pub resent: u64,
}

/// Packets on their way.
///
/// Each direction of each connection has a random stream of its own. The stream follows from the
/// seed and the connection's number. So one more member does not change which packets of the others
/// are lost.
#[derive(Debug)]
pub struct PacketQueue {
    broker_port: u16,
    link: ImpairedLink,
    links: HashMap<SocketAddrV4, ImpairedLink>,
    seed: u64,
    flows: HashMap<ConnectionDirection, FlowState>,
    connections: HashMap<SocketAddrV4, u64>,
    held: BinaryHeap<Reverse<HeldPacket>>,
    sequence: u64,
    counts: PacketCounts,
}

impl PacketQueue {
    /// The maximum number of packets on their way: two seconds of a gigabit.
    pub const MOST_PACKETS: usize = 200_000;

    /// Creates an empty queue in which all links are alike.
    pub fn new(broker_port: u16, link: ImpairedLink, seed: u64) -> Self {
        Self {
            broker_port,
            link,
            links: HashMap::new(),
            seed,
            flows: HashMap::new(),
            connections: HashMap::new(),
            held: BinaryHeap::new(),
            sequence: 0,
            counts: PacketCounts::default(),
        }
    }

    /// Changes all links without settings of their own, for packets from now on.
    pub fn set_all(&mut self, link: ImpairedLink) {
        self.link = link;
    }

    /// Gives one client, identified by address and port, a link of its own.
    pub fn set(&mut self, client: SocketAddrV4, link: ImpairedLink) {
        self.links.insert(client, link);
    }

    /// Takes an IPv4 packet at the time `now`, and turns it around.
    pub fn arrive(&mut self, now: Duration, mut packet: Vec<u8>) -> Arrival {
        let Some((flow, up, segment)) = turn_around(&mut packet, self.broker_port) else {
            self.counts.foreign += 1;
            return Arrival::Foreign;
        };
        let client = if up { flow.from } else { flow.to };
        let link = self.links.get(&client).unwrap_or(&self.link);
        let Impairment { delay, loss } = if up { link.up } else { link.down };
        let next = self.connections.len() as u64;
        let connection = *self.connections.entry(client).or_insert(next);
        let seed = self.seed;
        let FlowState { random, sent } = self.flows.entry(flow).or_insert_with(|| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(2 * connection + u64::from(up));
            FlowState { random, sent: None }
        });
        self.counts.bytes += packet.len() as u64;
        self.counts.resent += u64::from(segment.repeats(sent));
        // The draw happens even if nothing is lost. So a link whose loss changes later keeps its
        // draws.
        let share = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        if share < loss {
            self.counts.dropped += 1;
            return Arrival::Dropped;
        }
        if self.held.len() >= Self::MOST_PACKETS {
            self.counts.overflow += 1;
            return Arrival::Overflow;
        }
        let due = now.saturating_add(delay);
        self.held.push(Reverse(HeldPacket { due, sequence: self.sequence, packet }));
        self.sequence += 1;
        self.counts.held += 1;
        Arrival::Held(due)
    }

    /// Returns when the next packet is due.
    pub fn next_due(&self) -> Option<Duration> {
        self.held.peek().map(|Reverse(held)| held.due)
    }

    /// Removes and returns the next packet if it is due at the time `now`, and by how much it is
    /// late.
    pub fn leave(&mut self, now: Duration) -> Option<(Vec<u8>, Duration)> {
        let late = now.checked_sub(self.next_due()?)?;
        let Reverse(held) = self.held.pop()?;
        Some((held.packet, late))
    }

    /// Returns the counts of packets so far.
    pub const fn counts(&self) -> PacketCounts {
        self.counts
    }
}

/// One direction of a connection, with the addresses before the packet is turned around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ConnectionDirection {
    from: SocketAddrV4,
    to: SocketAddrV4,
}

/// The state of a flow.
#[derive(Debug)]
struct FlowState {
    random: ChaCha8Rng,
    /// The sequence number after the last byte of data that was sent.
    sent: Option<u32>,
}

/// The data of a TCP segment.
#[derive(Clone, Copy, Debug)]
struct TcpData {
    begins_connection: bool,
    sequence: u32,
    bytes: u32,
}

impl TcpData {
    /// Returns whether the segment has data that was sent before. Notes how far the flow has sent.
    fn repeats(self, sent: &mut Option<u32>) -> bool {
        let Self { begins_connection, sequence, bytes } = self;
        if begins_connection {
            // A new connection may use the same ports again.
            *sent = None;
        }
        if bytes == 0 {
            return false;
        }
        // Sequence numbers wrap around (RFC 9293, section 3.4).
        let is_before = |number: u32, other: u32| number.wrapping_sub(other).cast_signed() < 0;
        let repeats = sent.is_some_and(|sent| is_before(sequence, sent));
        let end = sequence.wrapping_add(bytes);
        if sent.is_none_or(|sent| is_before(sent, end)) {
            *sent = Some(end);
        }
        repeats
    }
}

/// A packet on its way. Packets leave in this order: by due time, then by arrival.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HeldPacket {
    due: Duration,
    sequence: u64,
    packet: Vec<u8>,
}

/// Swaps source and destination of a TCP segment to or from the broker. Returns its flow, whether
/// it goes to the broker, and its data. The sums over the addresses stay, and so do the checksums.
fn turn_around(
    packet: &mut [u8],
    broker_port: u16,
) -> Option<(ConnectionDirection, bool, TcpData)> {
    let &[version_and_length, ..] = &*packet else { return None };
    let header = usize::from(version_and_length & 0x0f) * 4;
    let whole = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    // The later parts of a fragmented segment have no ports. A TCP that knows the path's MTU, such
    // as Linux's, does not fragment.
    let later_part = [packet.get(6)? & 0x1f, *packet.get(7)?] != [0, 0];
    let tcp = *packet.get(9)? == 6;
    if version_and_length >> 4 != 4 || header < 20 || whole != packet.len() || later_part || !tcp {
        return None;
    }
    let port = |place: usize| {
        Some(u16::from_be_bytes([*packet.get(header + place)?, *packet.get(header + place + 1)?]))
    };
    let address = |place: usize| {
        let octets: [u8; 4] = packet.get(place..place + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(octets))
    };
    let flow = ConnectionDirection {
        from: SocketAddrV4::new(address(12)?, port(0)?),
        to: SocketAddrV4::new(address(16)?, port(2)?),
    };
    let up = flow.to.port() == broker_port;
    if !up && flow.from.port() != broker_port {
        return None;
    }
    let segment = segment(packet.get(header..)?)?;
    let (from, to) = packet[12..20].split_at_mut(4);
    from.swap_with_slice(to);
    Some((flow, up, segment))
}

/// Reads a TCP header.
fn segment(bytes: &[u8]) -> Option<TcpData> {
    let sequence: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
    let header = usize::from(*bytes.get(12)? >> 4) * 4;
    Some(TcpData {
        begins_connection: *bytes.get(13)? & SYN != 0,
        sequence: u32::from_be_bytes(sequence),
        bytes: bytes.len().checked_sub(header)? as u32,
    })
}

const SYN: u8 = 0x02;

#[cfg(test)]
mod tests;
