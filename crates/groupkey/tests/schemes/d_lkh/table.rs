//! A table at which members sit and hand messages to each other.

use groupkey::catalogue::Profile;
use groupkey::credentials::Credentials;
use groupkey::error::Error;
use groupkey::protection::Protection;
use groupkey::rig::Guard;
use groupkey::{Channel, Command, Context, GroupId, Key, MemberId, Outbox, Party, Setting, Suite};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::scheme;

/// Members who hand messages to each other unprotected, as the test says.
pub(crate) struct Table {
    seats: Vec<Box<dyn Party>>,
    credentials: Credentials,
    pub(crate) seed: u64,
    steps: u64,
    pub(crate) wire: Vec<Vec<u8>>,
}

impl Table {
    pub(crate) fn new(profile: Profile) -> Self {
        let configuration = scheme().configuration(profile);
        let seats = (0..8).map(|id| configuration.member(MemberId(id))).collect();
        let credentials = Credentials::new(Guard::None, 1);
        Self { seats, credentials, seed: 0, steps: 0, wire: Vec::new() }
    }

    pub(crate) fn create(&mut self, n: u32) {
        let members: Vec<_> = (0..n).map(MemberId).collect();
        (0..n).for_each(|id| self.command(id, Command::Create(&members)));
        self.settle(0..n);
    }

    /// Delivers what is on the wire, and what comes of it, to these members.
    pub(crate) fn settle(&mut self, members: std::ops::Range<u32>) {
        let mut next = 0;
        while let Some(message) = self.wire.get(next).cloned() {
            next += 1;
            for id in members.start as u8..members.end as u8 {
                // Headers of small numbers: sender and addressee are the last two items.
                let addressed = message[7] == 0xf6 || message[7] == id + 1;
                if addressed && message[6] != id + 1 {
                    self.deliver(id.into(), &message).unwrap();
                }
            }
        }
        self.wire.clear();
    }

    pub(crate) fn remove(&mut self, leaver: u32) {
        let others = (0..self.seats.len() as u32).filter(|&id| id != leaver);
        others.for_each(|id| self.command(id, Command::Remove(MemberId(leaver))));
    }

    pub(crate) fn command(&mut self, id: u32, command: Command<'_>) {
        self.step(id, |cx, party| cx.command(party, command)).unwrap();
    }

    pub(crate) fn deliver(&mut self, id: u32, message: &[u8]) -> Result<(), Error> {
        self.step(id, |cx, party| cx.deliver(party, Channel::Open, message))
    }

    pub(crate) fn step(
        &mut self,
        id: u32,
        act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let setting = Setting { group: GroupId(3), suite: Suite::Standard };
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        self.steps += 1;
        rng.set_stream(self.steps);
        let (mut outbox, mut probe, none) = (Outbox::new(), (), Protection::None);
        let me = MemberId(id).into();
        let keys = self.credentials.peer_keys(me, setting.suite);
        let mut cx = Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut probe)
            .with_peer_keys(&keys);
        let result = act(&mut cx, &mut *self.seats[id as usize]);
        self.wire.extend(outbox.messages().map(|message| message.bytes.to_vec()));
        result
    }

    pub(crate) fn keys_to(&self, id: u8) -> Vec<u8> {
        let found = self.wire.iter().find(|bytes| bytes[5] == KEYS && bytes[7] == id + 1);
        found.expect("keys were sent").clone()
    }

    pub(crate) fn confirmation(&self) -> Vec<u8> {
        self.wire.iter().find(|bytes| bytes[5] == CONFIRM).expect("it was sent").clone()
    }

    pub(crate) fn key(&self, id: u32) -> Option<Key> {
        self.seats[id as usize].group_key().map(|(_, key)| key.clone())
    }
}

const KEYS: u8 = 0;
const CONFIRM: u8 = 3;
