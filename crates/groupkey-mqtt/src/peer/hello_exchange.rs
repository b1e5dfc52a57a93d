//! The questions and answers of other peers that this one has verified.

use alloc::collections::{BTreeMap, VecDeque};

use groupkey::MemberId;
use rand_chacha::ChaCha20Rng;

use super::{INTERVAL, draw};

/// The hellos that a peer has sent and heard.
#[derive(Default)]
pub(super) struct Hellos {
    /// The nonce of our questions, which answers repeat.
    nonce: Option<[u8; 16]>,
    /// The last valid answer of each peer with that nonce, hashed: most are repeated as they were.
    answers: BTreeMap<MemberId, [u8; 32]>,
    /// The latest questions of each peer, the newest last.
    questions: BTreeMap<MemberId, VecDeque<PeerQuestion>>,
}

struct PeerQuestion {
    nonce: [u8; 16],
    /// Of the whole question, whose signature was valid.
    digest: [u8; 32],
    /// The earliest time of the next answer, ns.
    answered_from: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// It is answered again, because the answer may be lost.
    Again,
    First,
    TooSoon,
}

impl Hellos {
    pub(super) fn nonce(&mut self, rng: &mut ChaCha20Rng) -> [u8; 16] {
        if self.nonce.is_none() {
            self.answers.clear();
        }
        *self.nonce.get_or_insert_with(|| draw(rng))
    }

    /// Asks by a new nonce from now on: only answers to later questions count.
    pub(super) const fn renew(&mut self) {
        self.nonce = None;
    }

    pub(super) fn is_ours(&self, nonce: [u8; 16]) -> bool {
        self.nonce == Some(nonce)
    }

    /// Returns whether a peer has sent the same hello before, with a valid signature.
    pub(super) fn is_repeated(&self, member: MemberId, digest: &[u8; 32]) -> bool {
        let asked = self.questions.get(&member);
        self.answers.get(&member) == Some(digest)
            || asked.is_some_and(|asked| asked.iter().any(|known| known.digest == *digest))
    }

    pub(super) fn note_answer(&mut self, member: MemberId, digest: [u8; 32]) {
        self.answers.insert(member, digest);
    }

    /// Notes a valid question. Limits the answers to each: a question that is repeated by somebody
    /// else takes no other one's answers.
    pub(super) fn note_question(
        &mut self,
        member: MemberId,
        nonce: [u8; 16],
        digest: [u8; 32],
        now: u64,
    ) -> AnswerKind {
        let asked = self.questions.entry(member).or_default();
        let answered_from = now.saturating_add(INTERVAL / 2);
        match asked.iter_mut().find(|known| known.nonce == nonce) {
            Some(known) if now < known.answered_from => AnswerKind::TooSoon,
            Some(known) => {
                known.answered_from = answered_from;
                AnswerKind::Again
            }
            None => {
                if asked.len() == QUESTIONS {
                    asked.pop_front();
                }
                asked.push_back(PeerQuestion { nonce, digest, answered_from });
                AnswerKind::First
            }
        }
    }
}

/// The maximum number of questions of one peer to remember.
const QUESTIONS: usize = 64;

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn a_question_is_answered_once_in_an_interval() {
        let (mut hellos, peer) = (Hellos::default(), MemberId(1));
        let mut ask = |nonce: u8, now| hellos.note_question(peer, [nonce; 16], [nonce; 32], now);
        assert_eq!(ask(1, 0), AnswerKind::First);
        assert_eq!(ask(1, 1), AnswerKind::TooSoon);
        assert_eq!(ask(2, 1), AnswerKind::First);
        assert_eq!(ask(1, INTERVAL / 2), AnswerKind::Again);
        // The oldest question makes room.
        (3..=QUESTIONS as u8 + 1).for_each(|nonce| assert_eq!(ask(nonce, 2), AnswerKind::First));
        assert_eq!(ask(1, 3), AnswerKind::First);
        assert!(!hellos.is_repeated(peer, &[2; 32]) && hellos.is_repeated(peer, &[3; 32]));
        assert!(!hellos.is_repeated(MemberId(2), &[3; 32]));
    }

    #[test]
    fn answers_to_earlier_questions_do_not_count() {
        let (mut hellos, mut rng) = (Hellos::default(), ChaCha20Rng::seed_from_u64(1));
        let first = hellos.nonce(&mut rng);
        assert!(hellos.is_ours(first) && hellos.nonce(&mut rng) == first);
        hellos.note_answer(MemberId(1), [7; 32]);
        assert!(hellos.is_repeated(MemberId(1), &[7; 32]));
        hellos.renew();
        assert!(!hellos.is_ours(first));
        assert_ne!(hellos.nonce(&mut rng), first);
        assert!(!hellos.is_repeated(MemberId(1), &[7; 32]));
    }
}
