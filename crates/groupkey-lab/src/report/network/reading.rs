//! Describes in words what a figure shows. Every number is computed from the rows. A sentence whose
//! rows are missing is left out.

use groupkey_choose::number::fixed;

use super::distinct;
use super::quantity::{NetworkQuantity, Spread};
use crate::report::style::Style;
use crate::report::text::{factor, operation, time};
use crate::results::NetworkRow;

type Sentence = (&'static str, String);

/// Loss (%) and one-way delay (ms).
type Network = (f64, f64);

/// Describes a figure: of times, or of one scheme's stacked bars.
pub(super) fn sentences(
    rows: &[&NetworkRow],
    styles: &[Style],
    operation_id: &str,
    quantity: NetworkQuantity,
    stacked: bool,
) -> Vec<Sentence> {
    let Some(view) = View::of(rows, styles, operation_id, quantity) else { return Vec::new() };
    let told = match stacked {
        true => vec![("Share", view.share()), ("Computation", view.computation())],
        false => vec![
            ("Network", view.network()),
            ("Ranking", view.ranking()),
            ("Group size", view.size()),
            ("Spread", view.spread()),
        ],
    };
    told.into_iter().filter_map(|(topic, words)| Some((topic, words? + "."))).collect()
}

/// The rows of one figure, its corners, and the words for them.
struct View<'a> {
    rows: &'a [&'a NetworkRow],
    styles: &'a [Style],
    quantity: NetworkQuantity,
    noun: String,
    members: (u32, u32),
    /// The best network, the one with most loss alone, the one with most delay alone, and the worst.
    networks: [Network; 4],
}

