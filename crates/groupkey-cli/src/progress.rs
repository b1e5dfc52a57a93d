//! A progress bar on standard error: only on a terminal, and only when the work takes a while.

use std::time::{Duration, Instant};

use groupkey_lab::campaign::Progress;
use indicatif::{ProgressDrawTarget, ProgressStyle};

/// Shows how far a campaign is.
#[derive(Debug)]
pub(crate) struct ProgressBar {
    bar: indicatif::ProgressBar,
    started: Instant,
}

impl ProgressBar {
    /// A bar that stays hidden for now.
    pub(crate) fn new() -> Self {
        Self::counting("runs")
    }

    /// The same, of work that is counted in something else.
    pub(crate) fn counting(unit: &str) -> Self {
        let bar = indicatif::ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style =
            format!("{{elapsed_precise}} [{{wide_bar}}] {{pos}}/{{len}} {unit}, {{eta}} left");
        bar.set_style(ProgressStyle::with_template(&style).expect("the template is well-formed"));
        Self { bar, started: Instant::now() }
    }

    /// Moves on.
    pub(crate) fn update(&self, progress: Progress) {
        self.advance(progress.runs_done, progress.runs_total);
    }

    /// Moves on to `done` of `total`.
    pub(crate) fn advance(&self, done: usize, total: usize) {
        if self.bar.is_hidden() && self.started.elapsed() > PATIENCE {
            // Stays hidden where standard error is no terminal.
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

/// Work shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_millis(700);
