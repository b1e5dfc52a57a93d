//! Numbers for readers.

/// Returns a number with three significant digits, and commas between thousands. Zeros at the end of
/// a fraction are left out.
pub fn rounded(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    let rounded = match digits {
        ..=0 => {
            let unit = 10_f64.powi(-digits);
            return grouped((value / unit).round() * unit);
        }
        digits => format!("{value:.0$}", digits.min(9) as usize),
    };
    let shorter = rounded.trim_end_matches('0').trim_end_matches('.');
    shorter.to_owned()
}

/// Returns a number without its fraction, with commas between thousands.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut grouped = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_are_grouped() {
        let shown = [0.0, 0.012_34, 0.5, 1.0, 14.26, 430.4, 1_400.0, 12_345.0, 1.5e6].map(rounded);
        let expected = ["0", "0.0123", "0.5", "1", "14.3", "430", "1,400", "12,300", "1,500,000"];
        assert_eq!(shown, expected);
        assert_eq!(
            [0.0, 999.0, 1_000.0, -1_234_567.0].map(grouped),
            ["0", "999", "1,000", "-1,234,567"]
        );
    }
}
