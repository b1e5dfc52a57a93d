//! The meaning of an acknowledgement or its absence: which segments are lost, and which
//! are retransmitted. Also the state of congestion control that follows, and when such a
//! change is undone.

use super::{
    CongestionState, DUPLICATE_THRESHOLD, Findings, LEAST_TIMEOUT, Resend, Sender, TailLossProbe,
    Timer, Undo,
};
use crate::tcp::{GaveUp, TcpContext};
use crate::time::Duration;

impl Sender {
    /// Decides what an acknowledgement means, in any state except an untroubled open one.
    pub(super) fn judge(&mut self, cx: &mut TcpContext<'_>, findings: &mut Findings) -> Resend {
        if self.state != CongestionState::Open && self.unacknowledged >= self.high {
            match self.state {
                CongestionState::Cwr if self.unacknowledged > self.high => self.end_reduction(),
                CongestionState::Recovery => {
                    if self.may_undo(findings) {
                        self.take_back(false);
                    }
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.state {
            CongestionState::Recovery => {
                if self.undo_by_duplicates() {
                    self.try_open();
                }
                self.find_losses(cx, findings);
                if self.state != CongestionState::Recovery {
                    if self.lost == 0 {
                        return Resend::Nothing;
                    }
                    self.enter_recovery();
                }
            }
            CongestionState::Loss => {
                let resend = self.leave_loss(findings);
                self.find_losses(cx, findings);
                if self.state != CongestionState::Open && !findings.lost_again {
                    return resend;
                }
                return self.judge_open(cx, findings, resend);
            }
            CongestionState::Open | CongestionState::Disorder | CongestionState::Cwr => {
                return self.judge_open(cx, findings, Resend::Nothing);
            }
        }
        Resend::Lost
    }

    fn judge_open(
        &mut self,
        cx: &mut TcpContext<'_>,
        findings: &mut Findings,
        otherwise: Resend,
    ) -> Resend {
        if self.state <= CongestionState::Disorder {
            self.undo_by_duplicates();
        }
        self.find_losses(cx, findings);
        if self.lost == 0 {
            self.try_open();
            return otherwise;
        }
        self.enter_recovery();
        Resend::Lost
    }

    /// Decides in the loss state: was the timeout spurious, is the loss repaired, or what is next?
    fn leave_loss(&mut self, findings: &Findings) -> Resend {
        let recovered = self.unacknowledged >= self.high;
        if findings.advances && self.may_undo(findings) {
            self.take_back(true);
            self.timeouts = 0;
            self.state = CongestionState::Open;
            return Resend::Nothing;
        }
        if self.doubting {
            if findings.original {
                self.take_back(true);
                self.timeouts = 0;
                self.state = CongestionState::Open;
                return Resend::Nothing;
            }
            if self.next > self.high {
                if findings.sacks || !(findings.advances || findings.carries_data) {
                    self.doubting = false;
                }
            } else if findings.advances && !recovered {
                self.high = self.next;
                if self.next < self.written {
                    return Resend::NewFirst;
                }
                self.doubting = false;
            }
        }
        if recovered {
            self.state = CongestionState::Open;
            return Resend::Nothing;
        }
        Resend::Lost
    }

    /// Marks the segments that RACK takes as lost. Segments that may only be late get a timer.
    fn find_losses(&mut self, cx: &TcpContext<'_>, findings: &mut Findings) {
        if !self.rack.advanced {
            return;
        }
        self.rack.advanced = false;
        let resent = self.resent;
        if let Some(wait) = self.mark_overdue(cx) {
            self.set_timer(cx, Timer::Reordering, wait + LEAST_TIMEOUT);
            findings.restart_timer = false;
        }
        findings.lost_again |= self.resent < resent;
    }

    /// Marks as lost the segments that were sent a round trip and a reordering window before a
    /// segment that has arrived. Returns how long to wait for the rest.
    fn mark_overdue(&mut self, cx: &TcpContext<'_>) -> Option<Duration> {
        if self.sacked == 0 && self.lost == 0 && !self.any_resent() {
            return None;
        }
        let allowed = self.rack.rtt + self.reordering_window();
        let Self { rack, flight, resent, lost, .. } = self;
        // A segment that must wait has a wait above zero.
        let mut longest = Duration::ZERO;
        for sent in flight.iter_mut() {
            if !rack.is_after(sent) {
                if sent.ever_resent {
                    continue;
                }
                // All later segments were sent later still, for the first time or again.
                break;
            }
            if sent.sacked | (sent.lost & !sent.resent) {
                continue;
            }
            let elapsed = cx.now.since(sent.sent_at);
            if elapsed >= allowed {
                *resent -= u32::from(sent.resent);
                *lost += u32::from(!sent.lost);
                sent.resent = false;
                sent.lost = true;
            } else {
                longest = longest.max(allowed - elapsed);
            }
        }
        (longest > Duration::ZERO).then_some(longest)
    }

    fn reordering_window(&self) -> Duration {
        let certain = self.state >= CongestionState::Recovery || self.sacked >= DUPLICATE_THRESHOLD;
        if certain && !self.rack.reordering_seen {
            return Duration::ZERO;
        }
        let quarter = Duration::from_nanos(self.estimator.min_rtt().as_nanos() / 4);
        quarter.min(self.estimator.srtt())
    }

    fn mark_lost(&mut self, index: usize) {
        let sent = &mut self.flight[index];
        if sent.sacked {
            return;
        }
        if sent.resent {
            sent.resent = false;
            self.resent -= 1;
        }
        if !sent.lost {
            sent.lost = true;
            self.lost += 1;
        }
    }

    /// Retransmits the lost segments as far as the window allows.
    pub(super) fn resend_lost(&mut self, cx: &mut TcpContext<'_>) {
        let mut index = 0;
        let mut head = false;
        while self.lost > self.resent && index < self.flight.len() {
            if self.in_flight() >= self.window.cwnd() {
                break;
            }
            let sent = self.flight[index];
            if sent.lost && !sent.sacked && !sent.resent {
                self.resend(cx, index);
                head |= index == 0;
            }
            index += 1;
        }
        if head && !matches!(self.timer, Some((Timer::Reordering, _))) {
            self.set_timer(cx, Timer::Retransmission, self.timeout);
        }
    }

    fn resend(&mut self, cx: &mut TcpContext<'_>, index: usize) {
        self.repeat(cx, index);
        self.flight[index].resent = true;
        self.resent += 1;
        self.resending_since.get_or_insert(cx.now);
        if self.reducing() {
            self.window.count_sent(1);
        }
        if let Some(undo) = &mut self.undo {
            undo.repeats = Some(undo.repeats.unwrap_or(0) + 1);
        }
    }

    /// Retransmits a segment, joined by the small segments after it that fit.
    fn repeat(&mut self, cx: &mut TcpContext<'_>, index: usize) {
        let most = u64::from(cx.profile.maximum_segment);
        while let Some(&follower) = self.flight.get(index + 1) {
            let head = &mut self.flight[index];
            if follower.sacked || follower.end - head.start > most {
                break;
            }
            head.end = follower.end;
            head.ever_resent |= follower.ever_resent;
            self.lost -= u32::from(follower.lost);
            self.resent -= u32::from(follower.resent);
            self.flight.remove(index + 1);
        }
        let sent = &mut self.flight[index];
        sent.sent_at = cx.now;
        sent.ever_resent = true;
        let segment = cx.send();
        segment.sequence = sent.start;
        segment.length = (sent.end - sent.start) as u32;
        segment.retransmission = true;
        self.last_sent = cx.now;
    }

    pub(super) fn send_probe(&mut self, cx: &mut TcpContext<'_>) {
        if self.flight.is_empty() {
            self.timer = None;
            return;
        }
        // At most one probe at a time; then the retransmission timeout takes over.
        if self.probe.is_none() {
            let repeats = self.next == self.written;
            if repeats {
                self.repeat(cx, self.flight.len() - 1);
            } else {
                self.send_new(cx);
                self.note_window_use();
            }
            self.probe = Some(TailLossProbe { end: self.next, repeats });
            // The retransmission timeout starts again, in full.
            self.timer = None;
        }
        self.rearm(cx);
    }

    pub(super) fn end_reordering_wait(&mut self, cx: &mut TcpContext<'_>) {
        let before = self.in_flight();
        let wait = self.mark_overdue(cx);
        if let Some(wait) = wait {
            self.set_timer(cx, Timer::Reordering, wait + LEAST_TIMEOUT);
        }
        if self.in_flight() != before {
            if self.state != CongestionState::Recovery {
                self.enter_recovery();
                self.window.reduce(self.in_flight(), 1, false);
            }
            self.resend_lost(cx);
        }
        if !matches!(self.timer, Some((Timer::Retransmission, _))) && wait.is_none() {
            self.rearm(cx);
        }
    }

    pub(super) fn time_out(&mut self, cx: &mut TcpContext<'_>) -> Result<(), GaveUp> {
        if self.flight.is_empty() {
            return Ok(());
        }
        let since = self.resending_since.unwrap_or(cx.now);
        if self.timeouts > 0 && cx.now.since(since) >= cx.profile.give_up_after {
            return Err(GaveUp);
        }
        self.enter_loss(cx);
        self.probe = None;
        self.resend(cx, 0);
        self.timeouts += 1;
        self.timeout = (self.timeout * 2).min(cx.profile.maximum_timeout);
        self.set_timer(cx, Timer::Retransmission, self.timeout);
        Ok(())
    }

    fn enter_loss(&mut self, cx: &TcpContext<'_>) {
        let fresh = self.state < CongestionState::Recovery;
        let again = self.timeouts > 0;
        // The head is certainly lost. Segments sent within the last round trip may yet arrive.
        self.mark_lost(0);
        for index in 1..self.flight.len() {
            if cx.now.since(self.flight[index].sent_at) >= self.rack.rtt {
                self.mark_lost(index);
            }
        }
        let first_here = self.state <= CongestionState::Disorder
            || self.high <= self.unacknowledged
            || (self.state == CongestionState::Loss && !again);
        if first_here {
            self.remember_for_undo();
        }
        self.window.collapse(self.in_flight() + 1, first_here);
        self.state = CongestionState::Loss;
        self.high = self.next;
        self.doubting = fresh || again;
    }

    fn enter_recovery(&mut self) {
        self.remember_for_undo();
        self.begin_reduction();
        self.state = CongestionState::Recovery;
    }

    fn remember_for_undo(&mut self) {
        let probes = u32::from(self.probe.is_some_and(|probe| probe.repeats));
        let repeats = self.resent + probes;
        self.undo = Some(Undo {
            from: self.unacknowledged,
            repeats: (repeats > 0).then_some(repeats),
            window: self.window.size(),
        });
    }

    pub(super) fn begin_reduction(&mut self) {
        self.high = self.next;
        self.probe = None;
        self.window.begin_reduction();
    }

    fn end_reduction(&mut self) {
        if self.state == CongestionState::Cwr || self.undo.is_some() {
            self.window.end_reduction();
        }
        self.state = CongestionState::Open;
    }

    /// Returns whether the presumed loss was none: every retransmission was reported as a
    /// duplicate, or the echo is older than the first retransmission.
    fn may_undo(&self, findings: &Findings) -> bool {
        let Some(undo) = self.undo else {
            return false;
        };
        undo.repeats == Some(0) || (findings.advances && findings.older)
    }

    fn undo_by_duplicates(&mut self) -> bool {
        let spurious = self.undo.is_some_and(|undo| undo.repeats == Some(0));
        if spurious {
            self.take_back(false);
        }
        spurious
    }

    fn take_back(&mut self, unmark: bool) {
        if unmark {
            for sent in &mut *self.flight {
                sent.lost = false;
            }
            self.lost = 0;
        }
        if let Some(undo) = self.undo.take() {
            self.window.restore(undo.window);
        }
        // Makes the sender look for losses again.
        self.rack.advanced = true;
    }

    fn try_open(&mut self) {
        if self.state != CongestionState::Cwr {
            self.keep_open();
        }
    }

    pub(super) fn keep_open(&mut self) {
        let trouble = self.sacked + self.lost > 0 || self.any_resent();
        let state = if trouble { CongestionState::Disorder } else { CongestionState::Open };
        if self.state != state {
            self.state = state;
            self.high = self.next;
        }
    }

    fn any_resent(&self) -> bool {
        self.resent > 0 || self.flight.first().is_some_and(|head| head.ever_resent)
    }

    pub(super) fn control_window(&mut self, findings: &Findings) {
        if self.reducing() {
            let clean = findings.advances && self.lost == 0;
            self.window.reduce(self.in_flight(), findings.delivered, clean);
        } else if findings.advances {
            self.window.grow(findings.delivered);
        }
    }
}
