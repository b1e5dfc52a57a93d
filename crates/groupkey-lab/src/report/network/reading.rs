//! Describes in words what a figure shows. Every number is computed from the rows. A sentence whose
//! rows are missing is left out.

use groupkey_choose::number::fixed;

use super::distinct;
use super::spread::Spread;
use crate::report::content::Quantity;
use crate::report::style::Style;
use crate::report::text::{factor, operation, time};
use crate::results::NetworkRow;

/// A topic and a sentence.
type Sentence = (&'static str, String);

/// Describes a figure of times: the ranking, and the effects of delay, loss and group size.
pub(super) fn times(
    rows: &[&NetworkRow],
    schemes: &[Style],
    operation_id: &str,
    quantity: Quantity,
) -> Vec<Sentence> {
    let view = View { rows, schemes, quantity, noun: noun(operation_id, quantity) };
    [
        ("Network", view.network()),
        ("Ranking", view.ranking()),
        ("Group size", view.size()),
        ("Spread", view.spread()),
    ]
    .into_iter()
    .filter_map(|(topic, words)| Some((topic, words?)))
    .collect()
}

/// Describes a figure of stacked bars: the share of transmission, the growth of computation.
pub(super) fn shares(rows: &[&NetworkRow], operation_id: &str) -> Vec<Sentence> {
    [("Share", share(rows, operation_id)), ("Computation", computation(rows))]
        .into_iter()
        .filter_map(|(topic, words)| Some((topic, words?)))
        .collect()
}

/// Describes the share of transmission with the most members: in the best network, with loss, with
/// delay.
fn share(rows: &[&NetworkRow], operation_id: &str) -> Option<String> {
    let Corners { members: (_, most), losses, delays } = Corners::of(rows)?;
    let share = |loss: f64, delay: f64| {
        let row = rows.iter().find(|row| {
            row.setting.members == most
                && (row.setting.loss_percent, row.setting.delay_ms) == (loss, delay)
        })?;
        let percent = fixed(100.0 * row.transmission_ms / row.mean_ms, 1);
        Some((percent, time(row.mean_ms)))
    };

    let (percent, total) = share(losses.0, delays.0)?;
    let mut sentence = format!(
        "With {most} members, {} and {}, {} takes {total}, of which transmission is {percent} %",
        loss_words(losses.0),
        delay_words(delays.0),
        noun(operation_id, Quantity::Total),
    );
    if let Some((percent, _)) = share(losses.1, delays.0).filter(|_| losses.1 > losses.0) {
        sentence += &format!("; with {} it is {percent} %", loss_words(losses.1));
    }
    if let Some((percent, total)) = share(losses.0, delays.1).filter(|_| delays.1 > delays.0) {
        sentence += &format!("; with {} alone, {percent} % of {total}", delay_words(delays.1));
    }
    Some(sentence + ".")
}

/// Describes how computation grows with the group, in the best network.
fn computation(rows: &[&NetworkRow]) -> Option<String> {
    let Corners { members: (fewest, most), losses, delays } = Corners::of(rows)?;
    let of = |members: u32| {
        let best = (losses.0, delays.0);
        rows.iter()
            .find(|row| {
                row.setting.members == members
                    && (row.setting.loss_percent, row.setting.delay_ms) == best
            })
            .map(|row| row.computation_ms)
    };
    let (few, many) = (of(fewest).filter(|&ms| ms > 0.0)?, of(most)?);
    (fewest < most).then(|| {
        format!(
            "From {fewest} to {most} members, computation goes from {} to {}: {} times, for {} \
             times the members.",
            time(few),
            time(many),
            factor(many / few),
            f64::from(most) / f64::from(fewest),
        )
    })
}

/// The rows of one figure, and the words for them.
struct View<'a> {
    rows: &'a [&'a NetworkRow],
    schemes: &'a [Style],
    quantity: Quantity,
    noun: String,
}

