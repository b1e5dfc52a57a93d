//! A connection between a client and the broker: TCP and an MQTT session at both ends, a link in
//! each direction, and the packets on the way.

use std::collections::VecDeque;

use crate::fifo::Fifo;
use crate::link::{Link, LinkProfile};
use crate::mqtt::{MqttPacket, MqttSession};
use crate::random::RandomStream;
use crate::run_ahead::Lead;
use crate::tcp::{Endpoint, GaveUp, Segment, SetUp, Side, TcpContext, TcpProfile};
use crate::time::{Duration, EventKey, Time};
use crate::traffic::Traffic;

/// Keep-alives after which a round-trip estimate no longer changes: what is above the floor of its
/// variance falls by a quarter with each.
pub(crate) const KEEP_ALIVES: usize = 32;
/// Bytes of a PINGREQ or PINGRESP (MQTT 3.1.1, sections 3.12 and 3.13) with TCP's and IP's headers.
const KEEP_ALIVE_BYTES: u32 = 54;

/// Both ends of a connection, the client's first.
#[derive(Debug)]
pub(crate) struct ConnectionPair {
    pub(crate) ends: [ConnectionEnd; 2],
    /// Set while the connection is ahead of the others.
    pub(crate) lead: Option<Box<Lead>>,
    /// Whether each end is open. The broker's may close before the client knows.
    pub(crate) open: [bool; 2],
}

#[derive(Debug)]
pub(crate) struct ConnectionEnd {
    pub(crate) path: Path,
    pub(crate) session: MqttSession,
    /// Packets written and not yet served by the other end, each with its end in the stream.
    pub(crate) written: VecDeque<(u64, MqttPacket)>,
    /// Number of the other end's packets in the broker's queue.
    pub(crate) queued: u32,
}

/// The resources of a step below MQTT.
pub(crate) struct StepContext<'a, S> {
    pub(crate) now: Time,
    pub(crate) profile: &'a TcpProfile,
    pub(crate) traffic: &'a mut Traffic,
    pub(crate) schedule: S,
}

impl<S> StepContext<'_, S> {
    const fn context<'c>(&'c self, out: &'c mut Fifo<Segment>) -> TcpContext<'c> {
        TcpContext { now: self.now, profile: self.profile, out }
    }

    /// Returns the same step with another schedule for the events that follow.
    pub(crate) fn scheduled_by<T: Schedule>(&mut self, schedule: T) -> StepContext<'_, T> {
        StepContext { now: self.now, profile: self.profile, traffic: self.traffic, schedule }
    }
}

impl ConnectionPair {
    /// Makes a connection over these links, in the state after its set-up.
    pub(crate) fn new(
        links: [LinkProfile; 2],
        random: [RandomStream; 2],
        set_up: &SetUp<'_>,
    ) -> Self {
        let [up, down] = links;
        let [luck_up, luck_down] = random;
        let end = |end, link, luck| ConnectionEnd {
            path: Path {
                tcp: Endpoint::new(end, set_up),
                link: Link::new(link, luck),
                incoming: Fifo::new(),
                on_the_way: 0,
                first: EventKey::NEVER,
                latest: Time::ZERO,
                timer: EventKey::NEVER,
                superseded: Vec::new(),
            },
            session: MqttSession::default(),
            written: VecDeque::new(),
            queued: 0,
        };
        Self {
            ends: [end(Side::Client, up, luck_up), end(Side::Broker, down, luck_down)],
            lead: None,
            open: [true; 2],
        }
    }

    /// Lets both links begin anew with these random streams, and returns what the round trips of
    /// keep-alives take on them.
    pub(crate) fn keep_alives(
        &mut self,
        now: Time,
        random: [RandomStream; 2],
    ) -> [Duration; KEEP_ALIVES] {
        let [client, broker] = &mut self.ends;
        let [up, down] = [&mut client.path.link, &mut broker.path.link];
        let [luck_up, luck_down] = random;
        up.forget(luck_up);
        down.forget(luck_down);
        core::array::from_fn(|_| {
            up.alone(now, KEEP_ALIVE_BYTES) + down.alone(now, KEEP_ALIVE_BYTES)
        })
    }

