//! The sending half: segments in flight, lost segments, when to retransmit, and how much at once.
//!
//! The sender finds loss in three ways. A later segment's acknowledgement shows it (RACK,
//! RFC 8985). A probe of the tail shows it when acknowledgements stop (RFC 8985, section 7). The
//! retransmission timeout shows it (RFC 6298), with an undo if it was spurious (RFC 5682,
//! RFC 2883). The window grows as Reno's and shrinks as CUBIC's.

mod recovery;

use super::SetUp;
use super::estimator::Estimator;
use super::profile::TcpProfile;
use super::segment::{Range, Segment};
use super::window::{CongestionWindow, Size};
use super::{GaveUp, TcpContext, milliseconds};
use crate::fifo::Fifo;
use crate::time::{Duration, Time};

/// Added to a probe's timeout when more than one segment is out, and to a reordering timeout.
const LEAST_TIMEOUT: Duration = Duration::from_millis(2);
/// Selectively acknowledged segments beyond a gap that prove a loss without further waiting.
const DUPLICATE_THRESHOLD: u32 = 3;

/// Send state of one end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// First byte not acknowledged (SND.UNA).
    unacknowledged: u64,
    /// First byte not sent (SND.NXT).
    next: u64,
    /// End of what the application wrote.
    written: u64,
    flight: Fifo<SentSegment>,
    /// Numbers of segments in flight that are marked lost, selectively acknowledged, and
    /// retransmitted.
    lost: u32,
    sacked: u32,
    resent: u32,
    /// Start of the last selectively acknowledged segment, if there is one in flight.
    highest_sacked: u64,
    state: CongestionState,
    /// End of the data sent when the present state began. Its acknowledgement ends the state.
    high: u64,
    window: CongestionWindow,
    probe: Option<TailLossProbe>,
    /// The selective acknowledgement seen last.
    known: [Range; 3],
    rack: Rack,
    undo: Option<Undo>,
    /// Whether the sender looks for evidence that the timeout was spurious (F-RTO, RFC 5682).
    doubting: bool,
    estimator: Estimator,
    /// The retransmission timeout with its present back-off.
    timeout: Duration,
    /// The rounded timeout without back-off after the latest sample.
    rounded: Duration,
    timer: Option<(Timer, Wait)>,
    /// When the oldest outstanding segment was first retransmitted.
    resending_since: Option<Time>,
    /// Timeouts since the last progress.
    timeouts: u32,
    last_sent: Time,
}

/// Congestion states in ascending order of trouble, by the names of the Linux kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CongestionState {
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Probe,
    Reordering,
    Retransmission,
}

/// A timer's setting. The expiry is computed only on demand: most timers are set again long before.
#[derive(Clone, Copy, Debug)]
struct Wait {
    from: Time,
    span: Duration,
}

/// A segment sent and not yet acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
struct SentSegment {
    start: u64,
    end: u64,
    sent_at: Time,
    sacked: bool,
    lost: bool,
    /// Retransmitted, and that copy is believed to be on the way.
    resent: bool,
    ever_resent: bool,
}

#[derive(Clone, Copy, Debug)]
struct TailLossProbe {
    /// SND.NXT when the probe was sent.
    end: u64,
    repeats: bool,
}

/// The most recently sent segment known to have arrived (RFC 8985).
#[derive(Clone, Debug, Default)]
struct Rack {
    sent_at: Time,
    end: u64,
    rtt: Duration,
    advanced: bool,
    reordering_seen: bool,
}

/// The state to restore if a window reduction is undone.
#[derive(Clone, Copy, Debug)]
struct Undo {
    from: u64,
    /// Retransmissions not yet reported as duplicates; `None` before the first one.
    repeats: Option<u32>,
    window: Size,
}

