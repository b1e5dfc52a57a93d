//! A table at which members sit and hand each other messages, as the test says.

use groupkey::catalogue::{Configuration, Profile, Scheme};
use groupkey::error::Error;
use groupkey::{Channel, Command, Context, GroupId, Key, MemberId, Outbox, Party, Setting, Suite};
use groupkey_testkit::credentials::Credentials;
use groupkey_testkit::rig::Guard;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// Members 0 to n - 1, and all that they sent.
pub(crate) struct Table {
    seats: Vec<Box<dyn Party>>,
    credentials: Credentials,
    rng: ChaCha20Rng,
    pub(crate) wire: Vec<Vec<u8>>,
}

impl Table {
    pub(crate) fn new(configuration: &Configuration, guard: Guard, n: u32, seed: u64) -> Self {
        let mut credentials = Credentials::new(guard, 1);
        (0..n).for_each(|id| credentials.issue(MemberId(id).into()));
        let seats = (0..n).map(|id| configuration.member(MemberId(id))).collect();
        let rng = ChaCha20Rng::seed_from_u64(seed);
        Self { seats, credentials, rng, wire: Vec::new() }
    }

    /// Members who hand messages to each other unprotected, and were told to make a group.
    pub(crate) fn told_to_create(
        scheme: &'static Scheme,
        profile: Profile,
        n: u32,
        seed: u64,
    ) -> Self {
        let mut table = Self::new(&scheme.configuration(profile), Guard::None, n, seed);
        table.create(n);
        table
    }

    pub(crate) fn draw_from(&mut self, seed: u64) {
        self.rng = ChaCha20Rng::seed_from_u64(seed);
    }

    /// The first n are told to make a group.
    pub(crate) fn create(&mut self, n: u32) {
        let members: Vec<_> = (0..n).map(MemberId).collect();
        (0..n).for_each(|id| self.command(id, Command::Create(&members)));
    }

    /// Delivers what is on the wire, and what comes of it, to these members, and clears the wire.
    #[track_caller]
    pub(crate) fn settle(&mut self, members: impl Iterator<Item = u32> + Clone) {
        assert_eq!(self.settle_with(members, |_, _, _| ()), []);
        self.wire.clear();
    }

    /// Lets `cheat` change each message on its way to each member; returns what was refused.
    pub(crate) fn settle_with(
        &mut self,
        members: impl Iterator<Item = u32> + Clone,
        cheat: impl Fn(&Self, &mut Vec<u8>, u32),
    ) -> Vec<Error> {
        let mut refused = Vec::new();
        let mut next = 0;
        while let Some(message) = self.wire.get(next).cloned() {
            next += 1;
            for to in members.clone().filter(|&to| is_for(&message, to)) {
                let mut message = message.clone();
                cheat(self, &mut message, to);
                refused.extend(self.deliver(to, &message).err());
            }
        }
        refused
    }

    #[track_caller]
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
        let me = MemberId(id).into();
        let setting = Setting::new(GroupId(3), Suite::Standard);
        let (mut outbox, mut probe, rng) = (Outbox::new(), (), &mut self.rng);
        let (keys, protection) =
            (self.credentials.peer_keys(me, setting.suite), self.credentials.protection(me));
        let mut cx = Context::new(setting, me, protection, rng, 0, &mut outbox, &mut probe)
            .with_peer_keys(&keys);
        let result = act(&mut cx, &mut *self.seats[id as usize]);
        self.wire.extend(outbox.messages().map(|message| message.bytes.to_vec()));
        result
    }

    pub(crate) fn find(&self, sender: u32, of_kind: u8) -> Option<Vec<u8>> {
        let mut wire = self.wire.iter();
        wire.find(|message| is_from(message, sender) && kind(message) == of_kind).cloned()
    }

    #[track_caller]
    pub(crate) fn sent(&self, sender: u32, of_kind: u8) -> Vec<u8> {
        self.find(sender, of_kind).expect("it was sent")
    }

    pub(crate) fn key(&self, id: u32) -> Option<Key> {
        self.seats[id as usize].group_key().map(|(_, key)| key.clone())
    }

    pub(crate) fn keys(&self) -> Vec<Option<Key>> {
        (0..self.seats.len() as u32).map(|id| self.key(id)).collect()
    }
}

// Headers of small numbers are an array of seven, one byte each: version, group, epoch, operation,
// kind, sender, addressee.

pub(crate) fn kind(message: &[u8]) -> u8 {
    message[5]
}

pub(crate) fn is_from(message: &[u8], sender: u32) -> bool {
    u32::from(message[6]) == sender + 1
}

pub(crate) fn is_to(message: &[u8], addressee: u32) -> bool {
    u32::from(message[7]) == addressee + 1
}

/// Whether a member must be given the message: one to it, or to all, from somebody else.
fn is_for(message: &[u8], member: u32) -> bool {
    const ALL: u8 = 0xf6;
    (message[7] == ALL || is_to(message, member)) && !is_from(message, member)
}
