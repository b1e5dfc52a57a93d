//! The operations of S004 and S001, with this library on the same chips: published times and
//! energies beside instructions, times and energies of ours.

use groupkey::Suite;
use groupkey::catalogue::Profile;
use groupkey_lab::bench::Deviation;
use groupkey_lab::bench::energy::gross_energy;
use groupkey_lab::device::Board;

use super::nishat::MemberCounts;
use super::tgdh;
use crate::published::ComputationStudy;

/// An operation of a study, and ours on the study's board.
#[derive(Clone, Debug, PartialEq)]
pub struct OnBoard {
    /// The study: `S004` or `S001`.
    pub study: &'static str,
    /// The operation.
    pub operation: String,
    /// The board.
    pub board: &'static str,
    /// The published time (s).
    pub published: Deviation,
    /// The energy (J) that follows from it: at S004's power in updates, or at the board's, since
    /// S001 measured none.
    pub published_joule: Deviation,
    /// Ours with the study's algorithms, in a group of numbers or a pairing of the same size.
    pub same: Ours,
    /// Ours in the sound profile, with the suite `standard`.
    pub sound: Ours,
}

/// What this library takes. This is a model: counted primitives at the board's clock and power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ours {
    /// Instructions, one after the other until the operation is complete.
    pub instructions: f64,
    /// Their time (s).
    pub seconds: f64,
    /// Their energy (J).
    pub joule: f64,
}

/// What explains the difference between a study and ours.
pub const EXPLANATIONS: [(&str, &str); 4] = [
    (
        "S004",
        "Its library is PBC 0.5.14 over GMP on an Xtensa LX6 with the pairing Type A (512 bits, symmetric, \
         about 80 bits of security). Ours is BLS12-381 (about 128 bits). An encryption of S004 must have kept \
         its pairing, and ours computes it each time. A decryption is three pairings there, and two Miller \
         loops with one final exponentiation here. An update is three powers in both, but ours also checks the \
         two elements that it receives.",
    ),
    (
        "S001",
        "Its library is a port of GMP on an Xtensa L106, over numbers of 2,048 bits. S001 does not print the \
         exponents: ours have 256 bits. The sound profile computes in ristretto255 instead, with about \
         128 bits of security. S001's times include the broadcast over MQTT, ours do not.",
    ),
    (
        "instructions",
        "Ours are counted on RV32IMAC, as a stand-in for Xtensa, and one is taken to be one cycle. A real core \
         waits for its flash, so a real time is longer.",
    ),
    (
        "energy",
        "S004 measured 0.21803 W in updates. S001 measured no power: the energy is that of the data sheet's \
         processor at work. The ratio of energies is that of times, then.",
    ),
];

/// Returns the operations of S004, then those of S001.
pub fn on_boards() -> Vec<OnBoard> {
    let mut rows = nishat();
    rows.extend(joins());
    rows
}

impl OnBoard {
    /// Returns how many times longer the study's operation takes than ours with the study's
    /// algorithms: what library, compiler and core explain.
    pub fn by_implementation(&self) -> f64 {
        self.published.value / self.same.seconds
    }

    /// Returns how many times longer ours takes with the study's algorithms than with the sound
    /// ones: what the algorithms explain.
    pub fn by_algorithm(&self) -> f64 {
        self.same.seconds / self.sound.seconds
    }
}