#[derive(Clone, Copy, Debug, Default)]
struct Findings {
    carries_data: bool,
    advances: bool,
    sacks: bool,
    duplicate: bool,
    duplicate_of_probe: bool,
    /// Acknowledges data that was sent before the state began and was never retransmitted.
    original: bool,
    /// Acknowledges, cumulatively, data that was retransmitted.
    repeated: bool,
    restart_timer: bool,
    lost_again: bool,
    delivered: u32,
    echo: u64,
    /// The echo is older than the first retransmission: it acknowledges data that was sent before.
    older: bool,
    first_sent: Option<Time>,
    first_sacked: Option<Time>,
    /// Lowest offset that arrived late without a retransmission.
    late: Option<u64>,
}

/// The data to send after an acknowledgement, besides new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    Lost,
    NewFirst,
    Nothing,
}

impl Sender {
    pub(crate) fn new(set_up: &SetUp<'_>) -> Self {
        let SetUp { round_trip, round_trips, keep_alives, tcp: profile, .. } = *set_up;
        let mut estimator = Estimator::default();
        for _ in 0..round_trips {
            estimator.sample(round_trip, profile.minimum_variance, 0, 0);
        }
        for keep_alive in keep_alives {
            // Offsets begin behind it, and it was a round trip of its own.
            estimator.sample(*keep_alive, profile.minimum_variance, 1, 0);
        }
        Self {
            unacknowledged: 0,
            next: 0,
            written: 0,
            flight: Fifo::new(),
            lost: 0,
            sacked: 0,
            resent: 0,
            highest_sacked: 0,
            state: CongestionState::Open,
            high: 0,
            window: CongestionWindow::new(profile.initial_window),
            probe: None,
            known: Default::default(),
            rack: Rack::default(),
            undo: None,
            doubting: false,
            timeout: profile.rounded(estimator.timeout()).min(profile.maximum_timeout),
            rounded: Duration::ZERO,
            estimator,
            timer: None,
            resending_since: None,
            timeouts: 0,
            last_sent: Time::ZERO,
        }
    }

