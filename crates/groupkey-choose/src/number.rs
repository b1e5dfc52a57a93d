//! Numbers for readers: rounded, with commas between thousands, and with their unit.

/// Returns a number with three significant digits, for a sentence: `12,300`, `14.3`, `0.5`. Zeros at
/// the end of a fraction are left out.
pub fn rounded(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    match usize::try_from(digits) {
        Err(_) | Ok(0) => {
            let unit = 10_f64.powi(-digits);
            grouped((value / unit).round() * unit)
        }
        Ok(digits) => {
            let rounded = format!("{value:.0$}", digits.min(9));
            rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// Returns a number with three significant digits and at most two decimals, for a page: `12,345`,
/// `14.3`, `0.50`.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 | 99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    };
    fixed(value, decimals)
}

/// Returns a number with at least three significant digits and at most three decimals, for a table
/// of the terminal: `12345`, `14.26`, `0.500`.
pub fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 | 1000.0.. => 0,
        100.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// Does the same, but a small number other than zero has an exponent in place of three decimals.
pub fn figure_however_small(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.01 { figure(value) } else { format!("{value:.2e}") }
}

/// Returns a number with four significant digits, in powers of ten if it is small or large.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = usize::try_from(3 - size.log10().floor() as i32).unwrap_or(0);
    format!("{value:.digits$}")
}

/// Returns a published value with as many digits as its error tells: `1,234`, `47`, `4.73`.
pub fn published(value: f64) -> String {
    match value.abs() {
        1_000.0.. => grouped(value),
        _ if value.fract() == 0.0 => format!("{value}"),
        10.0.. => fixed(value, 1),
        1.0.. => fixed(value, 2),
        0.001.. => fixed(value, 3),
        _ => format!("{value:.2e}"),
    }
}

/// Returns a number without its fraction, with commas between thousands.
pub fn grouped(value: f64) -> String {
    fixed(value, 0)
}

/// Returns a number with this many decimals, and with commas between thousands.
pub fn fixed(value: f64, decimals: usize) -> String {
    let plain = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let is_negative = value < 0.0 && plain.contains(|digit| ('1'..='9').contains(&digit));
    let mut fixed = if is_negative { "-".to_owned() } else { String::new() };
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            fixed.push(',');
        }
        fixed.push(digit);
    }
    if !fraction.is_empty() {
        fixed.push('.');
        fixed.push_str(fraction);
    }
    fixed
}

/// Returns a time given in ns with the unit that suits it: `950 ns`, `1.50 µs`, `3.96 s`.
pub fn time(ns: f64) -> String {
    scaled(ns, TIMES)
}

/// Units of time, with their size (ns).
pub const TIMES: &[(f64, &str)] = &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];

/// Returns a value in the unit that suits it. The units are ascending, each with its size.
pub fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // What rounds to 1,000 of a unit is 1 of the next one.
    let suits = |(size, _): &&(f64, &str)| value.abs() >= 0.9995 * size;
    let (size, unit) = *units.iter().rfind(suits).unwrap_or(&units[0]);
    format!("{} {unit}", digits(value / size)).trim_end().to_owned()
}

/// Returns a duration given in seconds, for a sentence: `42 s`, `5 min`, `5.6 h`, `10.4 days`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7_200.0 => format!("{:.0} min", seconds / 60.0),
        ..360_000.0 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_have_three_significant_digits() {
        let shown = [0.0, 0.012_34, 0.5, 1.0, 14.26, 430.4, 1_400.0, 12_345.0, 1.5e6].map(rounded);
        let expected = ["0", "0.0123", "0.5", "1", "14.3", "430", "1,400", "12,300", "1,500,000"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn thousands_are_grouped() {
        let shown = [0.0, 999.0, 1_000.0, -1_234_567.0, -0.4, 4_294_967_295.0].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "-1,234,567", "0", "4,294,967,295"]);
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!([0.0, 0.456, 42.16, 12_345.0].map(digits), ["0", "0.46", "42.2", "12,345"]);
    }

    #[test]
    fn tables_keep_what_there_is() {
        let shown = [0.0, 22_804.18, 123.45, 12.345, 1.234, 0.0583, 0.000_4].map(figure);
        assert_eq!(shown, ["0", "22804", "123.5", "12.35", "1.23", "0.058", "0.000"]);
        let shown = [0.0, 1.234, 0.0583, 0.001_46, 2.3e-9].map(figure_however_small);
        assert_eq!(shown, ["0", "1.23", "0.058", "1.46e-3", "2.30e-9"]);
        assert_eq!(
            [0.0, 1.389, 9.493e-4, 2e6].map(significant),
            ["0", "1.389", "9.493e-4", "2.000e6"]
        );
        let shown = [1_234.5, 47.0, 47.25, 4.725, 0.5, 0.000_5].map(published);
        assert_eq!(shown, ["1,234", "47", "47.2", "4.72", "0.500", "5.00e-4"]);
    }

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let shown = [0.0, 950.0, 999.9, 25.25e6, 3.96e9].map(time);
        assert_eq!(shown, ["0 ns", "950 ns", "1.00 µs", "25.2 ms", "3.96 s"]);
        assert_eq!(scaled(100.0, &[(1.0, "")]), "100");
        let shown = [42.0, 300.0, 20_000.0, 900_000.0].map(duration);
        assert_eq!(shown, ["42 s", "5 min", "5.6 h", "10.4 days"]);
    }
}