fn nishat() -> Vec<OnBoard> {
    let study = ComputationStudy::nishat();
    let board = Board::named("esp32").expect("built in");
    let of = |profile, suite| match MemberCounts::of(profile, suite) {
        Ok(facts) => facts,
        Err(error) => panic!("{error}"),
    };
    let same = of(Profile::Published, Suite::Published);
    let sound = of(Profile::Sound, Suite::Standard);
    let device = board.device();
    let ours = |suite, meter| {
        let costs = device.costs(suite).expect("all suites were counted");
        Ours::of(&board, costs.time(meter).value)
    };
    [
        ("encryption", "encrypt", &same.encryption, &sound.encryption),
        ("decryption", "decrypt", &same.decryption, &sound.decryption),
        ("group update", "group_update", &same.update, &sound.update),
    ]
    .into_iter()
    .map(|(operation, key, same, sound)| {
        let part = |part| study.number(&format!("seconds.{key}.{part}"));
        let published = Deviation { value: part("mean"), error: part("error") };
        OnBoard {
            study: "S004",
            operation: operation.to_owned(),
            board: "esp32",
            published,
            published_joule: gross_energy(published, board.power.active.deviation()),
            same: ours(Suite::Published, same),
            sound: ours(Suite::Standard, sound),
        }
    })
    .collect()
}

fn joins() -> Vec<OnBoard> {
    let study = ComputationStudy::tgdh();
    let board = Board::named("esp8266-board").expect("built in");
    let device = board.device();
    let of = |profile, suite| -> Vec<f64> {
        let totals = match tgdh::totals_on(&device, profile, suite) {
            Ok(totals) => totals,
            Err(error) => panic!("{error}"),
        };
        (2..=5)
            .map(|members| tgdh::join_computation_s(&totals, members).unwrap_or(f64::NAN))
            .collect()
    };
    let same = of(Profile::Published, Suite::Published2048);
    let sound = of(Profile::Sound, Suite::Standard);
    (2..=5)
        .zip(same.into_iter().zip(sound))
        .map(|(members, (same, sound))| {
            let value = study.number(&format!("join_total_s.m{members}"));
            let published = Deviation { value, error: 0.0 };
            OnBoard {
                study: "S001",
                operation: format!("join of member {members}"),
                board: "esp8266",
                published,
                published_joule: gross_energy(published, board.power.active.deviation()),
                same: Ours::of(&board, same),
                sound: Ours::of(&board, sound),
            }
        })
        .collect()
}

impl Ours {
    fn of(board: &Board, seconds: f64) -> Self {
        let rate = board.clock.hertz as f64 * board.clock.instructions_per_cycle;
        let joule = seconds * board.power.active.watt;
        Self { instructions: seconds * rate, seconds, joule }
    }
}

#[cfg(test)]
mod tests {
    use groupkey::crypto::meter::Primitive;

    use super::*;

    #[test]
    fn the_operations_of_both_studies_are_there() {
        let rows = on_boards();
        let told: Vec<_> = rows.iter().map(|row| (row.study, row.operation.as_str())).collect();
        assert_eq!(
            told[..3],
            [("S004", "encryption"), ("S004", "decryption"), ("S004", "group update")]
        );
        assert_eq!(told[3..].len(), 4);
        for row in &rows {
            for ours in [row.same, row.sound] {
                assert!(
                    ours.seconds > 0.0 && ours.instructions > 0.0 && ours.joule > 0.0,
                    "{row:?}"
                );
            }
            let all = row.published.value / row.sound.seconds;
            assert!((row.by_implementation() * row.by_algorithm() / all - 1.0).abs() < 1e-9);
        }
    }

    /// An update is three powers in G1, as in S004, and the check of two received elements.
    #[test]
    fn an_update_takes_three_powers_and_two_checks() {
        let update = &on_boards()[2];
        for (suite, ours) in [(Suite::Published, update.same), (Suite::Standard, update.sound)] {
            let device = Board::named("esp32").expect("built in").device();
            let costs = device.costs(suite).expect("counted");
            let seconds = |primitive| costs.of(primitive).per_call_ns * 1e-9;
            let (power, check) = (seconds(Primitive::ExponentiateG1), seconds(Primitive::CheckG2));
            let expected = 3.0 * power + 2.0 * check;
            assert!((ours.seconds / expected - 1.0).abs() < 0.1, "{ours:?}, {power}, {check}");
        }
    }
}
