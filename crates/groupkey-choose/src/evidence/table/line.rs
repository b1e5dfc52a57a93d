//! The numbers of a column, written as the sizes at which it turns.
//!
//! A column lies on lines over the size, or over its logarithm. What a line between two sizes tells is
//! left out.

/// Returns a number with at most six significant digits, unless it is whole.
pub(super) fn short(value: f64) -> f64 {
    if value == value.round() { value } else { format!("{value:.5e}").parse().unwrap_or(value) }
}

/// A place between two sizes.
pub(super) struct SizePosition {
    /// The indices of the two sizes; equal at a counted size.
    between: (usize, usize),
    /// How far it is from the first to the second one, over the size and over its logarithm.
    share: f64,
    logarithmic_share: f64,
}

impl SizePosition {
    pub(super) fn of(sizes: &[u32], members: u32) -> Self {
        let upper = sizes.partition_point(|size| *size < members);
        if sizes.get(upper) == Some(&members) || sizes.len() == 1 {
            let index = upper.min(sizes.len() - 1);
            return Self { between: (index, index), share: 0.0, logarithmic_share: 0.0 };
        }
        let upper = upper.clamp(1, sizes.len() - 1);
        let [low, high, here] = [sizes[upper - 1], sizes[upper], members].map(f64::from);
        Self {
            between: (upper - 1, upper),
            share: (here - low) / (high - low),
            logarithmic_share: (here / low).ln() / (high / low).ln(),
        }
    }

    pub(super) fn value(&self, values: &[f64], is_logarithmic: bool) -> f64 {
        let (low, high) = (values[self.between.0], values[self.between.1]);
        if low == high {
            return low;
        }
        let share = if is_logarithmic { self.logarithmic_share } else { self.share };
        (high - low).mul_add(share, low)
    }
}

/// Returns how far the values are from the lines between their neighbours, in all.
pub(super) fn bends(sizes: &[u32], values: &[f64], is_logarithmic: bool) -> f64 {
    let mut sum = 0.0;
    for middle in 1..sizes.len().saturating_sub(1) {
        let around = |list: &[f64]| [list[middle - 1], list[middle + 1]];
        let place = SizePosition::of(&[sizes[middle - 1], sizes[middle + 1]], sizes[middle]);
        let expected = place.value(&around(values), is_logarithmic);
        sum += (expected - values[middle]).abs() / values[middle].abs().max(1e-9);
    }
    sum
}

/// Writes the numbers of a column: one if it does not change, otherwise one for each size, or
/// nothing where a line between the neighbours tells it. `~` before it says that the lines are over
/// the logarithm.
pub(super) fn written(sizes: &[u32], values: &[f64], is_logarithmic: bool) -> String {
    if values.iter().all(|value| *value == values[0]) {
        return values[0].to_string();
    }
    let mut told = vec![String::new(); values.len()];
    let mut from = 0;
    told[0] = values[0].to_string();
    while from + 1 < values.len() {
        let mut to = from + 1;
        while to + 1 < values.len() && is_told(sizes, values, is_logarithmic, from, to + 1) {
            to += 1;
        }
        told[to] = values[to].to_string();
        from = to;
    }
    let text = told.join(",");
    if is_logarithmic { format!("~{text}") } else { text }
}

/// Whether the two ends tell what is between them.
fn is_told(sizes: &[u32], values: &[f64], is_logarithmic: bool, from: usize, to: usize) -> bool {
    let ends = [sizes[from], sizes[to]];
    (from + 1..to).all(|middle| {
        let place = SizePosition::of(&ends, sizes[middle]);
        short_of(place.value(&[values[from], values[to]], is_logarithmic)) == values[middle]
    })
}

/// Returns an interpolated number as it was before it was left out: whole if it nearly is.
fn short_of(value: f64) -> f64 {
    if (value - value.round()).abs() < 1e-6 { value.round() } else { short(value) }
}

/// Reads what [`written`] wrote.
pub(super) fn values(sizes: &[u32], text: &str) -> Option<(bool, Vec<f64>)> {
    let (is_logarithmic, text) = match text.strip_prefix('~') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let number = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
    if !text.contains(',') {
        return Some((is_logarithmic, vec![number(text)?; sizes.len()]));
    }
    let mut told = Vec::with_capacity(sizes.len());
    for text in text.split(',') {
        told.push(if text.is_empty() { None } else { Some(number(text)?) });
    }
    if told.len() != sizes.len() || told[0].is_none() || told[told.len() - 1].is_none() {
        return None;
    }
    let mut values: Vec<f64> = Vec::with_capacity(sizes.len());
    let mut from = 0;
    for to in 0..told.len() {
        let Some(value) = told[to] else { continue };
        for middle in from + 1..to {
            let place = SizePosition::of(&[sizes[from], sizes[to]], sizes[middle]);
            values.push(short_of(place.value(&[told[from]?, value], is_logarithmic)));
        }
        values.push(value);
        from = to;
    }
    Some((is_logarithmic, values))
}