    /// Brings TCP into the state after this set-up and its keep-alives. Nothing is under way.
    pub(crate) fn settle(&mut self, set_up: &SetUp<'_>) {
        for (end, role) in self.ends.iter_mut().zip([Side::Client, Side::Broker]) {
            debug_assert!(end.written.is_empty() && end.path.incoming.is_empty(), "it is at rest");
            end.path.tcp = Endpoint::new(role, set_up);
        }
    }

    /// Returns the delay of a round trip without jitter.
    pub(crate) fn round_trip_at(&self, time: Time) -> Duration {
        let [client, broker] = &self.ends;
        client.path.link.delay_at(time) + broker.path.link.delay_at(time)
    }

    /// Closes both ends for good. They forget all packets under way.
    pub(crate) fn close(&mut self) {
        self.open = [false; 2];
        for end in &mut self.ends {
            end.written = VecDeque::new();
            end.session = MqttSession::default();
        }
    }

    /// Closes an end. What it wrote and the other end has not received is lost, and so is what it
    /// has received and not served.
    pub(crate) fn close_end(&mut self, side: usize) {
        self.open[side] = false;
        let received = self.ends[1 - side].path.tcp.received();
        let arrived = self.ends[side].written.partition_point(|(end, _)| *end <= received);
        self.ends[side].written.truncate(arrived);
        self.ends[1 - side].written.clear();
        self.ends[side].queued = 0;
    }

    /// Makes a new connection over the same links. Nothing of the one before arrives any more.
    pub(crate) fn reopen(&mut self, set_up: &SetUp<'_>) {
        self.open = [true; 2];
        for (end, role) in self.ends.iter_mut().zip([Side::Client, Side::Broker]) {
            end.written.clear();
            end.queued = 0;
            let path = &mut end.path;
            path.tcp = Endpoint::new(role, set_up);
            path.incoming.truncate(0);
            path.superseded.clear();
            (path.on_the_way, path.first, path.timer) = (0, EventKey::NEVER, EventKey::NEVER);
        }
    }

    /// Lets both links carry nothing, or carry packets again.
    pub(crate) fn set_outage(&mut self, failed: bool) {
        for end in &mut self.ends {
            end.path.link.set_outage(failed);
        }
    }

    /// Returns whether a message is under way between the ends, or waits at one of them.
    pub(crate) fn owes(&self) -> bool {
        let is_publish = |packet: &MqttPacket| matches!(packet, MqttPacket::Publish { .. });
        self.ends.iter().any(|end| {
            end.session.is_busy() || end.written.iter().any(|(_, packet)| is_publish(packet))
        })
    }

    /// Returns the packet at `place` in the stream to an end, if it has arrived in full.
    pub(crate) fn arrived(&self, side: usize, place: u32) -> Option<MqttPacket> {
        let received = self.ends[side].path.tcp.received();
        let written = self.ends[1 - side].written.get(place as usize);
        written.filter(|(end, _)| *end <= received).map(|(_, packet)| *packet)
    }

    /// Returns whether no arrived packet waits for service at its end.
    pub(crate) fn is_served(&self) -> bool {
        self.ends.iter().all(|end| end.queued == 0)
            && (0..2).all(|side| self.arrived(side, 0).is_none())
    }

    /// Returns how many bytes the first packet under way lacks, in the direction that lacks more.
    pub(crate) fn lacking(&self) -> u64 {
        let lacking = |side: usize| {
            let Some(&(end, _)) = self.ends[1 - side].written.get(self.ends[side].queued as usize)
            else {
                return 0;
            };
            end.saturating_sub(self.ends[side].path.tcp.received())
        };
        lacking(0).max(lacking(1))
    }

    /// Writes a packet as the application at an end.
    pub(crate) fn write<S: Schedule>(
        &mut self,
        side: usize,
        packet: MqttPacket,
        bytes: u32,
        step: &mut StepContext<'_, S>,
    ) {
        let end = &mut self.ends[side];
        end.written.push_back((end.path.tcp.written() + u64::from(bytes), packet));
        let (from, to) = self.ends_from(side);
        from.tcp.write(&mut step.context(&mut to.incoming), bytes);
        self.transmit(side, step);
    }

