//! A progress bar on standard error: only on a terminal, and only when the work takes a while. If the work has a
//! host, the host hears instead how far it is.

use std::time::Duration;
use std::{fmt, thread};

use groupkey_lab::campaign::Progress;
use indicatif::{HumanDuration, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::host::{self, HostEars, HostNotice};

/// Shows how far the work is.
pub(crate) struct ProgressBar {
    bar: indicatif::ProgressBar,
    /// Who hears of it in place of a terminal, and in what it is counted.
    host: Option<(HostEars, String)>,
}

impl ProgressBar {
    pub(crate) fn new() -> Self {
        Self::counting("runs")
    }

    /// Does the same for work that is counted in another unit.
    pub(crate) fn counting(unit: &str) -> Self {
        let bar = indicatif::ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = format!("{{elapsed_precise}} [{{wide_bar}}] {{pos}}/{{len}} {unit}{{left}}");
        let style = ProgressStyle::with_template(&style).expect("the template is well-formed");
        bar.set_style(style.with_key("left", tell_rest));
        let host = host::present().map(|host| (host, unit.to_owned()));
        if host.is_some() {
            return Self { bar, host };
        }
        let late = bar.clone();
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            if !late.is_finished() {
                // The bar stays hidden if standard error is no terminal.
                late.set_draw_target(ProgressDrawTarget::stderr());
                late.enable_steady_tick(TICK);
            }
        });
        Self { bar, host }
    }

    pub(crate) fn update(&self, progress: Progress) {
        self.advance(progress.runs_done, progress.runs_total);
    }

    pub(crate) fn advance(&self, done: usize, total: usize) {
        if let Some((host, unit)) = &self.host {
            host.tell(HostNotice::Progress { done, total, unit });
        }
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Tells how long the rest takes if it goes on as so far. An estimate from the last steps alone
/// jumps if there are few and long ones, and so does one from the first steps.
fn tell_rest(state: &ProgressState, out: &mut dyn fmt::Write) {
    let (done, total) = (state.pos(), state.len().unwrap_or_default());
    if let Some(rest) = rest(state.elapsed(), done, total) {
        // A terminal that takes nothing shows nothing.
        let _ = write!(out, ", {:#} left", HumanDuration(rest));
    }
}

/// Returns how long the rest takes if it goes on as so far, unless it is too early to say.
fn rest(elapsed: Duration, done: u64, total: u64) -> Option<Duration> {
    let has_begun = done > 0 && done >= total / EARLY;
    has_begun.then(|| elapsed.mul_f64(total.saturating_sub(done) as f64 / done as f64))
}

/// Before this part of the work, nothing is said of the rest.
const EARLY: u64 = 20;

/// Work shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_millis(700);

/// How often the elapsed time is drawn anew.
const TICK: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_steps_tell_nothing_of_the_rest() {
        let minute = Duration::from_secs(60);
        assert_eq!([rest(minute, 0, 200), rest(minute, 9, 200)], [None, None]);
        assert_eq!(rest(minute, 10, 200), Some(19 * minute));
        assert_eq!(rest(minute, 1, 2), Some(minute));
        assert_eq!(rest(minute, 3, 0), Some(Duration::ZERO), "the total is not known yet");
    }
}
