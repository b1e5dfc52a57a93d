//! S004's example (section III): where gamma is reduced modulo p, members compute another k.

use groupkey_lab::report::Beside;
use groupkey_lab::verdict::{Verdict, VerdictGround};

use crate::claims::ClaimDraft;
use crate::evidence::SettingComparison;
use crate::published::ComputationStudy;
use crate::role_rows::{Cells, Yardstick};

/// A group of two members with small numbers.
pub(super) struct GammaExample {
    p: u64,
    a: u64,
    primes: [u64; 2],
    k: u64,
}

impl GammaExample {
    /// Returns the numbers that S004 prints.
    pub(super) fn printed(study: &ComputationStudy) -> Self {
        let number = |key: &str| study.number(&format!("example.{key}")) as u64;
        Self {
            p: number("p"),
            a: number("a"),
            primes: [number("r1"), number("r2")],
            k: number("k"),
        }
    }

    /// Equation 3: the product of a and the members' primes, less k.
    fn gamma(&self) -> u64 {
        self.a * self.primes.iter().product::<u64>() - self.k
    }

    /// Equation 14: the same modulo p.
    fn reduced_gamma(&self) -> u64 {
        self.gamma() % self.p
    }

    /// Equation 15: what a member computes for k.
    fn k_of(&self, prime: u64, gamma: u64) -> u64 {
        (prime - gamma % prime) % self.p
    }

    /// Returns what S004 prints beside what the equations give.
    pub(super) fn beside(&self, study: &ComputationStudy) -> [Beside; 2] {
        let value = |what: &str, key: &str, ours: u64, note: &str| Beside {
            what: what.to_owned(),
            published: study.number(&format!("example.{key}")),
            error: None,
            measured: Some(ours as f64),
            modelled: None,
            unit: "",
            note: note.to_owned(),
        };
        let (gamma, first) = (self.reduced_gamma(), self.primes[0]);
        let unreduced = self.gamma();
        let note =
            format!("not reduced, gamma is {unreduced}, and k {}", self.k_of(first, unreduced));
        [
            value("gamma of the example, modulo p", "gamma", gamma, ""),
            value("k that the first member computes of it", "k1", self.k_of(first, gamma), &note),
        ]
    }

    /// Decides whether the example shows what S004 says.
    pub(super) fn verdict(&self, study: &ComputationStudy, cells: Cells<'_>) -> Verdict {
        let Self { p, k, primes: [first, _], .. } = *self;
        let (gamma, unreduced) = (self.reduced_gamma(), self.gamma());
        let wrong = self.k_of(first, gamma);
        let printed = |key: &str| study.number(&format!("example.{key}")) as u64;
        let words = format!(
            "Modulo p, gamma tells members another k: with p = {p} and k = {k} it is {}, and the first \
             member computes {}.",
            printed("gamma"),
            printed("k1")
        );
        let seen = |holds: bool, words: String| {
            move |_: Yardstick| SettingComparison::seen(holds, words.clone())
        };
        ClaimDraft::new("gamma_modulo_p", words, cells, VerdictGround::Calculation)
            .compare(
                "gamma is as printed",
                seen(gamma == printed("gamma"), format!("gamma is {gamma}")),
            )
            .compare(
                "the first member's k is as printed, and another",
                seen(
                    wrong == printed("k1") && wrong != k,
                    format!("the first member computes {wrong}"),
                ),
            )
            .compare(
                "not reduced, gamma tells every member k",
                seen(
                    self.primes.iter().all(|&prime| self.k_of(prime, unreduced) == k),
                    format!("gamma is {unreduced}, and both members compute {k}"),
                ),
            )
            .verdict()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the numbers: not reduced, gamma tells k; reduced, it does so by luck alone.
    #[test]
    fn only_a_gamma_that_is_not_reduced_tells_every_member_k() {
        let (p, mut told, mut all) = (13, 0, 0);
        for a in 1..p {
            for primes in [[5, 7], [5, 11], [7, 11]] {
                for k in 1..5 {
                    let example = GammaExample { p, a, primes, k };
                    let tells = |gamma| primes.iter().all(|&prime| example.k_of(prime, gamma) == k);
                    assert!(tells(example.gamma()), "a {a}, {primes:?}, k {k}");
                    told += u32::from(tells(example.reduced_gamma()));
                    all += 1;
                }
            }
        }
        assert!(told * 10 < all, "{told} of {all}");
    }
}