    /// Handles the next segment that arrives at an end. Returns whether it brought new data.
    #[inline(always)]
    pub(crate) fn arrive<S: Schedule>(
        &mut self,
        side: usize,
        step: &mut StepContext<'_, S>,
    ) -> bool {
        let closed = !self.open[side];
        let (path, peer) = self.ends_from(side);
        path.on_the_way -= 1;
        let before = path.tcp.received();
        if let Some(segment) = path.incoming.first().filter(|_| !closed) {
            path.tcp.receive(&mut step.context(&mut peer.incoming), segment);
        }
        path.incoming.drop_front(1);
        path.first = path.first_due();
        let news = path.tcp.received() > before;
        self.transmit(side, step);
        news
    }

    /// Returns whether an end's timer is due when its timer event comes. Timer events stay
    /// scheduled when their timer moves, and an early event is put off.
    pub(crate) fn timer_is_due<S: Schedule>(
        &mut self,
        side: usize,
        step: &mut StepContext<'_, S>,
    ) -> bool {
        let path = &mut self.ends[side].path;
        path.timer = EventKey::NEVER;
        if !self.open[side] {
            return false;
        }
        let due = path.tcp.deadline(step.profile) <= step.now;
        if !due {
            self.arm(side, step);
        }
        due
    }

    /// Handles an end's timer that is due.
    pub(crate) fn expire<S: Schedule>(
        &mut self,
        side: usize,
        step: &mut StepContext<'_, S>,
    ) -> Result<(), GaveUp> {
        let (path, peer) = self.ends_from(side);
        let result = path.tcp.expire(&mut step.context(&mut peer.incoming));
        match result {
            Ok(()) => self.transmit(side, step),
            Err(GaveUp) => peer.incoming.truncate(peer.on_the_way),
        }
        result
    }

    /// Returns when an end's timer event is scheduled.
    pub(crate) const fn timer(&self, side: usize) -> EventKey {
        self.ends[side].path.timer
    }

    /// Forgets a superseded timer event that has left the queue, so that it does not count again.
    pub(crate) fn drop_superseded(&mut self, side: usize, due: EventKey) {
        self.ends[side].path.superseded.retain(|other| *other != due);
    }

    pub(crate) const fn next_arrival(&self, side: usize) -> EventKey {
        self.ends[side].path.first
    }

    /// Returns the next scheduled event. Its time is never if nothing is scheduled.
    #[inline(always)]
    pub(crate) fn next(&self) -> (EventKey, Coming) {
        let [client, broker] = [&self.ends[0].path, &self.ends[1].path];
        let mut next = (client.first, Coming::Segment(0));
        for other in [
            (broker.first, Coming::Segment(1)),
            (client.timer, Coming::Timer(0)),
            (broker.timer, Coming::Timer(1)),
        ] {
            if other.0 < next.0 {
                next = other;
            }
        }
        next
    }

    /// Returns all state that a segment or a timer can change.
    pub(crate) fn paths(&self) -> [Path; 2] {
        let [client, broker] = &self.ends;
        [client.path.clone(), broker.path.clone()]
    }

    /// Restores the state that [`Self::paths`] returned.
    pub(crate) fn set_paths(&mut self, paths: [Path; 2]) {
        for (end, path) in self.ends.iter_mut().zip(paths) {
            end.path = path;
        }
    }

    /// Frees memory that only a long packet needs.
    pub(crate) fn shrink(&mut self) {
        for end in &mut self.ends {
            end.path.incoming.shrink();
            end.path.tcp.shrink();
        }
    }

    /// Schedules all coming events again, in the same order.
    pub(crate) fn reschedule(&mut self, schedule: &mut impl Schedule) {
        let mut coming = Vec::new();
        for (side, end) in self.ends.iter_mut().enumerate() {
            let path = &mut end.path;
            if path.timer != EventKey::NEVER {
                coming.push((path.timer, Coming::Timer(side), &mut path.timer));
            }
            for superseded in &mut path.superseded {
                coming.push((*superseded, Coming::Timer(side), superseded));
            }
            for segment in &mut *path.incoming {
                coming.push((segment.due, Coming::Segment(side), &mut segment.due));
            }
        }
        coming.sort_unstable_by_key(|(due, ..)| due.number());
        for (was, what, due) in coming {
            *due = EventKey::new(was.time(), schedule.schedule(was.time(), what));
        }
        for end in &mut self.ends {
            end.path.first = end.path.first_due();
        }
    }