impl<'a> View<'a> {
    fn of(
        rows: &'a [&'a NetworkRow],
        styles: &'a [Style],
        operation_id: &str,
        quantity: NetworkQuantity,
    ) -> Option<Self> {
        let losses = distinct(rows.iter().map(|row| row.setting.loss_percent));
        let delays = distinct(rows.iter().map(|row| row.setting.delay_ms));
        let (loss, most_loss) = (*losses.first()?, *losses.last()?);
        let (delay, most_delay) = (*delays.first()?, *delays.last()?);
        let sizes = || rows.iter().map(|row| row.setting.members);
        let article = if operation_id == "create" { "" } else { "a " };
        let during =
            if quantity == NetworkQuantity::Transmission { "transmission during " } else { "" };
        Some(Self {
            rows,
            styles,
            quantity,
            noun: format!("{during}{article}{}", operation(operation_id)),
            members: (sizes().min()?, sizes().max()?),
            networks: [
                (loss, delay),
                (most_loss, delay),
                (loss, most_delay),
                (most_loss, most_delay),
            ],
        })
    }

    /// Gives the factors by which loss alone, delay alone, and both multiply the time.
    fn network(&self) -> Option<String> {
        let [best, others @ ..] = self.networks;
        let told = self.in_networks(&others, |network| {
            let ratio = |style: &Style| {
                let base = self.mean(style, self.members.1, best)?;
                Some(self.mean(style, self.members.1, network)? / base)
            };
            let range = self.range(ratio, factor).filter(|_| network != best)?;
            Some(format!("{range} times as long"))
        })?;
        let Self { noun, members: (_, most), .. } = self;
        Some(format!("Compared with {}, {noun} with {most} members takes {told}", named(best)))
    }

    /// Names the fastest and the slowest scheme in the best and in the worst network.
    fn ranking(&self) -> Option<String> {
        let told = self.in_networks(&self.best_and_worst(), |network| {
            let mean = |style: &'a Style| {
                Some((style.scheme.as_str(), self.mean(style, self.members.1, network)?))
            };
            let mut timed: Vec<(&str, f64)> = self.styles.iter().filter_map(mean).collect();
            timed.sort_by(|a, b| a.1.total_cmp(&b.1));
            let [(fastest, least), .., (slowest, most)] = timed[..] else { return None };
            Some(format!("{fastest} ({}) and {slowest} ({})", time(least), time(most)))
        })?;
        Some(format!("With {} members, fastest and slowest are {told}", self.members.1))
    }

    /// Describes the effect of the group's size in the best and in the worst network.
    fn size(&self) -> Option<String> {
        let (fewest, most) = self.members;
        let told = self.in_networks(&self.best_and_worst(), |network| {
            let ratio = |style: &Style| {
                Some(self.mean(style, most, network)? / self.mean(style, fewest, network)?)
            };
            let range = self.range(ratio, factor).filter(|_| fewest < most)?;
            Some(format!("{range} times"))
        })?;
        Some(format!("From {fewest} to {most} members, the time grows {told}"))
    }

    /// Describes the effect of loss and delay on the spread.
    fn spread(&self) -> Option<String> {
        let told = self.in_networks(&self.networks[..3], |network| {
            let sd = |style: &Style| {
                Some(Spread::of(self.row(style, self.members.1, network)?, self.quantity)?.sd)
            };
            self.range(sd, time)
        })?;
        Some(format!("The standard deviation with {} members is {told}", self.members.1))
    }

    /// Describes the share of transmission with the most members.
    fn share(&self) -> Option<String> {
        let told = self.in_networks(&self.networks[..3], |network| {
            let row = self.row(self.styles.first()?, self.members.1, network)?;
            let percent = fixed(100.0 * row.transmission_ms / row.mean_ms, 1);
            Some(format!("{percent} % of {}", time(row.mean_ms)))
        })?;
        Some(format!("With {} members, transmission is {told}", self.members.1))
    }

    /// Describes how computation grows with the group, in the best network.
    fn computation(&self) -> Option<String> {
        let (fewest, most) = self.members;
        let [few, many] = [fewest, most].map(|members| {
            self.row(self.styles.first()?, members, self.networks[0]).map(|row| row.computation_ms)
        });
        let (few, many) = (few.filter(|&ms| ms > 0.0 && fewest < most)?, many?);
        Some(format!(
            "From {fewest} to {most} members, computation goes from {} to {}: {} times, for {} times \
             the members",
            time(few),
            time(many),
            factor(many / few),
            f64::from(most) / f64::from(fewest),
        ))
    }

    fn best_and_worst(&self) -> [Network; 2] {
        [self.networks[0], self.networks[3]]
    }

    fn in_networks(
        &self,
        networks: &[Network],
        tell: impl Fn(Network) -> Option<String>,
    ) -> Option<String> {
        let mut told: Vec<String> = networks
            .iter()
            .filter_map(|&network| Some(format!("{} with {}", tell(network)?, named(network))))
            .collect();
        told.dedup();
        (!told.is_empty()).then(|| told.join("; "))
    }

    fn row(&self, style: &Style, members: u32, network: Network) -> Option<&NetworkRow> {
        self.rows.iter().copied().find(|NetworkRow { setting, .. }| {
            (&setting.scheme, setting.members) == (&style.scheme, members)
                && (setting.loss_percent, setting.delay_ms) == network
        })
    }

    fn mean(&self, style: &Style, members: u32, network: Network) -> Option<f64> {
        Some(Spread::of(self.row(style, members, network)?, self.quantity)?.mean)
    }

    /// Formats a range over the schemes: `5.1`, or `1.2 (skdc) to 5.1 (lkh-group)`.
    fn range(
        &self,
        value: impl Fn(&Style) -> Option<f64>,
        format: fn(f64) -> String,
    ) -> Option<String> {
        let finite = |style: &'a Style| {
            Some((value(style).filter(|value| value.is_finite())?, style.scheme.as_str()))
        };
        let mut values: Vec<(f64, &str)> = self.styles.iter().filter_map(finite).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (&(least, first), &(most, last)) = (values.first()?, values.last()?);
        match (format(least), format(most)) {
            (least, most) if least == most => Some(least),
            (least, most) => Some(format!("{least} ({first}) to {most} ({last})")),
        }
    }
}

fn named((loss, delay): Network) -> String {
    let loss = if loss == 0.0 { "no loss".to_owned() } else { format!("{loss} % loss") };
    let delay = if delay == 0.0 { "no delay".to_owned() } else { format!("{delay} ms delay") };
    format!("{loss} and {delay}")
}
