//! Numbers on the command line: accepted values, and messages for all others.

use std::ops::RangeInclusive;

use groupkey_choose::number::grouped;
use groupkey_lab::conditions::Conditions;

/// Parses a share of packets in per cent.
pub(crate) fn loss(text: &str) -> Result<f64, String> {
    condition(text, |loss_percent| Conditions { loss_percent, ..Conditions::default() })
}

/// Parses a delay in milliseconds.
pub(crate) fn delay(text: &str) -> Result<f64, String> {
    condition(text, |delay_ms| Conditions { delay_ms, ..Conditions::default() })
}

/// Parses a variation of the delay in milliseconds.
pub(crate) fn jitter(text: &str) -> Result<f64, String> {
    condition(text, |jitter_ms| Conditions { jitter_ms, ..Conditions::default() })
}

/// Parses a bandwidth in kbit/s; infinite if there is no limit.
pub(crate) fn bandwidth(text: &str) -> Result<f64, String> {
    condition(text, |rate| Conditions {
        bandwidth_kbit_s: Some(rate).filter(|rate| *rate != f64::INFINITY),
        ..Conditions::default()
    })
}

/// Parses the mean length of a burst of losses in milliseconds.
pub(crate) fn burst(text: &str) -> Result<f64, String> {
    condition(text, |ms| Conditions { burst_ms: Some(ms), ..Conditions::default() })
}

/// Parses a number above 0: how often an hour, or how many seconds.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|rate: &f64| *rate > 0.0 && rate.is_finite());
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

pub(crate) fn whole(
    bounds: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.trim().parse().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| {
            let [least, most] = [*bounds.start(), *bounds.end()].map(|bound| grouped(bound.into()));
            format!("expected a whole number from {least} to {most}")
        })
    }
}

pub(crate) fn quality_of_service(text: &str) -> Result<u8, String> {
    let number = text.trim().parse().ok().filter(|number| *number <= 2);
    number.ok_or_else(|| "expected 0, 1 or 2".to_owned())
}

/// Parses a scheme's parameter: `name=value`.
pub(crate) fn parameter(text: &str) -> Result<(String, u32), String> {
    let (name, value) = text.split_once('=').ok_or("expected name=value, as in degree=2")?;
    let value = value.parse().map_err(|_| format!("{value:?} is not a whole number"))?;
    Ok((name.to_owned(), value))
}

/// Returns the list without its repetitions, in its own order.
pub(crate) fn distinct<T: PartialEq>(list: &[T]) -> Vec<&T> {
    let mut distinct: Vec<&T> = Vec::new();
    for item in list {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

/// Parses a number that a link can have as this condition. The laboratory checks the number.
fn condition(text: &str, set: impl Fn(f64) -> Conditions) -> Result<f64, String> {
    let number: f64 = text.trim().parse().map_err(|_| "expected a number".to_owned())?;
    set(number).validate().map_err(|error| error.to_string())?;
    // Adding zero turns -0 into 0, which prints as people write it.
    Ok(number + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_range_are_accepted() {
        assert_eq!(loss("0"), Ok(0.0));
        assert_eq!(loss("2.5"), Ok(2.5));
        assert_eq!(loss("100"), Ok(100.0));
        assert_eq!(delay("1e3"), Ok(1_000.0));
        assert_eq!(loss("-0").map(f64::is_sign_negative), Ok(false));
        assert!(bandwidth("inf").is_ok(), "no limit");
    }

    #[test]
    fn all_else_is_refused() {
        for text in ["", " ", "NaN", "inf", "-inf", "-1", "100.1", "5%", "1e999", "0x10", "five"] {
            assert!(loss(text).is_err(), "{text:?}");
        }
        for text in ["NaN", "inf", "-1", "1e300"] {
            assert!(delay(text).is_err(), "{text:?}");
            assert!(jitter(text).is_err(), "{text:?}");
        }
        assert!(bandwidth("0").is_err());
        assert!(bandwidth("-inf").is_err());
        assert!(burst("0").is_err());
    }

    #[test]
    fn a_whole_number_is_refused_with_both_bounds() {
        let members = whole(2..=100_000);
        assert_eq!((members("2"), members(" 100000 ")), (Ok(2), Ok(100_000)));
        for text in ["0", "1", "100001", "1e9", "-5", "2.5", "", "99999999999999999999"] {
            let refused = Err("expected a whole number from 2 to 100,000".to_owned());
            assert_eq!(members(text), refused, "{text:?}");
        }
    }

    #[test]
    fn there_are_three_qualities_of_service() {
        assert_eq!(["0", "1", " 2"].map(quality_of_service), [Ok(0), Ok(1), Ok(2)]);
        for text in ["3", "-1", "1.0", "x", ""] {
            assert_eq!(quality_of_service(text), Err("expected 0, 1 or 2".to_owned()), "{text:?}");
        }
    }

    #[test]
    fn parameters_have_a_name_and_a_value() {
        assert_eq!(parameter("degree=2"), Ok(("degree".to_owned(), 2)));
        for text in ["degree", "degree=", "degree=x", "degree=-1", "degree=4294967296"] {
            assert!(parameter(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn repetitions_are_harmless() {
        assert_eq!(distinct(&[5, 1, 5, 2, 1]), [&5, &1, &2]);
    }
}
