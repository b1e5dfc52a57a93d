//! The name, colour and mark of each scheme, the same in every figure.

use crate::results::NetworkRow;

/// A scheme as the figures show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scheme {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) family: Family,
    /// Number of the page's colour: CSS class `s0` to `s6`.
    pub(super) colour: usize,
    pub(super) mark: Mark,
}

/// The two kinds of schemes whose figures the study keeps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// A controller makes the key and sends it out.
    Centralized,
    /// Every member contributes to the key.
    Contributory,
}

/// Shapes that a reader can tell apart without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Circle,
    Diamond,
    Hexagon,
    Pennant,
    Square,
    Triangle,
}

impl Mark {
    pub(super) const ALL: [Self; 6] =
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Hexagon, Self::Pennant];

    /// Returns the SVG path around the origin, about 9 units wide.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Circle => "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z",
            Self::Diamond => "M0-5.4 5 0 0 5.4-5 0z",
            Self::Hexagon => "M-2.6-4.5h5.2L5.2 0 2.6 4.5h-5.2L-5.2 0z",
            Self::Pennant => "M-4.8-3.7h9.6L0 4.9z",
            Self::Square => "M-3.9-3.9h7.8v7.8h-7.8z",
            Self::Triangle => "M0-4.9 4.8 3.7h-9.6z",
        }
    }
}

/// Returns the schemes of the rows: the study's own in its order, then any others in the rows'
/// order.
pub(super) fn of_rows(rows: &[NetworkRow]) -> Vec<Scheme> {
    let mut ids: Vec<&str> = Vec::new();
    for row in rows {
        if !ids.contains(&row.setting.scheme.as_str()) {
            ids.push(&row.setting.scheme);
        }
    }

    let mut schemes: Vec<Scheme> = STUDY
        .iter()
        .flat_map(|known| ids.iter().filter(|id| known.is(id)).map(|id| known.scheme(id)))
        .collect();
    let strangers: Vec<&str> =
        ids.into_iter().filter(|id| !STUDY.iter().any(|known| known.is(id))).collect();
    for (index, id) in strangers.into_iter().enumerate() {
        schemes.push(Scheme {
            id: id.to_owned(),
            label: id.to_owned(),
            family: Family::Centralized,
            colour: STUDY.len() + index % 2,
            mark: if index % 2 == 0 { Mark::Pennant } else { Mark::Hexagon },
        });
    }
    schemes
}

/// A scheme of the study.
struct Known {
    /// The start of its id, without case and punctuation.
    letters: &'static str,
    label: &'static str,
    family: Family,
    colour: usize,
    mark: Mark,
}

impl Known {
    fn is(&self, id: &str) -> bool {
        let letters: String = id
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        letters.starts_with(self.letters)
    }

    fn scheme(&self, id: &str) -> Scheme {
        Scheme {
            id: id.to_owned(),
            label: self.label.to_owned(),
            family: self.family,
            colour: self.colour,
            mark: self.mark,
        }
    }
}

const STUDY: [Known; 5] = [
    Known {
        letters: "skdc",
        label: "SKDC",
        family: Family::Centralized,
        colour: 0,
        mark: Mark::Circle,
    },
    Known {
        letters: "lkhgroup",
        label: "LKH group-oriented",
        family: Family::Centralized,
        colour: 1,
        mark: Mark::Square,
    },
    Known {
        letters: "lkhuser",
        label: "LKH user-oriented",
        family: Family::Centralized,
        colour: 2,
        mark: Mark::Triangle,
    },
    Known {
        letters: "lkhkey",
        label: "LKH key-oriented",
        family: Family::Centralized,
        colour: 3,
        mark: Mark::Diamond,
    },
    Known {
        letters: "gdh",
        label: "G-DH",
        family: Family::Contributory,
        colour: 4,
        mark: Mark::Hexagon,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_known_however_they_are_written() {
        for (id, label) in [("skdc", "SKDC"), ("LKH_user", "LKH user-oriented"), ("g-dh", "G-DH")] {
            let known = STUDY.iter().find(|known| known.is(id));
            assert_eq!(known.map(|known| known.label), Some(label));
        }
        assert!(!STUDY.iter().any(|known| known.is("oft")));
    }
}