    /// Puts TCP's new segments on the link and sets its timer.
    #[inline(always)]
    fn transmit<S: Schedule>(&mut self, side: usize, step: &mut StepContext<'_, S>) {
        let (from, to) = self.ends_from(side);
        while let Some(segment) = to.incoming.get_mut(to.on_the_way) {
            let bytes = segment.wire_bytes();
            step.traffic.segments += 1;
            step.traffic.wire_bytes += u64::from(bytes);
            step.traffic.retransmissions += u64::from(segment.retransmission);
            let Some(arrival) = from.link.carry(step.now, bytes) else {
                step.traffic.lost += 1;
                to.incoming.remove(to.on_the_way);
                continue;
            };
            let number = step.schedule.schedule(arrival, Coming::Segment(1 - side));
            let due = EventKey::new(arrival, number);
            segment.due = due;
            to.on_the_way += 1;
            if to.on_the_way == 1 {
                to.first = due;
            }
            if arrival < to.latest {
                to.let_overtake();
            }
            to.latest = to.latest.max(arrival);
        }
        self.arm(side, step);
    }

    #[inline(always)]
    const fn ends_from(&mut self, side: usize) -> (&mut Path, &mut Path) {
        let [client, broker] = &mut self.ends;
        if side == 0 {
            (&mut client.path, &mut broker.path)
        } else {
            (&mut broker.path, &mut client.path)
        }
    }

    #[inline(always)]
    fn arm<S: Schedule>(&mut self, side: usize, step: &mut StepContext<'_, S>) {
        let path = &mut self.ends[side].path;
        let Some(deadline) = path.tcp.deadline_before(path.timer.time(), step.profile) else {
            return;
        };
        let due = EventKey::new(deadline, step.schedule.schedule(deadline, Coming::Timer(side)));
        let old = core::mem::replace(&mut path.timer, due);
        // A superseded event is used again if it comes at the right time.
        path.superseded.retain(|other| other.time() > step.now);
        let same = path.superseded.iter().filter(|other| other.time() == deadline);
        path.timer = same.min().copied().unwrap_or(due);
        if old != EventKey::NEVER {
            path.superseded.push(old);
        }
    }
}

/// The state of an end below MQTT: all that a segment or a timer can change.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) tcp: Endpoint,
    pub(crate) link: Link,
    /// Segments on the way to this end in the order of arrival, and their number. Behind them lie
    /// segments that TCP has just sent and no link has carried yet.
    pub(crate) incoming: Fifo<Segment>,
    pub(crate) on_the_way: usize,
    /// When the first segment on the way arrives.
    pub(crate) first: EventKey,
    /// When the latest segment of all arrives.
    pub(crate) latest: Time,
    /// The earliest scheduled timer event, and the superseded ones, which are still scheduled.
    pub(crate) timer: EventKey,
    pub(crate) superseded: Vec<EventKey>,
}

/// A coming event at an end of a connection: 0 is the client's end, 1 the broker's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coming {
    Segment(usize),
    Timer(usize),
}

/// Records coming events.
pub(crate) trait Schedule {
    /// Records an event. Returns its number, higher than all before.
    fn schedule(&mut self, time: Time, coming: Coming) -> u64;
}

impl Path {
    pub(crate) fn first_due(&self) -> EventKey {
        match self.incoming.first() {
            Some(segment) if self.on_the_way > 0 => segment.due,
            _ => EventKey::NEVER,
        }
    }

    /// Moves the last segment before those that arrive later.
    pub(crate) fn let_overtake(&mut self) {
        let last = self.on_the_way - 1;
        let segment = self.incoming.remove(last);
        let earlier = self.incoming[..last].iter().rev();
        let place = last - earlier.take_while(|other| other.due > segment.due).count();
        self.incoming.insert(place, segment);
        self.first = self.first_due();
    }
}
