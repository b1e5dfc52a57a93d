//! A progress bar on standard error: only on a terminal, and only when the work takes a while.

use std::fmt;
use std::time::{Duration, Instant};

use groupkey_lab::campaign::Progress;
use indicatif::{HumanDuration, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Shows how far a campaign is.
#[derive(Debug)]
pub(crate) struct ProgressBar {
    bar: indicatif::ProgressBar,
    started: Instant,
}

impl ProgressBar {
    /// Makes a bar that stays hidden for now.
    pub(crate) fn new() -> Self {
        Self::counting("runs")
    }

    /// Does the same for work that is counted in another unit.
    pub(crate) fn counting(unit: &str) -> Self {
        let bar = indicatif::ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = format!("{{elapsed_precise}} [{{wide_bar}}] {{pos}}/{{len}} {unit}{{left}}");
        let style = ProgressStyle::with_template(&style).expect("the template is well-formed");
        bar.set_style(style.with_key("left", tell_rest));
        Self { bar, started: Instant::now() }
    }

    /// Updates the bar.
    pub(crate) fn update(&self, progress: Progress) {
        self.advance(progress.runs_done, progress.runs_total);
    }

    /// Moves the bar to `done` of `total`.
    pub(crate) fn advance(&self, done: usize, total: usize) {
        if self.bar.is_hidden() && self.started.elapsed() > PATIENCE {
            // The bar stays hidden if standard error is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
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
/// jumps if there are few and long ones.
fn tell_rest(state: &ProgressState, out: &mut dyn fmt::Write) {
    let (done, total) = (state.pos(), state.len().unwrap_or_default());
    if done > 0 {
        let rest = state.elapsed().mul_f64(total.saturating_sub(done) as f64 / done as f64);
        // A terminal that takes nothing shows nothing.
        let _ = write!(out, ", {:#} left", HumanDuration(rest));
    }
}

/// Work shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_millis(700);
