//! What operators sign for a group without a controller.

use alloc::vec::Vec;

use groupkey::crypto::meter::Meter;
use groupkey::event_order::{eviction, ticket};
use groupkey::protection::Guard;
use groupkey::{Context, Epoch, Instance, MemberId, Outbox};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::settings::operator_at;
use crate::group_form::GroupForm;
use crate::keyring::{Keyring, Secret};

/// An operator's word. It is no secret, any peer may pass it on, and as often as it likes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorWord {
    /// A ticket: this peer may join, although it was evicted in this epoch or earlier.
    Admit {
        /// The peer.
        member: MemberId,
        /// The epoch of its last eviction; 0 for a peer that never was evicted.
        epoch: Epoch,
        /// Other peers that were evicted: a peer that was never in the group learns so whom not to
        /// follow. At most 4,096.
        evicted: Vec<MemberId>,
    },
    /// This member is evicted.
    Evict {
        /// The member.
        member: MemberId,
        /// An epoch in which it is a member, not later than the group's.
        epoch: Epoch,
        /// The epoch that a later ticket must name: later than `epoch`, and than every ticket for it
        /// has named.
        since: Epoch,
    },
}

impl OperatorWord {
    /// Signs the word for a group of this form under this prefix of topics. Returns `None` if the
    /// operator's key is not among the group's `operators`.
    pub fn sign(
        &self,
        form: &GroupForm,
        prefix: &str,
        operators: &[[u8; 32]],
        operator: &Secret,
    ) -> Option<Vec<u8>> {
        let public = operator.public();
        let place = operators.iter().position(|known| *known == public)?;
        let me = operator_at(u32::try_from(place).ok()?);
        let mut keyring = Keyring::default();
        keyring.own(me, operator);
        let protection = keyring.protection(Guard::Signature, me)?;
        // Nothing is drawn.
        let mut rng = ChaCha20Rng::from_seed([0; 32]);
        let (mut outbox, mut meter) = (Outbox::new(), Meter::new());
        let setting = form.setting(prefix, Instance::default());
        let mut cx = Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut meter);
        match self {
            Self::Admit { member, epoch, evicted } => ticket(&mut cx, *epoch, *member, evicted),
            Self::Evict { member, epoch, since } => eviction(&mut cx, *epoch, *member, *since),
        }
        outbox.messages().next().map(|message| message.bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue;
    use groupkey::event_order::{admits, evicts};

    use super::*;

    #[test]
    fn a_word_names_its_member_and_is_by_an_operator() {
        let form = GroupForm::of(catalogue::scheme("tgdh").unwrap());
        let (operator, other) = (Secret::from_bytes([1; 32]), Secret::from_bytes([2; 32]));
        let (member, epoch) = (MemberId(4), Epoch(7));
        let admit = OperatorWord::Admit { member, epoch, evicted: vec![MemberId(5)] };
        let evict = OperatorWord::Evict { member, epoch, since: Epoch(8) };
        for operators in [vec![operator.public()], vec![other.public(), operator.public()]] {
            let sign = |word: &OperatorWord| word.sign(&form, "p", &operators, &operator).unwrap();
            let (admit, evict) = (sign(&admit), sign(&evict));
            assert_eq!((admits(&admit), evicts(&admit)), (Some(member), None));
            assert_eq!((admits(&evict), evicts(&evict)), (None, Some(member)));
        }
        assert_eq!(admit.sign(&form, "p", &[other.public()], &operator), None);
    }
}
