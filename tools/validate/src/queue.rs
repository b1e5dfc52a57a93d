//! Decides what happens to packets: holds them, drops them and turns them around. It has no I/O and no
//! clock: its caller passes the time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::SocketAddrV4;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// What happens to packets, the same in both directions of all links.
#[derive(Clone, Copy, Default)]
pub(crate) struct Impairment {
    /// How long each packet is held.
    pub(crate) delay: Duration,
    /// The share of packets that are dropped, 0 to 1, each independently of the others.
    pub(crate) loss: f64,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct PacketCounts {
    /// The bytes of all packets to and from the broker, with the headers of IP and TCP.
    pub(crate) bytes: u64,
    pub(crate) dropped: u64,
    pub(crate) held: u64,
}

/// Packets on their way.
///
/// Each direction of each connection has a random stream of its own, which follows from the seed and
/// the connection's number. So one more member does not change which packets of the others are lost.
pub(crate) struct PacketQueue {
    pub(crate) counts: PacketCounts,
    pub(crate) impairment: Impairment,
    broker_port: u16,
    seed: u64,
    /// The randomness of each direction of a connection.
    flows: HashMap<[SocketAddrV4; 2], ChaCha8Rng>,
    connections: HashMap<SocketAddrV4, u64>,
    /// By due time, then by arrival.
    held: BinaryHeap<Reverse<(Duration, u64, Vec<u8>)>>,
}

impl PacketQueue {
    pub(crate) fn new(broker_port: u16, seed: u64) -> Self {
        Self {
            counts: PacketCounts::default(),
            impairment: Impairment::default(),
            broker_port,
            seed,
            flows: HashMap::new(),
            connections: HashMap::new(),
            held: BinaryHeap::new(),
        }
    }

    /// Takes an IPv4 packet at the time `now`, and turns it around. Returns when it is due; `None` if it
    /// is dropped, or ignored as no whole TCP segment to or from the broker.
    pub(crate) fn arrive(&mut self, now: Duration, mut packet: Vec<u8>) -> Option<Duration> {
        let [from, to] = turn_around(&mut packet)?;
        let up = to.port() == self.broker_port;
        if !up && from.port() != self.broker_port {
            return None;
        }
        let client = if up { from } else { to };
        let next = self.connections.len() as u64;
        let connection = *self.connections.entry(client).or_insert(next);
        let seed = self.seed;
        let random = self.flows.entry([from, to]).or_insert_with(|| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(2 * connection + u64::from(up));
            random
        });
        self.counts.bytes += packet.len() as u64;
        // The draw happens even if nothing is lost. So a link whose loss changes later keeps its draws.
        let share = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        if share < self.impairment.loss {
            self.counts.dropped += 1;
            return None;
        }
        let due = now.saturating_add(self.impairment.delay);
        self.held.push(Reverse((due, self.counts.held, packet)));
        self.counts.held += 1;
        Some(due)
    }

    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.held.peek().map(|Reverse((due, ..))| *due)
    }

    /// Removes and returns the next packet if it is due at the time `now`, and by how much it is late.
    pub(crate) fn leave(&mut self, now: Duration) -> Option<(Vec<u8>, Duration)> {
        let late = now.checked_sub(self.next_due()?)?;
        self.held.pop().map(|Reverse((.., packet))| (packet, late))
    }
}

