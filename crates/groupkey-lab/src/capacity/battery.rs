//! Batteries, and how many changes of the key they last for.

use std::str::FromStr;
use std::{error, fmt};

use groupkey::catalogue::Scheme;

use super::change::{Change, Circumstances, Obstacle, changes};
use crate::bench::energy::{CR123A_JOULE, battery_actions};
use crate::device::Board;
use crate::statistics::Deviation;

/// A battery.
#[derive(Clone, Debug, PartialEq)]
pub struct Battery {
    /// Its name: a built-in one, or the number of joules as written.
    pub name: String,
    /// Its energy (J).
    pub joule: f64,
    /// Where that comes from.
    pub source: &'static str,
}

/// A text that is no battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatteryError;

/// What drains a battery beside changes of the key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drain {
    /// Changes of the key a day.
    pub changes_per_day: f64,
    /// Whether the board's idle power counts, too.
    pub with_idle: bool,
}

/// How long a battery lasts with a scheme.
#[derive(Clone, Debug)]
pub struct Life {
    /// The scheme.
    pub scheme: &'static Scheme,
    /// What a change takes, or why that is not known.
    pub change: Result<Change, Obstacle>,
    /// Changes until the battery is empty, if it feeds nothing else: S004 section V.C.
    pub changes: Option<Deviation>,
    /// Days until the battery is empty.
    pub days: Option<f64>,
}

/// Returns how long a battery lasts, scheme by scheme: those first with which it lasts longest.
pub fn lives(board: &Board, battery: &Battery, drain: Drain, at: &Circumstances) -> Vec<Life> {
    let life = |(scheme, change): (&'static Scheme, Result<Change, Obstacle>)| {
        let joule = change.as_ref().ok().map(Change::joule).filter(|joule| joule.value > 0.0);
        let changes = joule.map(|joule| {
            let efficiency =
                Deviation { value: 1.0 / joule.value, error: joule.error / joule.value.powi(2) };
            battery_actions(battery.joule, efficiency)
        });
        let days = change.as_ref().ok().and_then(|change| {
            let of_a_day = drain.joule_of_a_day(board, change);
            (of_a_day > 0.0).then(|| battery.joule / of_a_day)
        });
        Life { scheme, change, changes, days }
    };
    let mut lives: Vec<Life> = changes(board, at).into_iter().map(life).collect();
    lives.sort_by(|one, other| {
        let count = |life: &Life| life.changes.map_or(f64::NEG_INFINITY, |changes| changes.value);
        count(other).total_cmp(&count(one))
    });
    lives
}

impl Drain {
    /// Returns the energy of a day (J).
    pub fn joule_of_a_day(self, board: &Board, change: &Change) -> f64 {
        let idle = if self.with_idle { board.power.idle.watt * 86_400.0 } else { 0.0 };
        change.joule().value * self.changes_per_day + idle
    }
}

impl Battery {
    /// Returns the built-in batteries.
    pub fn all() -> [Self; 4] {
        BUILT_IN.map(|(name, joule, source)| Self { name: name.to_owned(), joule, source })
    }
}

/// New, and drained to the end: a real battery gives less at low temperatures and high currents.
const BUILT_IN: [(&str, f64, &str); 4] = [
    ("cr123a", CR123A_JOULE, "published: S004 section V.C, 4.65 kJ"),
    ("cr2032", 2_400.0, "assumed: 225 mAh at 2.96 V, typical"),
    ("2xaa", 21_600.0, "assumed: two alkaline cells of 2,500 mAh at 1.2 V each, typical"),
    ("18650", 33_700.0, "assumed: 2,600 mAh at 3.6 V, typical"),
];

impl FromStr for Battery {
    type Err = BatteryError;

    fn from_str(text: &str) -> Result<Self, BatteryError> {
        let text = text.trim();
        if let Some(known) = Self::all().into_iter().find(|known| known.name == text) {
            return Ok(known);
        }
        let joule = text.parse().ok().filter(|joule: &f64| joule.is_finite() && *joule > 0.0);
        let joule = joule.ok_or(BatteryError)?;
        Ok(Self { name: text.to_owned(), joule, source: "given" })
    }
}

impl fmt::Display for BatteryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = BUILT_IN.map(|(name, ..)| name).join(", ");
        write!(f, "expected {known}, or a number of joules above 0")
    }
}

impl error::Error for BatteryError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn circumstances(members: u32) -> Circumstances {
        Circumstances { members, suite: "standard".to_owned(), guard: "mac".to_owned(), qos: 1 }
    }

    fn lives_on(board: &str, drain: Drain, members: u32) -> Vec<Life> {
        let board = Board::named(board).expect("built in");
        let battery = "cr123a".parse().expect("built in");
        lives(&board, &battery, drain, &circumstances(members))
    }

    const ONCE: Drain = Drain { changes_per_day: 1.0, with_idle: false };

    #[test]
    fn every_scheme_has_a_line_and_the_longest_life_comes_first() {
        let lives = lives_on("nrf52840", ONCE, 100);
        assert_eq!(lives.len(), groupkey::catalogue::SCHEMES.len());
        let counts: Vec<f64> = lives.iter().map_while(|l| l.changes.map(|c| c.value)).collect();
        assert!(counts.len() > 20 && counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
        for life in &lives {
            assert_eq!(life.change.is_ok(), life.changes.is_some(), "{}", life.scheme.id);
        }
        let place = |id| lives.iter().position(|life| life.scheme.id == id).expect("in the list");
        assert!(place("skdc") < place("tgdh") || lives[place("tgdh")].change.is_err());
    }

    #[test]
    fn idling_shortens_a_life_in_days_and_not_in_changes() {
        let idle = Drain { with_idle: true, ..ONCE };
        let [with, without] = [idle, ONCE].map(|drain| {
            let lives = lives_on("esp32", drain, 50);
            lives.into_iter().find(|life| life.scheme.id == "skdc").expect("in the list")
        });
        assert_eq!(with.changes, without.changes);
        // 0.205 W empty 4,650 J in a quarter of a day.
        assert!(with.days.expect("it has one") < 0.27);
        let (days, changes) = (without.days.expect("some"), without.changes.expect("some").value);
        assert!((days / changes - 1.0).abs() < 1e-9);
    }

    #[test]
    fn batteries_are_named_or_in_joules() {
        assert_eq!("cr123a".parse::<Battery>().map(|battery| battery.joule), Ok(4_650.0));
        assert_eq!("1e3".parse::<Battery>().map(|battery| battery.joule), Ok(1_000.0));
        for wrong in ["", "0", "-1", "inf", "NaN", "potato"] {
            assert_eq!(wrong.parse::<Battery>(), Err(BatteryError), "{wrong}");
        }
        assert!(BatteryError.to_string().contains("2xaa"));
    }
}
