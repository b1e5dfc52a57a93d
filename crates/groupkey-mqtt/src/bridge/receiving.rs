//! What other bridges send: each one's stream in its order, without what came twice.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::bridge_message::{Carried, DeliveryConfirmation};

/// The streams of other members.
#[derive(Debug, Default)]
pub struct Receiving {
    streams: BTreeMap<u32, Stream>,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceInStream {
    /// It is the next one. It is for the local broker, and then for [`Receiving::done`].
    Next,
    /// It came before.
    Repeated,
    /// Something before it is missing, or there is no room. Its sender is asked for it again.
    Missing,
}

#[derive(Debug)]
struct Stream {
    name: [u8; 8],
    /// Earlier names, so that what comes late does not begin one of them again.
    former: Vec<[u8; 8]>,
    /// The number that comes next.
    expected: u64,
    /// Numbers that the local broker has not acknowledged yet.
    under_way: BTreeSet<u64>,
    /// Whether the sender does not know how far we are.
    is_news: bool,
    /// Whether something was missing, and nobody was asked for it since.
    is_missing: bool,
    told_at: Option<u64>,
    asked_at: Option<u64>,
}

impl Receiving {
    /// Judges a message of this member. `has_room` says whether the local broker takes another one.
    pub fn judge(&mut self, member: u32, carried: &Carried, has_room: bool) -> PlaceInStream {
        let Carried { stream, number, base, .. } = carried;
        if !self.streams.contains_key(&member) && self.streams.len() >= MOST_STREAMS {
            return PlaceInStream::Missing;
        }
        let own = self.streams.entry(member).or_insert_with(|| Stream::begin(**stream, *base));
        if own.name != **stream {
            if own.former.contains(stream) {
                return PlaceInStream::Repeated;
            }
            let mut former = core::mem::take(&mut own.former);
            former.push(own.name);
            let surplus = former.len().saturating_sub(FORMER);
            former.drain(..surplus);
            *own = Stream { former, ..Stream::begin(**stream, *base) };
        }
        // The sender will never repeat what is before its base.
        own.expected = own.expected.max(*base);
        own.is_news = true;
        match number.cmp(&own.expected) {
            core::cmp::Ordering::Less => PlaceInStream::Repeated,
            core::cmp::Ordering::Equal if has_room => {
                own.expected = own.expected.saturating_add(1);
                own.under_way.insert(*number);
                own.is_missing = false;
                PlaceInStream::Next
            }
            core::cmp::Ordering::Equal | core::cmp::Ordering::Greater => {
                own.is_missing = true;
                PlaceInStream::Missing
            }
        }
    }

    /// Notes that the local broker has a message, or that it is not for the local broker.
    pub fn done(&mut self, member: u32, stream: &[u8; 8], number: u64) {
        if let Some(own) = self.streams.get_mut(&member).filter(|own| own.name == *stream) {
            own.under_way.remove(&number);
            own.is_news = true;
        }
    }

    /// Forgets all streams: the numbers of members are of one founding.
    pub fn forget(&mut self) {
        self.streams.clear();
    }

    /// Returns what to tell senders now. `has_room` says whether the local broker takes more messages.
    pub fn confirmations(&mut self, now: u64, has_room: bool) -> Vec<DeliveryConfirmation> {
        let due = self.streams.iter_mut().filter_map(|(member, own)| {
            let again = own.is_missing && has_room && is_over(own.asked_at, ASK_EVERY, now);
            let is_due = own.is_news && is_over(own.told_at, TELL_EVERY, now);
            if !again && !is_due {
                return None;
            }
            own.is_news = false;
            own.told_at = Some(now);
            if again {
                own.asked_at = Some(now);
                own.is_missing = false;
            }
            let next = own.under_way.first().copied().unwrap_or(own.expected);
            // What is under way to the local broker need not be sent again.
            let again = again.then_some(own.expected);
            Some(DeliveryConfirmation { member: *member, stream: own.name.into(), next, again })
        });
        due.collect()
    }

    /// Returns when to ask for [`Self::confirmations`], in ms.
    pub fn deadline(&self, has_room: bool) -> Option<u64> {
        let due = |own: &Stream| {
            let news = own.is_news.then(|| own.told_at.map_or(0, |at| at + TELL_EVERY));
            let missing = own.is_missing && has_room;
            let again = missing.then(|| own.asked_at.map_or(0, |at| at + ASK_EVERY));
            news.into_iter().chain(again).min()
        };
        self.streams.values().filter_map(due).min()
    }
}

impl Stream {
    const fn begin(name: [u8; 8], base: u64) -> Self {
        Self {
            name,
            former: Vec::new(),
            expected: base,
            under_way: BTreeSet::new(),
            is_news: false,
            is_missing: false,
            told_at: None,
            asked_at: None,
        }
    }
}

fn is_over(at: Option<u64>, pause: u64, now: u64) -> bool {
    at.is_none_or(|at| now >= at + pause)
}

/// The least time between two confirmations of a stream, ms: one for many messages.
const TELL_EVERY: u64 = 10;

/// The least time between two requests to repeat, ms.
const ASK_EVERY: u64 = 250;

/// The maximum number of members with a stream.
const MOST_STREAMS: usize = 4_096;

/// How many earlier names of a stream are remembered.
const FORMER: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sending::{Published, Sending};
    use super::*;

