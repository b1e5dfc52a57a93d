//! Tests of the queue with random packets in random order.

use proptest::prelude::*;

use super::*;

const BROKER: u16 = 1883;
const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 1), 40_000);
const NEIGHBOUR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 2), BROKER);

/// The addresses of the broker's answers: from its own address to the neighbour's.
const ANSWERING: SocketAddrV4 = SocketAddrV4::new(*CLIENT.ip(), BROKER);
const ANSWERED: SocketAddrV4 = SocketAddrV4::new(*NEIGHBOUR.ip(), CLIENT.port());

proptest! {
    /// No packet leaves early, packets of one flow keep their order, and each packet that is not
    /// dropped leaves.
    #[test]
    fn packets_leave_when_due_and_in_order(
        gaps in prop::collection::vec(0_u64..5_000, 1..200),
        up_us in 0_u64..20_000,
        down_us in 0_u64..20_000,
        loss in 0.0..1.0_f64,
        seed: u64,
    ) {
        let impairment = |us| Impairment { delay: Duration::from_micros(us), loss };
        let link = ImpairedLink { up: impairment(up_us), down: impairment(down_us) };
        let mut queue = PacketQueue::new(BROKER, link, seed);
        let mut now = Duration::ZERO;
        let mut due = Vec::new();
        for (number, gap) in (0_u32..).zip(gaps) {
            now += Duration::from_micros(gap);
            let up = number % 3 != 0;
            let packet = if up {
                segment(CLIENT, NEIGHBOUR, number)
            } else {
                segment(ANSWERING, ANSWERED, number)
            };
            if let Arrival::Held(at) = queue.arrive(now, packet) {
                prop_assert_eq!(at, now + if up { link.up.delay } else { link.down.delay });
                due.push((at, number));
            }
        }
        due.sort();
        for (at, number) in due {
            prop_assert_eq!(queue.next_due(), Some(at));
            if let Some(early) = at.checked_sub(Duration::from_nanos(1)) {
                prop_assert_eq!(queue.leave(early), None);
            }
            let late = Duration::from_micros(7);
            let (packet, by) = queue.leave(at + late).expect("it is due");
            prop_assert_eq!(by, late);
            prop_assert_eq!(&packet[40..], &number.to_be_bytes());
        }
        prop_assert_eq!(queue.leave(Duration::MAX), None);
    }

    /// The seed decides which packets are lost. A second member changes nothing for the first
    /// member.
    #[test]
    fn each_link_has_its_own_luck(seed: u64, others in prop::collection::vec(any::<bool>(), 100)) {
        let lossy = Impairment { delay: Duration::ZERO, loss: 0.5 };
        let fates = |others: &[bool]| {
            let mut queue = PacketQueue::new(BROKER, ImpairedLink { up: lossy, down: lossy }, seed);
            others.iter().map(|&other| {
                let fate = queue.arrive(Duration::ZERO, segment(CLIENT, NEIGHBOUR, 0));
                if other {
                    let second = SocketAddrV4::new(*CLIENT.ip(), 40_001);
                    queue.arrive(Duration::ZERO, segment(second, NEIGHBOUR, 0));
                }
                fate
            }).collect::<Vec<_>>()
        };
        prop_assert_eq!(fates(&others), fates(&[false; 100]));
    }

    /// The queue ignores bytes that are no segment, and does not panic.
    #[test]
    fn any_bytes_are_taken_or_ignored(mut bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut queue = PacketQueue::new(BROKER, ImpairedLink::default(), 1);
        queue.arrive(Duration::ZERO, bytes.clone());
        if bytes.len() >= 20 {
            let length = (bytes.len() as u16).to_be_bytes();
            bytes[0] = 0x45;
            bytes[2..4].copy_from_slice(&length);
            bytes[9] = 6;
            queue.arrive(Duration::ZERO, bytes);
        }
    }

    #[test]
    fn the_share_that_is_lost_is_as_asked(seed: u64, percent in 0_u32..=100) {
        let lossy = Impairment { delay: Duration::ZERO, loss: f64::from(percent) / 100.0 };
        let mut queue = PacketQueue::new(BROKER, ImpairedLink { up: lossy, down: Impairment::default() }, seed);
        for number in 0..4_000 {
            queue.arrive(Duration::ZERO, segment(CLIENT, NEIGHBOUR, number));
        }
        let dropped = queue.counts().dropped as f64 / 4_000.0;
        // The tolerance is six times the largest standard deviation.
        prop_assert!((dropped - lossy.loss).abs() <= 6.0 * 0.5 / 4_000_f64.sqrt());
        prop_assert_eq!(queue.counts().dropped + queue.counts().held, 4_000);
    }
}

