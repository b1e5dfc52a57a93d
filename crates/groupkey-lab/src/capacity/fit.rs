//! Which schemes fit on a board, in groups of which size, and what the others lack.

use groupkey::catalogue::Scheme;
use groupkey_choose::Variant;
use groupkey_choose::memory::Memory;

use super::battery::{Battery, Drain};
use super::change::{Change, Circumstances, Obstacle, changes};
use crate::device::Board;

/// A scheme on a board, in a group of one size.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The scheme.
    pub scheme: &'static Scheme,
    /// Members.
    pub members: u32,
    /// What a change takes, or why that is not known.
    pub change: Result<Change, Obstacle>,
    /// Working memory of the member's program, without its network: stack, heap and static
    /// variables (bytes).
    pub working: Need,
    /// Program memory, without its network (bytes).
    pub flash: Need,
    /// What is short.
    pub shortages: Vec<Shortage>,
}

/// How much a member needs of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Need {
    /// So much, counted on the processor that stands for the board's.
    Counted(f64),
    /// At least so much: not all of it was counted, or in smaller groups alone.
    AtLeast(f64),
    /// Not counted.
    Unknown,
}

/// What is short on a board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortage {
    /// What it is.
    pub of: Resource,
    /// What the member needs, in the resource's unit.
    pub needed: f64,
    /// What there is.
    pub available: f64,
}

/// What a board has a limited amount of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Working memory (bytes).
    Ram,
    /// Program memory (bytes).
    Flash,
    /// Energy of a day (J).
    Energy,
}

/// Whether a member fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was counted, and nothing is short.
    Fits,
    /// Nothing that is known is short, but not everything is known.
    Open,
    /// Something is short.
    DoesNotFit,
    /// The scheme has no group of this size, or none was counted.
    NoGroup,
}

/// How long a battery must last.
#[derive(Clone, Debug, PartialEq)]
pub struct Endurance {
    /// The battery.
    pub battery: Battery,
    /// What drains it.
    pub drain: Drain,
    /// How long it must last (days).
    pub days: f64,
}

/// Returns how each scheme fits on a board, in the catalogue's order.
pub fn fits(board: &Board, at: &Circumstances, endurance: Option<&Endurance>) -> Vec<Fit> {
    let fit = |(scheme, change): (&'static Scheme, Result<Change, Obstacle>)| {
        let (working, flash) = needs(board, scheme, &change, at);
        let mut shortages = Vec::new();
        let parts = [
            (Resource::Ram, working.bytes(), board.ram.available() as f64),
            (Resource::Flash, flash.bytes(), board.flash.available() as f64),
            energy(board, &change, endurance),
        ];
        for (of, needed, available) in parts {
            if let Some(needed) = needed.filter(|needed| *needed > available) {
                shortages.push(Shortage { of, needed, available });
            }
        }
        Fit { scheme, members: at.members, change, working, flash, shortages }
    };
    changes(board, at).into_iter().map(fit).collect()
}

/// Returns the energy of a day, and what the battery gives for each.
fn energy(
    board: &Board,
    change: &Result<Change, Obstacle>,
    endurance: Option<&Endurance>,
) -> (Resource, Option<f64>, f64) {
    let Some(Endurance { battery, drain, days }) = endurance else {
        return (Resource::Energy, None, f64::INFINITY);
    };
    let needed = change.as_ref().ok().map(|change| drain.joule_of_a_day(board, change));
    (Resource::Energy, needed, battery.joule / days)
}

fn needs(
    board: &Board,
    scheme: &Scheme,
    change: &Result<Change, Obstacle>,
    at: &Circumstances,
) -> (Need, Need) {
    let variant = Variant {
        scheme: scheme.id.to_owned(),
        suite: at.suite.clone(),
        guard: at.guard.clone(),
        ..Variant::default()
    };
    let known = Memory::of(Memory::shipped(), &variant, &board.counts.device);
    let least = change.as_ref().map_or(0.0, |change| change.keys + change.largest);
    let working = match known.and_then(|known| known.at(at.members)) {
        Some(counted) if !counted.is_extrapolated => Need::Counted(counted.value),
        Some(of_smaller) => Need::AtLeast(of_smaller.value.max(least)),
        None if least > 0.0 => Need::AtLeast(least),
        None => Need::Unknown,
    };
    let flash = known.and_then(|known| known.flash).map(Need::Counted);
    (working, flash.unwrap_or(Need::Unknown))
}

