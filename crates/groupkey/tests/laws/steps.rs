//! What a step checks before a party gets a message, and that a refused step leaves nothing.

use groupkey::crypto::meter::Probe;
use groupkey::error::{Misbehaviour, Misuse};
use groupkey::protection::Guard;
use groupkey::{
    Channel, Command, Context, Epoch, Error, Event, Footprint, GroupId, Input, Key, MemberId,
    Operation, Outbox, Party, PartyId, Recipient, Setting, Suite,
};
use groupkey_testkit::credentials::Credentials;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

pub(crate) const ANN: PartyId = PartyId::Member(MemberId(1));
pub(crate) const BOB: PartyId = PartyId::Member(MemberId(2));

/// Hears everything that comes through. Speaks first and refuses then, if it is told to.
#[derive(Default)]
struct Listener {
    heard: usize,
}

impl Party for Listener {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Message(_) => {
                self.heard += 1;
                Ok(())
            }
            Input::Command(_) => {
                cx.draft(Recipient::Group, Epoch(1), Operation::Rekey, 0).send();
                cx.event(Event::Rekeyed(Epoch(1)));
                Err(Misuse::WrongRole.into())
            }
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        None
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

pub(crate) fn act<T>(
    credentials: &Credentials,
    me: PartyId,
    outbox: &mut Outbox,
    act: impl FnOnce(&mut Context<'_>) -> T,
) -> T {
    act_with(credentials, me, 1, outbox, &mut (), act)
}

pub(crate) fn act_with<T>(
    credentials: &Credentials,
    me: PartyId,
    seed: u64,
    outbox: &mut Outbox,
    probe: &mut dyn Probe,
    act: impl FnOnce(&mut Context<'_>) -> T,
) -> T {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let (setting, protection) =
        (Setting::new(GroupId(0), Suite::Standard), credentials.protection(me));
    act(&mut Context::new(setting, me, protection, &mut rng, 0, outbox, probe))
}

/// A message to all, as this party protects it.
fn said(
    credentials: &Credentials,
    sender: PartyId,
    write: impl FnOnce(&mut Context<'_>),
) -> Vec<u8> {
    let mut outbox = Outbox::new();
    act(credentials, sender, &mut outbox, write);
    outbox.messages().flat_map(|message| message.bytes.to_vec()).collect()
}

pub(crate) fn heard(
    credentials: &Credentials,
    channel: Channel,
    bytes: &[u8],
) -> Result<usize, Error> {
    let (mut listener, mut outbox) = (Listener::default(), Outbox::new());
    let delivered =
        act(credentials, ANN, &mut outbox, |cx| cx.deliver(&mut listener, channel, bytes));
    delivered.map(|()| listener.heard)
}

fn rekey(cx: &mut Context<'_>) {
    cx.draft(Recipient::Group, Epoch(1), Operation::Rekey, 0).number(7).send();
}

#[test]
fn who_is_not_in_the_directory_says_nothing() {
    for guard in [Guard::Signature, Guard::Merkle] {
        let known = |parties: &[PartyId]| {
            let mut credentials = Credentials::new(guard, 1);
            parties.iter().for_each(|&party| credentials.issue(party));
            credentials
        };
        let (both, alone) = (known(&[ANN, BOB]), known(&[ANN]));
        let bytes = said(&both, BOB, rekey);
        assert_eq!(heard(&both, Channel::Open, &bytes), Ok(1));
        assert_eq!(heard(&alone, Channel::Open, &bytes), Err(Misbehaviour::Forged.into()));
        // Nor does anybody in another's name.
        let of_ann = said(&both, ANN, rekey);
        let [(content, _), (_, tag)] =
            [&bytes, &of_ann].map(|bytes| guard.split_tag(Suite::Standard, bytes).unwrap());
        let swapped = [content, tag].concat();
        assert_eq!(heard(&both, Channel::Open, &swapped), Err(Misbehaviour::Forged.into()));
    }
}

#[test]
fn an_enrolment_comes_over_the_confidential_channel_and_nothing_else_does() {
    let credentials = Credentials::new(Guard::Mac, 1);
    let enrolment = said(&credentials, PartyId::Controller, |cx| {
        let to = Recipient::Member(MemberId(1));
        let key = cx.random_key();
        cx.confidential_draft(to, Epoch(0), Operation::Enroll, 0).secret(&key).send();
    });
    let other = said(&credentials, BOB, rekey);
    let refused = Err(Misbehaviour::WrongChannel.into());
    assert_eq!(heard(&credentials, Channel::Confidential, &enrolment), Ok(1));
    assert_eq!(heard(&credentials, Channel::Open, &enrolment), refused);
    assert_eq!(heard(&credentials, Channel::Open, &other), Ok(1));
    assert_eq!(heard(&credentials, Channel::Confidential, &other), refused);
}

#[test]
fn a_step_that_is_refused_leaves_nothing_in_the_outbox() {
    for guard in Guard::ALL {
        let (mut credentials, mut outbox) = (Credentials::new(guard, 1), Outbox::new());
        credentials.issue(ANN);
        act(&credentials, ANN, &mut outbox, |cx| {
            rekey(cx);
            assert!(cx.command(&mut Listener::default(), Command::Rekey).is_err());
        });
        assert_eq!((outbox.messages().count(), outbox.events().len()), (1, 0));
    }
}
