//! Messages of the post-quantum suite whose signatures nobody made: of ML-DSA-65 and Ed25519, one for each
//! message or one for many. The member does not panic, takes only what was signed, and does not change
//! when it refuses a message. Bytes that come as a public key are one that is written as it was read.

#![no_main]

use std::sync::LazyLock;

use groupkey::catalogue::{Profile, scheme};
use groupkey::protection::{Guard, PublicIdentity};
use groupkey::{
    Channel, Command, Context, Error, GroupId, Instance, MemberId, Outbox, PartyId, Setting, Suite,
};
use groupkey_testkit::credentials::Credentials;
use libfuzzer_sys::fuzz_target;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// What a controller sent to a member: its enrolment, then the creation.
static SENT: LazyLock<[Vec<Sent>; 2]> =
    LazyLock::new(|| GUARDS.map(|guard| Seat::new(guard).sent()));

const GUARDS: [Guard; 2] = [Guard::Signature, Guard::Merkle];
const MEMBERS: [MemberId; 3] = [MemberId(0), MemberId(1), MemberId(2)];

/// The channel and the bytes of a message.
type Sent = (Channel, Vec<u8>);

fuzz_target!(|input: (bool, u16, bool, Vec<u8>)| {
    let (together, at, is_cut, with) = input;
    if let Some(public) = PublicIdentity::from_bytes(&with) {
        assert_eq!(public.to_bytes().as_ref(), with);
    }
    let sent = &SENT[usize::from(together)];
    let seat = Seat::new(GUARDS[usize::from(together)]);
    let mut member = scheme_of().member(MEMBERS[0]);
    for (channel, genuine) in sent {
        let before = (member.group_key().map(|(epoch, _)| epoch), member.footprint());
        let at = usize::from(at) % (genuine.len() + 1);
        let end = if is_cut { genuine.len() } else { (at + with.len()).min(genuine.len()) };
        let spliced = [&genuine[..at], &with, &genuine[end..]].concat();
        for bytes in [&with, &spliced].into_iter().filter(|bytes| *bytes != genuine) {
            let taken =
                seat.step(MEMBERS[0].into(), |cx| cx.deliver(&mut *member, *channel, bytes));
            assert!(taken.is_err(), "nobody signed this");
            let after = (member.group_key().map(|(epoch, _)| epoch), member.footprint());
            assert!(after == before, "a refused message changed it");
        }
        let taken = seat.step(MEMBERS[0].into(), |cx| cx.deliver(&mut *member, *channel, genuine));
        taken.expect("it is genuine");
    }
});

/// Where the steps of a group's parties run.
struct Seat {
    setting: Setting,
    credentials: Credentials,
}

impl Seat {
    fn new(guard: Guard) -> Self {
        let mut credentials = Credentials::for_suite(Suite::Pq, guard, 1);
        credentials.issue(PartyId::Controller);
        credentials.issue(MEMBERS[0].into());
        let instance = Instance::default();
        let setting = scheme_of().setting(GroupId(1), Suite::Pq, guard, "", instance);
        Self { setting, credentials }
    }

    fn sent(&self) -> Vec<Sent> {
        let mut controller = scheme_of().controller().expect("it has one");
        let mut told = |command| {
            let sent = self.step(PartyId::Controller, |cx| cx.command(&mut *controller, command));
            sent.expect("it can")
        };
        [told(Command::Enroll(&MEMBERS)), told(Command::Create(&MEMBERS))].concat()
    }

    /// Lets a party act. Returns what it sent to the first member.
    fn step(
        &self,
        me: PartyId,
        act: impl FnOnce(&mut Context<'_>) -> Result<(), Error>,
    ) -> Result<Vec<Sent>, Error> {
        let (mut rng, mut outbox, mut probe) = (ChaCha20Rng::seed_from_u64(1), Outbox::new(), ());
        let protection = self.credentials.protection(me);
        let mut cx =
            Context::new(self.setting, me, protection, &mut rng, 0, &mut outbox, &mut probe);
        act(&mut cx)?;
        let own = outbox.messages().filter(|sent| sent.to.includes(MEMBERS[0].into(), |_| true));
        Ok(own.map(|sent| (sent.channel, sent.bytes.to_vec())).collect())
    }
}

fn scheme_of() -> groupkey::catalogue::Configuration {
    scheme("skdc").expect("it is in the catalogue").configuration(Profile::Sound)
}