impl Fit {
    /// Returns whether the member fits.
    pub fn verdict(&self) -> Verdict {
        let is_known = |need: Need| matches!(need, Need::Counted(_));
        match &self.change {
            Err(_) => Verdict::NoGroup,
            Ok(_) if !self.shortages.is_empty() => Verdict::DoesNotFit,
            Ok(_) if is_known(self.working) && is_known(self.flash) => Verdict::Fits,
            Ok(_) => Verdict::Open,
        }
    }
}

impl Need {
    /// Returns the number, whatever it rests on.
    pub const fn bytes(self) -> Option<f64> {
        match self {
            Self::Counted(bytes) | Self::AtLeast(bytes) => Some(bytes),
            Self::Unknown => None,
        }
    }

    /// Returns what the number rests on, in a word.
    pub const fn ground(self) -> &'static str {
        match self {
            Self::Counted(_) => "counted",
            Self::AtLeast(_) => "at-least",
            Self::Unknown => "unknown",
        }
    }
}

impl Shortage {
    /// Returns by how much it is short, in the resource's unit.
    pub fn by(self) -> f64 {
        self.needed - self.available
    }

    /// Returns by how much it is short, in per cent of what there is.
    pub fn percent(self) -> f64 {
        100.0 * self.by() / self.available
    }
}

impl Resource {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ram => "ram",
            Self::Flash => "flash",
            Self::Energy => "energy",
        }
    }

    /// Returns the unit of its amounts.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Ram | Self::Flash => "B",
            Self::Energy => "J a day",
        }
    }
}

impl Verdict {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Open => "open",
            Self::DoesNotFit => "does-not-fit",
            Self::NoGroup => "no-group",
        }
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::SCHEMES;

    use super::*;

    fn fits_on(board: &str, members: u32, endurance: Option<&Endurance>) -> Vec<Fit> {
        let board = Board::named(board).expect("built in");
        let at = Circumstances {
            members,
            suite: "standard".to_owned(),
            guard: "mac".to_owned(),
            qos: 1,
        };
        fits(&board, &at, endurance)
    }

    fn of(fits: Vec<Fit>, id: &str) -> Fit {
        fits.into_iter().find(|fit| fit.scheme.id == id).expect("no scheme is left out")
    }

    #[test]
    fn no_scheme_is_left_out_and_a_shortage_has_its_amount() {
        for board in Board::names() {
            for members in [10, 10_000] {
                let fits = fits_on(board, members, None);
                assert_eq!(fits.len(), SCHEMES.len());
                for fit in fits {
                    for short in &fit.shortages {
                        assert!(short.by() > 0.0 && short.percent() > 0.0, "{fit:?}");
                    }
                    let is_short = fit.verdict() == Verdict::DoesNotFit;
                    assert_eq!(is_short, fit.change.is_ok() && !fit.shortages.is_empty());
                }
            }
        }
    }

    /// In STR a member keeps the tree, which grows with the group.
    #[test]
    fn what_a_member_keeps_must_fit_the_working_memory() {
        let fit = of(fits_on("esp8266", 1_000, None), "str");
        let short: Vec<_> = fit.shortages.iter().map(|short| short.of).collect();
        assert_eq!((fit.verdict(), &short[..]), (Verdict::DoesNotFit, &[Resource::Ram][..]));
        let fit = of(fits_on("esp8266", 100, None), "skdc");
        assert!(fit.shortages.is_empty(), "{fit:?}");
    }

    #[test]
    fn a_scheme_without_such_a_group_says_so() {
        let fits = fits_on("nrf52840", 10_000, None);
        assert!(fits.iter().any(|fit| fit.verdict() == Verdict::NoGroup));
    }

    #[test]
    fn a_battery_must_last() {
        let endurance = |days| Endurance {
            battery: "cr123a".parse().expect("built in"),
            drain: Drain { changes_per_day: 1_000.0, with_idle: false },
            days,
        };
        let short = |days| {
            let fit = of(fits_on("nrf52840", 100, Some(&endurance(days))), "bd");
            fit.shortages.iter().any(|short| short.of == Resource::Energy)
        };
        assert!(short(3_650.0) && !short(0.1));
    }
}
