//! A group is created of some of members that were enrolled: the broadcast tells which slots are
//! taken, and every member finds its keys by counting. Whatever is wrong about the slots is refused.

use groupkey::catalogue::{Profile, scheme};
use groupkey::protection::Protection;
use groupkey::{
    Channel, Command, Context, Error, GroupId, Key, MemberId, Outbox, Party, PartyId, Recipient,
    Setting, Suite,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

const SCHEMES: [&str; 4] = ["lkh-group", "lkh-plus", "ofct", "elk"];

#[test]
fn members_among_free_slots_agree() {
    for id in SCHEMES {
        for profile in Profile::ALL {
            for taken in [vec![3, 4], vec![0, 9], vec![0, 1, 2, 3, 16, 38], (1..40).collect()] {
                let mut group = Group::enrolled(id, profile, 40);
                let message = group.create(&taken);
                let mut keys = Vec::new();
                for member in 0..40 {
                    let accepted = group.deliver(member, &message);
                    assert_eq!(accepted.is_ok(), taken.contains(&(member as u32)), "{id} {member}");
                    keys.extend(group.key(member));
                }
                assert_eq!(keys.len(), taken.len());
                assert!(keys.iter().all(|key| Some(key) == group.controllers_key().as_ref()));
            }
        }
    }
}

#[test]
fn no_other_slots_are_accepted() {
    for id in SCHEMES {
        let mut group = Group::enrolled(id, Profile::Sound, 40);
        let taken: Vec<_> = (0..40).filter(|slot| slot % 3 != 0).chain([39]).collect();
        let message = group.create(&taken);
        let keys_from = message.windows(2).rposition(|pair| pair == [0x18, 40]).unwrap() + 2 + 6;
        for member in taken.iter().map(|&slot| slot as usize) {
            for bit in 8 * (keys_from - 8)..8 * keys_from {
                let mut forged = message.clone();
                forged[bit / 8] ^= 1 << (bit % 8);
                assert!(group.deliver(member, &forged).is_err(), "{id} {member} {bit}");
                assert_eq!(group.key(member), None);
            }
            let shortened = &message[..message.len() - 24];
            assert!(group.deliver(member, shortened).is_err());
            assert_eq!(group.deliver(member, &message), Ok(()));
        }
    }
}

/// A controller and those whom it enrolled, without protection.
struct Group {
    controller: Box<dyn Party>,
    members: Vec<Box<dyn Party>>,
}

impl Group {
    fn enrolled(id: &str, profile: Profile, size: u32) -> Self {
        let configuration = scheme(id).unwrap().configuration(profile);
        let names: Vec<_> = (0..size).map(MemberId).collect();
        let mut group = Self {
            controller: configuration.controller().unwrap(),
            members: names.iter().map(|&name| configuration.member(name)).collect(),
        };
        let outbox = group.command(Command::Enroll(&names));
        for message in outbox.messages() {
            let Recipient::Member(MemberId(member)) = message.to else { continue };
            let given =
                deliver(&mut group.members, member as usize, message.channel, message.bytes);
            given.unwrap();
        }
        group
    }

    fn create(&mut self, members: &[u32]) -> Vec<u8> {
        let names: Vec<_> = members.iter().copied().map(MemberId).collect();
        let outbox = self.command(Command::Create(&names));
        let messages: Vec<_> = outbox.messages().collect();
        let [broadcast] = messages[..] else { panic!("one broadcast") };
        broadcast.bytes.to_vec()
    }

    fn command(&mut self, command: Command<'_>) -> Outbox {
        let mut outbox = Outbox::new();
        in_context(PartyId::Controller, &mut outbox, |cx| {
            cx.command(&mut *self.controller, command).unwrap();
        });
        outbox
    }

    fn deliver(&mut self, member: usize, bytes: &[u8]) -> Result<(), Error> {
        deliver(&mut self.members, member, Channel::Open, bytes)
    }

    fn key(&self, member: usize) -> Option<Key> {
        self.members[member].group_key().map(|(_, key)| key.clone())
    }

    fn controllers_key(&self) -> Option<Key> {
        self.controller.group_key().map(|(_, key)| key.clone())
    }
}

fn deliver(
    members: &mut [Box<dyn Party>],
    member: usize,
    channel: Channel,
    bytes: &[u8],
) -> Result<(), Error> {
    let me = MemberId(member as u32).into();
    in_context(me, &mut Outbox::new(), |cx| cx.deliver(&mut *members[member], channel, bytes))
}

fn in_context<T>(me: PartyId, outbox: &mut Outbox, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (setting, none) = (Setting::new(GroupId(0), Suite::Standard), Protection::None);
    act(&mut Context::new(setting, me, none, &mut rng, 0, outbox, &mut ()))
}
