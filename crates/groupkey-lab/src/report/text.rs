//! Formats times, ratios and words for readers: three digits, units, and the field's terms.

use groupkey_choose::number::{self, fixed};

/// Formats a time given in ms.
pub(super) fn time(ms: f64) -> String {
    match ms {
        0.0 => "0 ms".to_owned(),
        _ if ms.is_finite() => number::time(1e6 * ms),
        _ => "not run".to_owned(),
    }
}

/// Formats an amount of bytes.
pub(super) fn bytes(value: f64) -> String {
    number::scaled(value, &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")])
}

pub(super) fn energy(joule: f64) -> String {
    number::scaled(joule, &[(1e-9, "nJ"), (1e-6, "µJ"), (1e-3, "mJ"), (1.0, "J")])
}

/// Formats the label of a tick: an amount without trailing zeros.
pub(super) fn tick(amount: &str) -> String {
    let (number, unit) = amount.split_once(' ').unwrap_or((amount, ""));
    let unit = if number == "0" { "" } else { unit };
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{number} {unit}").trim_end().to_owned()
}

/// Formats a ratio: `0.87`, `5.1`, `42`.
pub(super) fn factor(value: f64) -> String {
    let decimals = match value {
        v if v < 2.0 => 2,
        v if v < 20.0 => 1,
        _ => 0,
    };
    fixed(value, decimals)
}

/// Returns an operation as a noun: `creation`, `join`, `leave`.
pub(super) fn operation(id: &str) -> &str {
    match id {
        "add" => "join",
        "create" => "creation",
        "remove" => "leave",
        other => other,
    }
}

/// Returns the text with a capital first letter.
pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Escapes a text for HTML and SVG, in text and in quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_no_trailing_zeros() {
        for (amount, expected) in
            [("50.0 B", "50 B"), ("2.50 ms", "2.5 ms"), ("100", "100"), ("0 ns", "0")]
        {
            assert_eq!(tick(amount), expected);
        }
    }

    #[test]
    fn ratios_have_fewer_decimals_the_larger_they_are() {
        assert_eq!(factor(5.08), "5.1");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escaped("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }
}