/// Swaps source and destination of a TCP segment, and returns both as they were. The sums over the addresses
/// stay, and so do the checksums.
fn turn_around(packet: &mut [u8]) -> Option<[SocketAddrV4; 2]> {
    let version_and_length = *packet.first()?;
    let header = usize::from(version_and_length & 0x0f) * 4;
    let two = |place: usize| Some([*packet.get(place)?, *packet.get(place + 1)?]);
    let is_whole = usize::from(u16::from_be_bytes(two(2)?)) == packet.len();
    // The later parts of a fragmented segment have no ports. A TCP that knows the path's MTU, such as
    // Linux's, does not fragment.
    let is_later_part = u16::from_be_bytes(two(6)?) & 0x1fff != 0;
    let is_tcp = *packet.get(9)? == 6;
    if version_and_length >> 4 != 4 || header < 20 || !is_whole || is_later_part || !is_tcp {
        return None;
    }
    let address = |place: usize, port: usize| {
        let address: [u8; 4] = packet.get(place..place + 4)?.try_into().ok()?;
        Some(SocketAddrV4::new(address.into(), u16::from_be_bytes(two(header + port)?)))
    };
    let ends = [address(12, 0)?, address(16, 2)?];
    let (from, to) = packet[12..20].split_at_mut(4);
    from.swap_with_slice(to);
    Some(ends)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    const BROKER: u16 = 1883;
    const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 1), 40_000);
    const NEIGHBOUR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 2), BROKER);

    proptest! {
        /// No packet leaves early, packets keep their order, and each that is not dropped leaves. A second
        /// member changes nothing for the first.
        #[test]
        fn packets_leave_when_due_and_in_order(
            gaps in prop::collection::vec(0_u64..5_000, 1..200),
            loss in 0.0..1.0_f64,
            seed: u64,
        ) {
            let delay = Duration::from_millis(10);
            let [mut queue, mut beside] = [(); 2].map(|()| PacketQueue::new(BROKER, seed));
            queue.impairment = Impairment { delay, loss };
            beside.impairment = queue.impairment;
            let second = SocketAddrV4::new(*CLIENT.ip(), 40_001);
            let (mut now, mut due) = (Duration::ZERO, Vec::new());
            for (number, gap) in (0_u32..).zip(gaps) {
                now += Duration::from_micros(gap);
                let at = queue.arrive(now, segment(CLIENT, NEIGHBOUR, number));
                prop_assert_eq!(beside.arrive(now, segment(CLIENT, NEIGHBOUR, number)), at);
                beside.arrive(now, segment(second, NEIGHBOUR, number));
                prop_assert!(at.is_none_or(|at| at == now + delay));
                due.extend(at.map(|at| (at, number)));
            }
            for (at, number) in due {
                prop_assert_eq!(queue.leave(at - Duration::from_nanos(1)), None);
                let (packet, late) = queue.leave(at + delay).expect("it is due");
                prop_assert_eq!((late, &packet[40..]), (delay, &number.to_be_bytes()[..]));
            }
            prop_assert_eq!(queue.leave(Duration::MAX), None);
        }
    }

    #[test]
    fn source_and_destination_are_swapped_and_others_are_ignored() {
        let packet = segment(CLIENT, NEIGHBOUR, 5);
        let mut queue = PacketQueue::new(BROKER, 1);
        assert_eq!(queue.arrive(Duration::ZERO, packet.clone()), Some(Duration::ZERO));
        let (turned, _) = queue.leave(Duration::ZERO).expect("there is no delay");
        assert_eq!((&turned[12..16], &turned[16..20]), (&packet[16..20], &packet[12..16]));
        assert_eq!((&turned[..12], &turned[20..]), (&packet[..12], &packet[20..]));
        let elsewhere = SocketAddrV4::new(*NEIGHBOUR.ip(), 80);
        assert_eq!(queue.arrive(Duration::ZERO, segment(CLIENT, elsewhere, 0)), None);
        assert_eq!((queue.counts.dropped, queue.counts.held), (0, 1));
    }

    #[test]
    fn the_share_that_is_lost_is_as_asked() {
        let mut queue = PacketQueue::new(BROKER, 1);
        queue.impairment.loss = 0.2;
        for number in 0..100_000 {
            queue.arrive(Duration::ZERO, segment(CLIENT, NEIGHBOUR, number));
        }
        assert!((19_000..21_000).contains(&queue.counts.dropped), "{}", queue.counts.dropped);
    }

    /// Returns a segment with four bytes of data and headers of 20 bytes each.
    fn segment(from: SocketAddrV4, to: SocketAddrV4, number: u32) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 6, 0, 0];
        packet.extend([from.ip().octets(), to.ip().octets()].concat());
        packet.extend([from.port().to_be_bytes(), to.port().to_be_bytes()].concat());
        packet.resize(40, 0);
        packet.extend(number.to_be_bytes());
        packet
    }
}
