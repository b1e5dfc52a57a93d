//! Replays a change among those alone who may be the last to have the key.
//!
//! In a large group nearly all members get what one party sends in packets that are not lost, within
//! the delay and its jitter. A member whose packet is lost gets it a timeout later: it is among the
//! last. Which packets are lost, a link's random numbers say before anything is simulated. So only the
//! sender, the members that lose a packet and those with much more work than most are simulated;
//! their links draw what they draw in the whole network. This is exact, to the nanosecond, if
//!
//! - one party sends, at its commands, and all others only receive, at QoS 0 or 1, so that nothing
//!   goes on only when the broker has served another member's acknowledgement;
//! - the broker has passed on all that is sent before an acknowledgement can reach it;
//! - the last of those simulated is later than all others can be.
//!
//! What does not hold is found before or after the replay, and then the whole group is simulated.

use groupkey_sim::group::{GroupSettings, Station};
use groupkey_sim::{Duration, Loss, Network, Qos, Time};

use super::message_flow::PreparedFlow;

/// A flow of which only the late receivers need be replayed.
pub(super) struct LateReceivers<'a> {
    flow: &'a PreparedFlow<'a>,
    settings: &'a GroupSettings,
    stations: &'a [&'a Station],
    sender: u32,
    /// The packets in which each party gets its messages. `None` for who gets none.
    packets: Vec<Option<u32>>,
    /// Who has much more to compute than most.
    is_slow: Vec<bool>,
    /// How long after the last message left the broker all others have the key, if they lose nothing.
    slack: Duration,
    /// How long after the first message left the broker an acknowledgement may reach it.
    back: Duration,
}

/// Groups below this size are simulated whole: it takes no time.
const LEAST: usize = 200;
/// Who gets more packets is simulated: a window of TCP may hold some of them back.
const MOST_PACKETS: u32 = 4;
/// Headers of a message: TCP, IP, MQTT and its topic, at most.
const HEADERS: u32 = 128;
/// Links whose random numbers are drawn in the time in which one message is handed over.
const A_DRAW: f64 = 20.0;
/// The share of a group above which it is simulated whole.
const MOST_LATE: f64 = 0.5;

impl<'a> LateReceivers<'a> {
    /// Returns what there is to replay. `None` if the whole group must be.
    pub(super) fn of(
        flow: &'a PreparedFlow<'a>,
        settings: &'a GroupSettings,
        stations: &'a [&'a Station],
    ) -> Option<Self> {
        let recorded = flow.flow;
        let sender = recorded.messages.first()?.from;
        let commands_alone = recorded
            .steps
            .iter()
            .all(|step| step.messages.is_empty() || (step.after == 0 && step.place == sender));
        let receiver = stations.iter().enumerate().find(|(party, _)| *party as u32 != sender)?.1;
        let is_alike = stations
            .iter()
            .enumerate()
            .all(|(party, station)| party as u32 == sender || std::ptr::eq(*station, *receiver));
        let is_plain = !flow.connections_end
            && matches!(settings.network.qos, Qos::AtMostOnce | Qos::AtLeastOnce)
            && recorded.messages.iter().all(|message| message.from == sender);
        if stations.len() < LEAST || !commands_alone || !is_alike || !is_plain {
            return None;
        }
        let segment = settings.network.tcp.maximum_segment;
        let mut packets = vec![None; stations.len()];
        let mut bytes = vec![0_u64; stations.len()];
        for message in &recorded.messages {
            for hearer in &message.hearers {
                let more = (message.bytes + HEADERS).div_ceil(segment);
                *packets[*hearer as usize].get_or_insert(0) += more;
                bytes[*hearer as usize] += u64::from(message.bytes + HEADERS * more);
            }
        }
        let mut work = vec![0_u64; stations.len()];
        for (step, cost) in recorded.steps.iter().zip(&flow.costs) {
            work[step.place as usize] += cost;
        }
        let receives = |party: &usize| packets[*party].is_some() && *party as u32 != sender;
        let mut usual: Vec<u64> =
            (0..work.len()).filter(receives).map(|party| work[party]).collect();
        usual.sort_unstable();
        let most_work = usual.get(usual.len() / 2)? * 3 / 2;
        let is_slow: Vec<bool> = work.iter().map(|work| *work > most_work).collect();
        let (link, up) = (receiver.down.constant_settings()?, receiver.up.constant_settings()?);
        let most_bytes = bytes.iter().max().unwrap_or(&0);
        let line = link.bandwidth.map_or(0, |rate| most_bytes * 8_000_000_000 / rate.max(1));
        let each = receiver.processing.publish + receiver.processing.payload_handling;
        let slack = link.delay
            + link.jitter
            + Duration::from_nanos(line + most_work)
            + each * u64::from(MOST_PACKETS);
        let there = (link.delay + up.delay).as_nanos();
        let back = Duration::from_nanos(there.checked_sub((link.jitter + up.jitter).as_nanos())?);
        Some(Self { flow, settings, stations, sender, packets, is_slow, slack, back })
    }

    /// Returns how many messages a run hands over, on average.
    pub(super) fn deliveries(&self) -> u64 {
        let recorded = self.flow.flow;
        let station =
            self.stations.iter().zip(&self.packets).find(|(_, packets)| packets.is_some());
        let link = station.and_then(|(station, _)| station.down.constant_settings());
        let Some(Loss::Random(loss)) = link.map(|link| link.loss) else {
            // The last one is not among late ones.
            return recorded.deliveries();
        };
        let lost = |packets: u32| 1.0 - (1.0 - loss).powi(packets.try_into().unwrap_or(i32::MAX));
        let late: f64 = self.packets.iter().flatten().map(|packets| lost(*packets)).sum();
        let slow = self.is_slow.iter().filter(|is_slow| **is_slow).count() as f64;
        // Of the sender's own packets none may be lost.
        let whole = lost(recorded.messages.len() as u32) * recorded.deliveries() as f64;
        (self.stations.len() as f64 / A_DRAW + late + slow + whole) as u64 + 1
    }

    /// Replays a run with this seed, and returns its time (ms). `None` if the whole group must be
    /// simulated.
    pub(super) fn replay(&self, seed: u64) -> Option<f64> {
        let mut takes_part = vec![false; self.stations.len()];
        takes_part[self.sender as usize] = true;
        let mut late = 0;
        for (party, packets) in (0..).zip(&self.packets) {
            let Some(packets) = *packets else { continue };
            let down = &self.stations[party as usize].down;
            let is_late = packets > MOST_PACKETS
                || self.is_slow[party as usize]
                || Network::loses_one_of(down, seed, party, packets)?;
            takes_part[party as usize] |= is_late;
            late += usize::from(is_late);
        }
        if late == 0 || late as f64 > MOST_LATE * self.stations.len() as f64 {
            return None;
        }
        let parties: Vec<u32> =
            (0..).zip(&takes_part).filter(|(_, takes)| **takes).map(|(party, _)| party).collect();
        let (mut network, cast) = self.flow.flow.network(self.settings, self.stations, &parties);
        network.settle(Time::ZERO, seed);
        let began = network.now();
        let time = self.flow.run(&mut network, &cast)?;
        let (first, last) = network.passed_on()?;
        let is_served = last <= first + self.back;
        let others = last + self.slack;
        (is_served && time > others.since(began).as_millis_f64()).then_some(time)
    }
}