impl View<'_> {
    /// Names the fastest and the slowest scheme in the best and in the worst network.
    fn ranking(&self) -> Option<String> {
        let Corners { members, losses, delays } = Corners::of(self.rows)?;
        let ends = |loss, delay| {
            let mut timed: Vec<(&str, f64)> = self
                .schemes
                .iter()
                .filter_map(|s| Some((s.scheme.as_str(), self.mean(s, members.1, loss, delay)?)))
                .collect();
            timed.sort_by(|a, b| a.1.total_cmp(&b.1));
            Some((*timed.first()?, *timed.last()?, timed.len()))
        };

        let (fastest, slowest, count) = ends(losses.0, delays.0)?;
        if count < 2 {
            return None;
        }
        let mut sentence = format!(
            "With {} members, {} and {}, {} is the fastest ({}) and {} the slowest ({})",
            members.1,
            loss_words(losses.0),
            delay_words(delays.0),
            fastest.0,
            time(fastest.1),
            slowest.0,
            time(slowest.1),
        );
        if let Some((fastest, slowest, _)) = ends(losses.1, delays.1) {
            sentence += &format!(
                "; with {} and {}, {} ({}) and {} ({})",
                loss_words(losses.1),
                delay_words(delays.1),
                fastest.0,
                time(fastest.1),
                slowest.0,
                time(slowest.1),
            );
        }
        Some(sentence + ".")
    }

    /// Describes the factors by which delay alone, loss alone, and both multiply the time.
    fn network(&self) -> Option<String> {
        let Corners { members, losses, delays } = Corners::of(self.rows)?;
        let ratio = |loss, delay| {
            self.range(|s| {
                let base = self.mean(s, members.1, losses.0, delays.0)?;
                Some(self.mean(s, members.1, loss, delay)? / base)
            })
        };
        let by_delay = ratio(losses.0, delays.1).filter(|_| delays.1 > delays.0);
        let by_loss = ratio(losses.1, delays.0).filter(|_| losses.1 > losses.0);
        let by_both = ratio(losses.1, delays.1);
        let Some(by_delay) = by_delay else {
            return by_loss.map(|by_loss| {
                format!("{} makes it {by_loss} times as long as none.", loss_words(losses.1))
            });
        };

        let mut sentence = format!(
            "With {}, {} with {} members takes {by_delay} times as long as with {}",
            delay_words(delays.1),
            self.noun,
            members.1,
            if delays.0 == 0.0 { "none".to_owned() } else { delay_words(delays.0) },
        );
        if let Some(by_loss) = by_loss {
            sentence += &format!("; {} alone, {by_loss} times", loss_words(losses.1));
            if let Some(by_both) = by_both {
                sentence += &format!("; both together, {by_both} times");
            }
        }
        Some(sentence + ".")
    }

    /// Describes the effect of the group's size in the best network.
    fn size(&self) -> Option<String> {
        let Corners { members, losses, delays } = Corners::of(self.rows)?;
        if members.0 == members.1 {
            return None;
        }
        let grow = |loss, delay| {
            self.range(|s| {
                let small = self.mean(s, members.0, loss, delay)?;
                Some(self.mean(s, members.1, loss, delay)? / small)
            })
        };
        let mut sentence = format!(
            "From {} to {} members, {} takes {} times as long with {} and {}",
            members.0,
            members.1,
            self.noun,
            grow(losses.0, delays.0)?,
            loss_words(losses.0),
            delay_words(delays.0),
        );
        if let Some(worst) =
            grow(losses.1, delays.1).filter(|_| (losses.1, delays.1) != (losses.0, delays.0))
        {
            sentence += &format!(
                ", and {worst} times with {} and {}",
                loss_words(losses.1),
                delay_words(delays.1)
            );
        }
        Some(sentence + ".")
    }

    /// Describes the effect of loss and delay on the spread.
    fn spread(&self) -> Option<String> {
        let Corners { members, losses, delays } = Corners::of(self.rows)?;
        let sd = |loss, delay| {
            let found = self.schemes.iter().filter_map(|s| {
                let row = self.row(s, members.1, loss, delay)?;
                Some(Spread::of(row, self.quantity).sd)
            });
            Range::of(found).map(|range| range.words(time))
        };
        let (calm, lossy) = (sd(losses.0, delays.0)?, sd(losses.1, delays.0)?);
        if losses.0 == losses.1 {
            return None;
        }
        let mut sentence = format!(
            "The standard deviation with {} members is {calm} with {} and {lossy} with {}, both \
             with {}",
            members.1,
            loss_words(losses.0),
            loss_words(losses.1),
            delay_words(delays.0),
        );
        if let Some(late) = sd(losses.0, delays.1).filter(|_| delays.1 > delays.0) {
            sentence += &format!("; {late} with {} alone", delay_words(delays.1));
        }
        Some(sentence + ".")
    }

    fn row(&self, scheme: &Style, members: u32, loss: f64, delay: f64) -> Option<&NetworkRow> {
        self.rows.iter().copied().find(|row| {
            (row.setting.scheme.as_str(), row.setting.members) == (scheme.scheme.as_str(), members)
                && (row.setting.loss_percent, row.setting.delay_ms) == (loss, delay)
        })
    }

    fn mean(&self, scheme: &Style, members: u32, loss: f64, delay: f64) -> Option<f64> {
        self.row(scheme, members, loss, delay).map(|row| Spread::of(row, self.quantity).mean)
    }

    /// Formats a ratio over the schemes: `5.1`, or `1.2 (SKDC) to 5.1 (G-DH)`.
    fn range(&self, ratio: impl Fn(&Style) -> Option<f64>) -> Option<String> {
        let mut ratios: Vec<(&str, f64)> = self
            .schemes
            .iter()
            .filter_map(|s| Some((s.scheme.as_str(), ratio(s).filter(|r| r.is_finite())?)))
            .collect();
        ratios.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (first, last) = (ratios.first()?, ratios.last()?);
        if factor(first.1) == factor(last.1) {
            return Some(factor(first.1));
        }
        Some(format!("{} ({}) to {} ({})", factor(first.1), first.0, factor(last.1), last.0))
    }
}