#[test]
fn source_and_destination_are_swapped_and_checksums_stay() {
    let packet = segment(CLIENT, NEIGHBOUR, 5);
    let mut queue = PacketQueue::new(BROKER, ImpairedLink::default(), 1);
    assert_eq!(queue.arrive(Duration::ZERO, packet.clone()), Arrival::Held(Duration::ZERO));
    let (turned, _) = queue.leave(Duration::ZERO).expect("there is no delay");
    assert_eq!(turned[12..16], packet[16..20]);
    assert_eq!(turned[16..20], packet[12..16]);
    assert_eq!(sum(&turned), sum(&packet));
    assert_eq!((&turned[..12], &turned[20..]), (&packet[..12], &packet[20..]));
}

#[test]
fn what_is_sent_again_is_counted() {
    let mut queue = PacketQueue::new(BROKER, ImpairedLink::default(), 1);
    let mut send = |flags, sequence: u32| {
        let mut packet = segment(CLIENT, NEIGHBOUR, 0);
        packet[24..28].copy_from_slice(&sequence.to_be_bytes());
        packet[33] = flags;
        queue.arrive(Duration::ZERO, packet);
        queue.counts().resent
    };
    // Each segment has four bytes of data. The sequence numbers wrap around.
    assert_eq!([u32::MAX - 3, 0, 4].map(|sequence| send(0, sequence)), [0, 0, 0]);
    assert_eq!([4, u32::MAX - 3, 8, 4].map(|sequence| send(0, sequence)), [1, 2, 2, 3]);
    // A new connection from the same port.
    assert_eq!([(SYN, 1), (0, 5), (0, 5)].map(|(flags, at)| send(flags, at)), [3, 3, 4]);
    assert_eq!(queue.counts().bytes, 10 * 44);
}

#[test]
fn one_member_may_have_a_worse_link() {
    let mut queue = PacketQueue::new(BROKER, ImpairedLink::default(), 1);
    let dead = Impairment { loss: 1.0, ..Impairment::default() };
    queue.set(CLIENT, ImpairedLink { up: dead, down: dead });
    assert_eq!(queue.arrive(Duration::ZERO, segment(CLIENT, NEIGHBOUR, 0)), Arrival::Dropped);
    let other = SocketAddrV4::new(*CLIENT.ip(), 40_001);
    let fate = queue.arrive(Duration::ZERO, segment(other, NEIGHBOUR, 0));
    assert_eq!(fate, Arrival::Held(Duration::ZERO));
}

#[test]
fn strangers_are_ignored_and_memory_is_bounded() {
    let mut queue = PacketQueue::new(BROKER, ImpairedLink::default(), 1);
    let elsewhere = SocketAddrV4::new(*NEIGHBOUR.ip(), 80);
    assert_eq!(queue.arrive(Duration::ZERO, segment(CLIENT, elsewhere, 0)), Arrival::Foreign);
    let mut cut_off = segment(CLIENT, NEIGHBOUR, 0);
    cut_off.pop();
    assert_eq!(queue.arrive(Duration::ZERO, cut_off), Arrival::Foreign);
    for number in 0..PacketQueue::MOST_PACKETS as u32 {
        queue.arrive(Duration::ZERO, segment(CLIENT, NEIGHBOUR, number));
    }
    assert_eq!(queue.arrive(Duration::ZERO, segment(CLIENT, NEIGHBOUR, 0)), Arrival::Overflow);
}

/// Returns a segment with four bytes of data and headers of 20 bytes each.
fn segment(from: SocketAddrV4, to: SocketAddrV4, number: u32) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet.extend(from.ip().octets());
    packet.extend(to.ip().octets());
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.resize(40, 0);
    packet[32] = 5 << 4;
    packet.extend(number.to_be_bytes());
    packet
}

/// Returns the sum on which the checksums of IP and TCP depend.
fn sum(packet: &[u8]) -> u32 {
    packet.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum()
}
