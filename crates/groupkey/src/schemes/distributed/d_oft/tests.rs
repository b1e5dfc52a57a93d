//! As published, an evicted party and a party that joined later together have a key of the time
//! between. After the repair no such pair has one.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::context::{PeerKeys, Setting};
use crate::crypto::Suite;
use crate::crypto::group::{Element, Exponent};
use crate::identity::{GroupId, PartyId};
use crate::mechanisms::membership::pairs;
use crate::outbox::{Channel, Outbox, Recipient};
use crate::protection::Protection;
use crate::schemes::catalogue::scheme;

struct LongTermKeys(PartyId);

impl LongTermKeys {
    fn of(party: PartyId) -> Exponent {
        Exponent::from_secret(Suite::Standard, &[party.number() as u8; 32])
    }
}

impl PeerKeys for LongTermKeys {
    fn secret(&self) -> Exponent {
        Self::of(self.0)
    }

    fn public(&self, party: PartyId) -> Option<Element> {
        Some(Self::of(party).public())
    }
}

/// The members, and what present and former members know.
struct Table {
    profile: Profile,
    members: Vec<(MemberId, Member)>,
    former: Vec<Member>,
    rng: ChaCha20Rng,
    epochs: Vec<(Key, Vec<MemberId>)>,
}

impl Table {
    fn new(profile: Profile, n: u32, seed: u8) -> Self {
        let mut table = Self {
            profile,
            members: Vec::new(),
            former: Vec::new(),
            rng: ChaCha20Rng::from_seed([seed; 32]),
            epochs: Vec::new(),
        };
        let members: Vec<_> = (0..n).map(MemberId).collect();
        members.iter().for_each(|&member| table.sit(member));
        table.event(Command::Create(&members));
        table
    }

    fn sit(&mut self, id: MemberId) {
        let configuration = scheme("d-oft").unwrap().configuration(self.profile);
        self.members.push((id, Member::new(&configuration, id)));
    }

    fn add(&mut self, id: u32) {
        self.sit(MemberId(id));
        self.event(Command::Add(MemberId(id)));
    }

    fn remove(&mut self, id: u32) {
        let place = self.members.iter().position(|(member, _)| member.0 == id).unwrap();
        let (_, leaver) = self.members.remove(place);
        self.former.push(leaver);
        self.event(Command::Remove(MemberId(id)));
    }

    fn event(&mut self, command: Command<'_>) {
        let mut wire = VecDeque::new();
        for place in 0..self.members.len() {
            self.step(place, &mut wire, |cx, member| cx.command(member, command));
        }
        while let Some((from, to, bytes)) = wire.pop_front() {
            for place in 0..self.members.len() {
                let id = self.members[place].0;
                if id != from && (to == Recipient::Group || to == Recipient::Member(id)) {
                    let open = Channel::Open;
                    self.step(place, &mut wire, |cx, member| cx.deliver(member, open, &bytes));
                }
            }
        }
        let keys = self.members.iter().map(|(_, member)| member.group_key().unwrap());
        let keys: Vec<_> = keys.collect();
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "all agree");
        let there = self.members.iter().map(|(id, _)| *id).collect();
        self.epochs.push((keys[0].1.clone(), there));
    }

    fn step(
        &mut self,
        place: usize,
        wire: &mut VecDeque<(MemberId, Recipient, Vec<u8>)>,
        act: impl FnOnce(&mut Context<'_>, &mut Member) -> Result<(), Error>,
    ) {
        let (id, member) = &mut self.members[place];
        let mut outbox = Outbox::new();
        let keys = LongTermKeys(PartyId::Member(*id));
        let (rng, mut probe) = (&mut self.rng, ());
        let me = PartyId::Member(*id);
        let none = Protection::None;
        let mut cx = Context::new(
            Setting::new(GroupId(0), Suite::Standard),
            me,
            none,
            rng,
            0,
            &mut outbox,
            &mut probe,
        )
        .with_peer_keys(&keys);
        act(&mut cx, member).unwrap();
        for message in outbox.messages() {
            wire.push_back((*id, message.to, message.bytes.to_vec()));
        }
    }

    /// Returns the epochs in which neither of two parties was a member and whose key they have
    /// together. It tries all keys that two halves' blinded secrets and what both parties know
    /// otherwise can make.
    fn stolen(&mut self, one: &[Key], other: &[Key], absent: [u32; 2]) -> Vec<usize> {
        let (mut outbox, mut probe) = (Outbox::new(), ());
        let me = PartyId::Member(MemberId(0));
        let (rng, none) = (&mut self.rng, Protection::None);
        let setting = Setting::new(GroupId(0), Suite::Standard);
        let mut cx = Context::new(setting, me, none, rng, 0, &mut outbox, &mut probe);
        let mut roots = Vec::new();
        for own in one {
            for beside in other {
                let mixed = cx.xor(own, beside);
                roots.push(cx.hash(&mixed, "groupkey d-oft mix"));
            }
        }
        let epochs = self.epochs.iter().enumerate();
        let absent = absent.map(MemberId);
        let epochs = epochs.filter(|(_, (_, there))| !absent.iter().any(|id| there.contains(id)));
        epochs
            .filter(|(number, (key, _))| {
                let epoch = Epoch(*number as u64 + 1);
                roots
                    .iter()
                    .any(|root| cx.derive_for(epoch, root, "groupkey d-oft group key") == *key)
            })
            .map(|(number, _)| number + 1)
            .collect()
    }
}