/// Smallest and largest value of each parameter.
struct Corners {
    members: (u32, u32),
    losses: (f64, f64),
    delays: (f64, f64),
}

impl Corners {
    fn of(rows: &[&NetworkRow]) -> Option<Self> {
        let losses = distinct(rows.iter().map(|row| row.setting.loss_percent));
        let delays = distinct(rows.iter().map(|row| row.setting.delay_ms));
        Some(Self {
            members: (
                rows.iter().map(|row| row.setting.members).min()?,
                rows.iter().map(|row| row.setting.members).max()?,
            ),
            losses: (*losses.first()?, *losses.last()?),
            delays: (*delays.first()?, *delays.last()?),
        })
    }
}

/// A range from the least to the greatest value.
struct Range(f64, f64);

impl Range {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        values.fold(None, |range, value| match range {
            None => Some(Self(value, value)),
            Some(Self(low, high)) => Some(Self(low.min(value), high.max(value))),
        })
    }

    fn words(&self, format: fn(f64) -> String) -> String {
        let (low, high) = (format(self.0), format(self.1));
        if low == high { low } else { format!("{low} to {high}") }
    }
}

fn noun(operation_id: &str, quantity: Quantity) -> String {
    let article = if operation_id == "create" { "" } else { "a " };
    let during = if quantity == Quantity::Transmission { "transmission during " } else { "" };
    format!("{during}{article}{}", operation(operation_id))
}

fn loss_words(percent: f64) -> String {
    if percent == 0.0 { "no loss".to_owned() } else { format!("{percent} % loss") }
}

fn delay_words(ms: f64) -> String {
    if ms == 0.0 { "no delay".to_owned() } else { format!("{ms} ms delay") }
}
