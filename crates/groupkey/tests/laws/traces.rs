//! What parties say to a subscriber of `tracing`: enough to follow them, and no key.

use groupkey::catalogue::scheme;
use groupkey::crypto::meter::Meter;
use groupkey::messages::{MessageSettings, Messenger};
use groupkey::protection::{MacKey, Protection};
use groupkey::{
    Channel, Command, Context, Error, GroupId, MemberId, Outbox, Party, PartyId, Recipient,
    Setting, Suite,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::spy::Spy;

/// A controller and its members, with what they sent.
struct Group {
    parties: Vec<(PartyId, Box<dyn Party>)>,
    mac: MacKey,
    rng: ChaCha20Rng,
    /// All messages over confidential channels, with keys in clear.
    confidential: Vec<Vec<u8>>,
    keys: Vec<Vec<u8>>,
}

const MAC: [u8; 32] = *b"a key that all parties have here";

impl Group {
    fn at<R>(
        &mut self,
        place: usize,
        act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> R,
    ) -> (R, Vec<(Recipient, Channel, Vec<u8>)>) {
        let Self { parties, mac, rng, .. } = self;
        let (id, party) = &mut parties[place];
        let (mut outbox, mut meter) = (Outbox::new(), Meter::new());
        let setting = Setting::new(GroupId(1), Suite::Standard);
        let protection = Protection::Mac(mac);
        let mut cx = Context::new(setting, *id, protection, rng, 0, &mut outbox, &mut meter);
        let result = act(&mut cx, &mut **party);
        let sent = outbox.messages().map(|it| (it.to, it.channel, it.bytes.to_vec())).collect();
        (result, sent)
    }

    fn command(&mut self, command: Command<'_>) {
        let (result, sent) = self.at(0, |cx, party| cx.command(party, command));
        result.unwrap();
        for (to, channel, bytes) in sent {
            for place in 1..self.parties.len() {
                let is_meant = to.party().is_none_or(|party| party == self.parties[place].0);
                if is_meant {
                    let _ = self.at(place, |cx, party| cx.deliver(party, channel, &bytes)).0;
                }
            }
            if channel == Channel::Confidential {
                self.confidential.push(bytes);
            }
        }
        let key = self.parties[0].1.group_key().map(|(_, key)| key.as_bytes().to_vec());
        self.keys.extend(key);
    }
}

#[test]
fn parties_say_what_they_do_and_no_key() {
    let (spy, mut group) = Spy::on(live);
    let heard = spy.heard();
    for expected in [
        "party=controller",
        "input=create",
        "from=controller",
        "step refused",
        "message refused",
        "group message encrypted",
        "group message taken",
        "group message refused",
        "sender=1",
        "error=",
    ] {
        assert!(heard.contains(expected), "{expected} is not in\n{heard}");
    }
    assert!(group.keys.len() >= 4 && group.confidential.len() >= 4);
    let individual = group.confidential.iter().flat_map(|bytes| bytes.windows(16));
    let mut secrets: Vec<&[u8]> = individual.collect();
    let keys = std::mem::take(&mut group.keys);
    secrets.extend(keys.iter().map(Vec::as_slice));
    secrets.extend([&MAC[..], CONTENT]);
    for secret in secrets {
        assert_eq!(spy.finds(secret), [""; 0], "in\n{heard}");
    }
}

const CONTENT: &[u8] = b"what only members may read";

/// Creates a group, changes it, and talks; bytes arrive that nobody takes.
fn live() -> Group {
    let configuration = scheme("lkh-group").unwrap().configuration(Default::default());
    let members = [0, 1, 2, 3].map(MemberId);
    let controller: PartyId = PartyId::Controller;
    let parties = members.iter().map(|&member| (member.into(), configuration.member(member)));
    let first = (controller, configuration.controller().unwrap());
    let mut group = Group {
        parties: [first].into_iter().chain(parties).collect(),
        mac: MacKey::from_bytes(MAC),
        rng: ChaCha20Rng::seed_from_u64(1),
        confidential: Vec::new(),
        keys: Vec::new(),
    };
    group.command(Command::Enroll(&members));
    group.command(Command::Create(&members[..3]));
    group.command(Command::Add(members[3]));
    group.command(Command::Remove(members[0]));
    group.command(Command::Rekey);
    let refused = group.at(0, |cx, party| cx.command(party, Command::Add(members[3]))).0;
    assert!(refused.is_err());
    let junk = group.at(2, |cx, party| cx.deliver(party, Channel::Open, CONTENT)).0;
    assert!(junk.is_err());
    let talk = |cx: &mut Context<'_>, party: &dyn Party| -> Result<Messenger, Error> {
        let mut messenger = Messenger::new(cx, MessageSettings::default())?;
        messenger.follow(cx, party);
        Ok(messenger)
    };
    let sealed = group.at(2, |cx, party| talk(cx, party).unwrap().seal(cx, CONTENT)).0.unwrap();
    group.at(3, |cx, party| {
        let mut messenger = talk(cx, party).unwrap();
        messenger.open(cx, &sealed).unwrap();
        assert!(messenger.open(cx, &sealed).is_err());
        assert!(messenger.open(cx, CONTENT).is_err());
    });
    group
}