/// Member 7 is evicted in epoch 2, and member 20 joins its half in epoch 3. Member 0 leaves the
/// other half in epoch 4, and member 21 joins there in epoch 5.
fn history(profile: Profile, seed: u8) -> Table {
    let mut table = Table::new(profile, 8, seed);
    table.remove(7);
    table.add(20);
    table.remove(0);
    table.add(21);
    table
}

#[test]
fn evicted_and_newcomer_have_the_key_of_the_time_between_as_published() {
    for (profile, expected) in [(Profile::Published, &[3][..]), (Profile::Sound, &[])] {
        for seed in 1..5 {
            let mut table = history(profile, seed);
            // Each brings what it was sent last for the tree's half that it is not in.
            let evicted = table.former[0].share.as_ref().unwrap().secrets.beside.clone();
            let (id, newcomer) = table.members.last().unwrap();
            assert_eq!(*id, MemberId(21));
            let later = newcomer.share.as_ref().unwrap().secrets.beside.clone();
            assert_eq!(table.stolen(&evicted, &later, [7, 21]), expected, "{profile:?}");
        }
    }
}

#[test]
fn nothing_of_what_an_evicted_member_knew_lasts_in_the_sound_form() {
    for n in 3..18 {
        for leaver in [0, 1, n / 2, n - 1] {
            let mut table = Table::new(Profile::Sound, n, n as u8);
            table.remove(leaver);
            let known = &table.former[0].share.as_ref().unwrap().secrets.beside;
            for (id, member) in &table.members {
                let secrets = &member.share.as_ref().unwrap().secrets;
                let lasts = secrets.beside.iter().any(|blinded| known.contains(blinded));
                // It knew nothing below the half that moved up, nor in the other halves.
                assert!(!lasts, "{id} of {n} uses what {leaver} knew");
            }
        }
    }
}

/// A stranger in the directory hands a joining member a tree in which both members are very deep.
/// No answer to a request could take all keys beside such a path.
#[test]
fn a_welcome_to_too_high_a_tree_is_refused() {
    for (profile, leaves) in Profile::ALL.into_iter().flat_map(|p| [(p, 22), (p, 41)]) {
        let (mut table, mut wire) = (Table::new(profile, 2, 1), VecDeque::new());
        let (newcomer, stranger) = (MemberId(leaves - 1), MemberId(leaves - 2));
        table.sit(newcomer);
        let seat = table.members.len() - 1;
        table.step(seat, &mut wire, |cx, member| cx.command(member, Command::Add(newcomer)));
        table.sit(stranger);
        table.step(seat + 1, &mut wire, |cx, member| {
            let pair = member.pairs.with(cx, newcomer)?;
            let key = pair.message_key(cx, Epoch(7));
            let to = Recipient::Member(newcomer);
            let mut draft = cx.draft(to, Epoch(7), Operation::Add, WELCOME);
            draft.array(leaves as usize);
            (0..leaves).for_each(|id| _ = draft.number(id.into()));
            let depths: Vec<_> = (1..leaves as u8).chain([leaves as u8 - 1]).collect();
            draft.bytes(&depths);
            pairs::write(&mut draft, &key, Epoch(7), &vec![Key::default(); depths.len() - 1]);
            draft.send();
            Ok(())
        });
        let (_, _, welcome) = wire.pop_back().unwrap();
        table.step(seat, &mut wire, |cx, member| {
            let refused = cx.deliver(member, Channel::Open, &welcome);
            assert_eq!(refused, Err(Misbehaviour::InvalidRoster.into()));
            Ok(())
        });
        assert!(table.members[seat].1.share.is_none());
    }
}

#[test]
fn everybody_has_the_same_secrets_where_paths_meet() {
    for profile in Profile::ALL {
        let mut table = history(profile, 9);
        table.remove(3);
        table.remove(21);
        table.add(22);
        let root = |member: &Member| member.share.as_ref().unwrap().secrets.highest().clone();
        let first = root(&table.members[0].1);
        assert!(table.members.iter().all(|(_, member)| root(member) == first));
    }
}