    /// Returns the first byte not sent yet.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Returns the end of what the application wrote.
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.next == self.written && self.flight.is_empty() && self.probe.is_none()
    }

    /// Returns the retransmission timeout with its present back-off.
    pub(crate) const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns whether the retransmission timeout has expired since the last progress.
    pub(crate) const fn times_out(&self) -> bool {
        self.timeouts > 0
    }

    pub(crate) fn shrink(&mut self) {
        self.flight.shrink();
    }

    pub(crate) fn srtt(&self) -> Duration {
        self.estimator.srtt()
    }

    #[cfg(test)]
    pub(super) const fn cwnd(&self) -> u32 {
        self.window.cwnd()
    }

    pub(crate) fn deadline(&self, profile: &TcpProfile) -> Time {
        self.timer.map_or(Time::NEVER, |(_, wait)| profile.expiry(wait.from, wait.span))
    }

    pub(crate) fn earliest_deadline(&self) -> Time {
        self.timer.map_or(Time::NEVER, |(_, wait)| wait.from + wait.span)
    }

    pub(crate) fn write(&mut self, cx: &mut TcpContext<'_>, bytes: u32) {
        if self.flight.is_empty() {
            let idle = cx.now.since(self.last_sent);
            self.window.restart_after_idle(idle, self.timeout, cx.profile.initial_window);
        }
        self.written += u64::from(bytes);
        self.push(cx);
    }

    /// Sends new data as far as the window allows. Data that waited leaves in full segments.
    pub(crate) fn push(&mut self, cx: &mut TcpContext<'_>) {
        if self.next == self.written {
            return;
        }
        let first = self.flight.is_empty();
        let mut sent = 0;
        while self.next < self.written && self.in_flight() < self.window.cwnd() {
            self.send_new(cx);
            sent += 1;
        }
        if sent > 0 {
            if self.reducing() {
                self.window.count_sent(sent);
            }
            let put_off = first || matches!(self.timer, Some((Timer::Probe, _)));
            if !self.schedule_probe(cx, false) && put_off {
                self.rearm(cx);
            }
        }
        self.note_window_use();
    }

    pub(crate) fn acknowledge(&mut self, cx: &mut TcpContext<'_>, segment: &Segment) {
        let acknowledgement = segment.acknowledgement.min(self.next);
        let before = self.unacknowledged;
        let was_out = !self.flight.is_empty();
        let mut findings = Findings {
            carries_data: segment.length > 0,
            advances: acknowledgement > before,
            echo: segment.echo,
            older: self.resending_since.is_some_and(|at| segment.echo < milliseconds(at)),
            ..Findings::default()
        };
        if !was_out && segment.selective.count == 0 && self.probe.is_none() {
            return;
        }
        if findings.advances {
            self.timeouts = 0;
        }
        let highest_sacked = self.highest_sacked();
        self.take_selective(cx, segment, &mut findings);
        self.take_cumulative(cx, acknowledgement, &mut findings);
        let highest_sacked = highest_sacked.max(self.highest_sacked());
        self.rack.reordering_seen |= findings.late.is_some_and(|offset| offset < highest_sacked);
        self.take_round_trip(cx, &findings);
        self.end_probe(acknowledgement, &findings);
        let mut resend = Resend::Nothing;
        let duplicate = !findings.advances && !findings.carries_data;
        let alarming = duplicate || findings.sacks || findings.duplicate;
        if (was_out && (alarming || self.state != CongestionState::Open)) || findings.duplicate {
            resend = self.judge(cx, &mut findings);
        }
        if !was_out {
            return;
        }
        if findings.restart_timer && !self.schedule_probe(cx, true) {
            self.rearm(cx);
        }
        self.control_window(&findings);
        match resend {
            Resend::Lost => self.resend_lost(cx),
            Resend::NewFirst => {
                self.push(cx);
                if self.next <= self.high {
                    self.doubting = false;
                    self.resend_lost(cx);
                }
            }
            Resend::Nothing => {}
        }
    }

    pub(crate) fn expire(&mut self, cx: &mut TcpContext<'_>) -> Result<(), GaveUp> {
        let Some((timer, _)) = self.timer else {
            return Ok(());
        };
        match timer {
            Timer::Probe => self.send_probe(cx),
            Timer::Reordering => self.end_reordering_wait(cx),
            Timer::Retransmission => {
                self.timer = None;
                return self.time_out(cx);
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        self.flight.len() as u32 + self.resent - self.sacked - self.lost
    }

    const fn reducing(&self) -> bool {
        matches!(self.state, CongestionState::Cwr | CongestionState::Recovery)
    }

    fn send_new(&mut self, cx: &mut TcpContext<'_>) {
        let length = (self.written - self.next).min(u64::from(cx.profile.maximum_segment));
        let (start, end) = (self.next, self.next + length);
        let segment = cx.send();
        segment.sequence = start;
        segment.length = length as u32;
        self.flight.push_back(SentSegment {
            start,
            end,
            sent_at: cx.now,
            sacked: false,
            lost: false,
            resent: false,
            ever_resent: false,
        });
        self.next = end;
        self.last_sent = cx.now;
    }

    fn note_window_use(&mut self) {
        let (in_flight, out) = (self.in_flight(), self.flight.len() as u32);
        self.window.note_use(in_flight, out, self.unacknowledged, self.next);
    }

    fn take_selective(&mut self, cx: &TcpContext<'_>, segment: &Segment, findings: &mut Findings) {
        if let Some(range) = segment.selective.duplicate() {
            findings.duplicate = true;
            findings.duplicate_of_probe =
                self.probe.is_some_and(|probe| probe.repeats && probe.end == range.end);
            if let Some(Undo { from, repeats: Some(repeats), .. }) = &mut self.undo
                && range.end > *from
            {
                *repeats = repeats.saturating_sub(1);
            }
            for index in self.indices_within(range.start, range.end) {
                let sent = &mut self.flight[index];
                if sent.resent {
                    sent.resent = false;
                    self.resent -= 1;
                }
            }
        }
        for &range in segment.selective.held() {
            // Most blocks were reported before.
            if self.known.contains(&range) {
                continue;
            }
            self.take_sacked(cx.now, range, findings);
        }
        self.known = segment.selective.blocks;
    }

    /// Marks the segments within a stretch of the stream as arrived.
    fn take_sacked(&mut self, now: Time, range: Range, findings: &mut Findings) {
        let least = self.estimator.min_rtt();
        for sent in self.flight.iter_mut() {
            if sent.end > range.end {
                break;
            }
            if sent.sacked || sent.start < range.start {
                continue;
            }
            self.rack.advance(now, sent, least);
            if !sent.ever_resent {
                findings.late = Some(findings.late.map_or(sent.start, |late| late.min(sent.start)));
                findings.original |= sent.end <= self.high;
                findings.first_sacked.get_or_insert(sent.sent_at);
            }
            if sent.lost {
                sent.lost = false;
                self.lost -= 1;
                if sent.resent {
                    sent.resent = false;
                    self.resent -= 1;
                }
            }
            sent.sacked = true;
            self.highest_sacked = self.highest_sacked.max(sent.start);
            self.sacked += 1;
            findings.sacks = true;
            findings.delivered += 1;
        }
    }

    fn take_cumulative(
        &mut self,
        cx: &TcpContext<'_>,
        acknowledgement: u64,
        findings: &mut Findings,
    ) {
        if !findings.advances {
            // Only a selective acknowledgement of data sent before the last copy of the head
            // restarts the timer. Newer data must not put the timeout off.
            if let (Some(sacked), Some(head)) = (findings.first_sacked, self.flight.first()) {
                findings.restart_timer = sacked < head.sent_at;
            }
            return;
        }
        self.unacknowledged = acknowledgement;
        let least = self.estimator.min_rtt();
        let mut arrived = 0;
        for sent in self.flight.iter_mut() {
            if sent.end > acknowledgement {
                sent.start = sent.start.max(acknowledgement);
                break;
            }
            arrived += 1;
            self.resent -= u32::from(sent.resent);
            self.lost -= u32::from(sent.lost);
            self.sacked -= u32::from(sent.sacked);
            if sent.ever_resent {
                findings.repeated = true;
            } else if !sent.sacked {
                findings.first_sent.get_or_insert(sent.sent_at);
                findings.late = Some(findings.late.map_or(sent.start, |late| late.min(sent.start)));
                findings.original |= sent.end <= self.high;
            }
            if !sent.sacked {
                findings.delivered += 1;
                // An echo older than the retransmission acknowledges the original.
                if !sent.ever_resent || findings.echo >= milliseconds(sent.sent_at) {
                    self.rack.advance(cx.now, sent, least);
                }
            }
        }
        self.flight.drop_front(arrived);
        findings.restart_timer = true;
        if self.flight.first().is_none_or(|head| !head.ever_resent) && self.resent == 0 {
            self.resending_since = None;
        }
    }

    /// Takes a round-trip sample by Karn's rule with timestamps: retransmitted data gives a sample
    /// too, by the echo. A sample resets the back-off.
    fn take_round_trip(&mut self, cx: &TcpContext<'_>, findings: &Findings) {
        let sample = match (findings.first_sent, findings.first_sacked) {
            (Some(sent), _) if !findings.repeated => cx.now.since(sent),
            (_, Some(sacked)) => cx.now.since(sacked),
            _ if findings.advances => {
                let ticks = cx.clock().saturating_sub(findings.echo).max(1);
                Duration::from_millis(ticks)
            }
            _ => return,
        };
        let floor = cx.profile.minimum_variance;
        self.estimator.sample(sample, floor, self.unacknowledged, self.next);
        let exact = self.estimator.timeout();
        // Mostly the rounded value stays the same, and this check needs no division.
        let is_known =
            exact <= self.rounded && self.rounded.saturating_sub(exact) < cx.profile.tick;
        if !is_known {
            self.rounded = cx.profile.rounded(exact);
        }
        self.timeout = self.rounded.min(cx.profile.maximum_timeout);
    }

    /// Ends the outstanding probe once its fate is known. A probe that repaired a loss
    /// costs window.
    fn end_probe(&mut self, acknowledgement: u64, findings: &Findings) {
        let Some(probe) = self.probe else {
            return;
        };
        if acknowledgement < probe.end {
            return;
        }
        if !probe.repeats || findings.duplicate_of_probe {
            self.probe = None;
        } else if acknowledgement > probe.end {
            self.begin_reduction();
            self.window.end_reduction();
            self.state = CongestionState::Cwr;
            self.keep_open();
        } else if !findings.advances && !findings.carries_data && !findings.sacks {
            self.probe = None;
        }
    }

    /// Returns the start of the last selectively acknowledged segment in flight, or the start of
    /// the first segment if none was.
    fn highest_sacked(&self) -> u64 {
        if self.sacked == 0 {
            self.unacknowledged
        } else {
            self.highest_sacked.max(self.unacknowledged)
        }
    }

    /// Returns the indices of the segments in flight within a stretch of the stream.
    fn indices_within(&self, start: u64, end: u64) -> core::ops::Range<usize> {
        let first = self.flight.partition_point(|sent| sent.start < start);
        let last = self.flight.partition_point(|sent| sent.end <= end);
        first..last.max(first)
    }

    /// Schedules a probe of the tail instead of the retransmission timeout, if a probe is allowed.
    /// It is due two round trips from now, plus time for a delayed acknowledgement if a single
    /// segment is out. It is never due later than the timeout would be.
    fn schedule_probe(&mut self, cx: &TcpContext<'_>, restarted: bool) -> bool {
        let allowed = matches!(self.state, CongestionState::Open | CongestionState::Cwr);
        if !cx.profile.tail_loss_probe || self.flight.is_empty() || !allowed {
            return false;
        }
        let spare =
            if self.flight.len() == 1 { cx.profile.minimum_variance } else { LEAST_TIMEOUT };
        let mut wait = self.estimator.srtt() * 2 + spare;
        let rest = if restarted { self.timeout } else { self.rest_of_timeout(cx) };
        if rest > Duration::ZERO {
            wait = wait.min(rest);
        }
        self.set_timer(cx, Timer::Probe, wait);
        true
    }

    fn rearm(&mut self, cx: &TcpContext<'_>) {
        if self.flight.is_empty() {
            self.timer = None;
            return;
        }
        let wait = match self.timer {
            Some((Timer::Probe | Timer::Reordering, _)) => {
                self.rest_of_timeout(cx).max(Duration::from_nanos(1))
            }
            _ => self.timeout,
        };
        self.set_timer(cx, Timer::Retransmission, wait);
    }

    /// Returns what remains of the retransmission timeout of the oldest segment.
    fn rest_of_timeout(&self, cx: &TcpContext<'_>) -> Duration {
        let since = self.flight.first().map_or(cx.now, |head| head.sent_at);
        (since + self.timeout).since(cx.now)
    }

    fn set_timer(&mut self, cx: &TcpContext<'_>, timer: Timer, wait: Duration) {
        self.timer = Some((timer, Wait { from: cx.now, span: wait }));
    }
}

impl Rack {
    /// Records that a segment has arrived. `least` is the shortest round trip seen so far.
    fn advance(&mut self, now: Time, sent: &SentSegment, least: Duration) {
        let rtt = now.since(sent.sent_at);
        if sent.ever_resent && rtt < least {
            // Faster than any round trip: the original was acknowledged.
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if !self.is_after(sent) {
            self.sent_at = sent.sent_at;
            self.end = sent.end;
        }
    }

    /// Returns whether the latest arrival was sent after `sent`.
    fn is_after(&self, sent: &SentSegment) -> bool {
        (self.sent_at > sent.sent_at) | ((self.sent_at == sent.sent_at) & (self.end > sent.end))
    }
}
