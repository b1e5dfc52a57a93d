//! How far the runs of a row lie apart, and the axes that show them.

use crate::report::axis::Axis;
use crate::report::content::TimeQuantity;
use crate::results::NetworkRow;
use crate::statistics::Summary;

/// Statistics of a row in one quantity (ms).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
}

impl Spread {
    pub(super) fn of(row: &NetworkRow, quantity: TimeQuantity) -> Self {
        match quantity {
            TimeQuantity::Transmission => {
                let samples: Vec<f64> = row.samples.iter().map(|s| s.transmission_ms).collect();
                if samples.is_empty() {
                    return Self::exactly(row.transmission_ms);
                }
                let Summary { sd, p50, p99, .. } = Summary::of(&samples);
                Self { mean: row.transmission_ms, sd: sd.unwrap_or(0.0), p50, p99 }
            }
            TimeQuantity::Total | TimeQuantity::TransmissionShare => {
                let sd = row.sd_ms.unwrap_or(0.0);
                Self { mean: row.mean_ms, sd, p50: row.p50_ms, p99: row.p99_ms }
            }
        }
    }

    /// Creates a value without any spread.
    pub(super) fn exactly(ms: f64) -> Self {
        Self { mean: ms, sd: 0.0, p50: ms, p99: ms }
    }
}

/// What an axis must show (ms): the marks from least to greatest, the whiskers up to the top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    least: f64,
    greatest: f64,
    top: f64,
}

impl Extent {
    pub(super) const NOTHING: Self = Self { least: f64::INFINITY, greatest: 0.0, top: 0.0 };

    pub(super) fn with(self, spread: Spread) -> Self {
        Self {
            least: self.least.min(spread.mean),
            greatest: self.greatest.max(spread.mean),
            top: self.top.max(spread.mean + spread.sd).max(spread.p99),
        }
    }

    fn and(self, other: &Self) -> Self {
        Self {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            top: self.top.max(other.top),
        }
    }
}

/// Returns an axis for each panel. All panels have the same axis, unless that would flatten one of
/// them. The axis of bars starts at zero.
pub(super) fn axes(panels: &[Extent], bars: bool) -> Vec<Axis> {
    let axis = |extent: &Extent| {
        if bars {
            Axis::from_zero(extent.top)
        } else {
            Axis::spanning((extent.least, extent.greatest), extent.top)
        }
    };
    let shared = axis(&panels.iter().fold(Extent::NOTHING, Extent::and));
    let flattened = panels.iter().any(|extent| {
        let foot = if bars { 0.0 } else { shared.position(extent.least) };
        shared.position(extent.top) - foot < LEAST_HEIGHT
    });
    panels.iter().map(|extent| if flattened { axis(extent) } else { shared.clone() }).collect()
}

/// The part of the height that the values of every panel must reach on a shared axis.
const LEAST_HEIGHT: f64 = 0.4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_share_an_axis_unless_it_flattens_one() {
        let extent = |least, top| Extent { least, greatest: top, top };
        let alike = axes(&[extent(100.0, 300.0), extent(120.0, 350.0)], false);
        assert_eq!(alike[0], alike[1]);
        let apart = axes(&[extent(20.0, 300.0), extent(1000.0, 1500.0)], false);
        assert_ne!(apart[0], apart[1]);
    }
}
