//! The axes of a figure, which show how far the runs of its rows lie apart.

use super::quantity::Spread;
use crate::report::axis::Axis;

/// What an axis must show: the marks from least to greatest, the whiskers up to the top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Extent {
    least: f64,
    greatest: f64,
    top: f64,
}

impl Extent {
    pub(in crate::report) const NOTHING: Self =
        Self { least: f64::INFINITY, greatest: 0.0, top: 0.0 };

    pub(in crate::report) fn with(self, spread: Spread) -> Self {
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
pub(in crate::report) fn axes(panels: &[Extent], bars: bool) -> Vec<Axis> {
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