    fn carried(stream: u8, number: u64, base: u64) -> Carried {
        Carried {
            stream: [stream; 8].into(),
            number,
            base,
            qos: 1,
            retain: false,
            topic: "t".into(),
            payload: Vec::new().into(),
        }
    }

    #[test]
    fn a_message_counts_once_the_local_broker_has_it() {
        let mut receiving = Receiving::default();
        assert_eq!(receiving.judge(3, &carried(1, 5, 5), true), PlaceInStream::Next);
        assert_eq!(receiving.judge(3, &carried(1, 6, 5), true), PlaceInStream::Next);
        assert_eq!(receiving.judge(3, &carried(1, 5, 5), true), PlaceInStream::Repeated);
        receiving.done(3, &[1; 8], 6);
        let told = receiving.confirmations(100, true);
        assert_eq!((told[0].member, told[0].next, told[0].again), (3, 5, None));
        receiving.done(3, &[1; 8], 5);
        assert!(receiving.confirmations(101, true).is_empty(), "it is too soon");
        assert_eq!(receiving.deadline(true), Some(110));
        assert_eq!(receiving.confirmations(110, true)[0].next, 7);
        assert_eq!((receiving.confirmations(999, true), receiving.deadline(true)), (vec![], None));
    }

    #[test]
    fn what_is_missing_is_asked_for_from_there_on() {
        let mut receiving = Receiving::default();
        // It started while the stream was under way.
        assert_eq!(receiving.judge(3, &carried(1, 7, 5), true), PlaceInStream::Missing);
        let told = receiving.confirmations(0, true);
        assert_eq!((told[0].next, told[0].again), (5, Some(5)));
        assert_eq!(receiving.judge(3, &carried(1, 5, 5), false), PlaceInStream::Missing, "no room");
        assert_eq!(receiving.confirmations(900, false)[0].again, None);
        assert_eq!(receiving.confirmations(910, true)[0].again, Some(5));
        assert_eq!(receiving.judge(3, &carried(1, 5, 5), true), PlaceInStream::Next);
        // What the sender gave up is not waited for.
        assert_eq!(receiving.judge(3, &carried(1, 9, 9), true), PlaceInStream::Next);
        // Its sender starts again; what comes late of the former stream is not taken for another.
        assert_eq!(receiving.judge(3, &carried(2, 0, 0), true), PlaceInStream::Next);
        assert_eq!(receiving.judge(3, &carried(1, 10, 9), true), PlaceInStream::Repeated);
    }

    proptest! {
        /// A sender and a receiver over a group that loses messages, with kills of either. Everything comes,
        /// in its order, and twice only after a kill.
        #[test]
        fn nothing_is_lost(chances in prop::collection::vec(0..100_u8, 400)) {
            const COUNT: u16 = 60;
            const WINDOW: usize = 8;
            let listener = [9; 32];
            let listeners = [listener].into();
            let mut chances = chances.into_iter();
            let mut stream = 1;
            // The local broker of the sender, up to which message it was told, and what it has sent.
            let (mut kept, mut sent) = (0_u16, 0_u16);
            let mut sending = Sending::new(&listeners, WINDOW, [stream; 8]);
            let mut receiving = Receiving::default();
            let mut heard: Vec<u16> = Vec::new();
            let (mut kills, mut now) = (0, 0);
            while kept < COUNT {
                now += 50;
                prop_assert!(now < 1_000_000, "it gets nowhere");
                // Without chances left, the group loses nothing any more.
                let mut chance = || chances.next().unwrap_or(99);
                match chance() {
                    0..=2 => {
                        stream += 1;
                        sending = Sending::new(&listeners, WINDOW, [stream; 8]);
                        (sent, kills) = (kept, kills + 1);
                    }
                    3..=5 => {
                        receiving = Receiving::default();
                        kills += 1;
                    }
                    _ => {}
                }
                while sent < COUNT && usize::from(sent - kept) < WINDOW {
                    let payload = sent.to_be_bytes().into();
                    let message = Published { topic: "t".into(), payload, qos: 1, retain: false };
                    prop_assert!(sending.push(message, Some(sent)));
                    sent += 1;
                }
                sending.tick(now);
                for carried in sending.take(WINDOW, now) {
                    if chance() < 30 {
                        continue;
                    }
                    if receiving.judge(4, &carried, chance() > 10) == PlaceInStream::Next {
                        let number = carried.number;
                        heard.push(u16::from_be_bytes(carried.payload[..].try_into().unwrap()));
                        receiving.done(4, &carried.stream, number);
                    }
                }
                for said in receiving.confirmations(now, true) {
                    if chance() >= 30 {
                        sending.confirmed(&listener, &said, now);
                    }
                }
                for receipt in sending.released() {
                    prop_assert_eq!(receipt, kept, "in the order of the local broker");
                    kept += 1;
                }
            }
            // Each was heard, first in its order.
            let mut first = heard.clone();
            let mut seen = BTreeSet::new();
            first.retain(|message| seen.insert(*message));
            prop_assert_eq!(first, (0..COUNT).collect::<Vec<_>>());
            let twice = heard.len() - usize::from(COUNT);
            prop_assert!(twice <= kills * WINDOW, "{} twice after {} kills", twice, kills);
        }
    }
}
