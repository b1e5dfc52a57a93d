//! One member alone. A whole group runs on a host, and one member's inputs are recorded. A device
//! gives the same inputs to a member of its own, which must send the same bytes and get the same
//! keys.
//!
//! A recording is a sequence of frames: first the [`ReplayedMember`], then a [`ReplayInput`] for
//! each input. Each frame is a CBOR sequence, so that a device needs memory for one frame at a
//! time.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use groupkey::author::{PeerKeys, Reader, Writer};
use groupkey::catalogue::{Configuration, Profile, scheme};
use groupkey::crypto::Suite;
use groupkey::crypto::meter::Probe;
use groupkey::error::{Error, Misbehaviour, Misuse};
use groupkey::messages::{MessageSettings, Messenger, Nonces};
use groupkey::protection::Guard;
use groupkey::{
    Channel, Command, Context, Epoch, Footprint, GroupId, Instance, MemberId, Outbox, Party,
    PartyId, Setting,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

use crate::credentials::{Credentials, stream};

/// The member that is replayed, and its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedMember {
    /// The scheme with its profile and parameters.
    pub scheme: &'static str,
    /// The scheme's form.
    pub profile: Profile,
    /// The values of all parameters, in the order of the catalogue's entry.
    pub parameters: Vec<u32>,
    /// The algorithms.
    pub suite: Suite,
    /// The protection of messages.
    pub guard: Guard,
    /// The seed of the credentials and of what the parties draw.
    pub seed: u64,
    /// The member.
    pub member: MemberId,
    /// The parties whose signatures the member checks.
    pub peers: Vec<PartyId>,
    /// The parties whose long-term keys the member uses.
    pub acquaintances: Vec<PartyId>,
}

/// An input of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayInput<B> {
    /// A command.
    Command(RecordedCommand),
    /// A message of the scheme.
    Deliver(Channel, B),
    /// A content to encrypt to the group.
    Seal(B),
    /// A message of another member to decrypt.
    Open(B),
    /// The member prepares for messages of the group, its own with such nonces. The step is not
    /// measured.
    Messenger(Nonces),
    /// The end of a part of the recording. The member gets nothing.
    End,
}

/// A [`Command`] that owns its lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedCommand {
    code: u64,
    first: Vec<MemberId>,
    second: Vec<MemberId>,
    epochs: [u64; 2],
}

/// A member alone.
pub struct MemberReplay {
    subject: ReplayedMember,
    configuration: Configuration,
    setting: Setting,
    credentials: Credentials,
    rng: ChaCha20Rng,
    party: Option<Box<dyn Party>>,
    messenger: Option<Messenger>,
    transcript: Transcript,
    traffic: ReplayTraffic,
}

/// The hash of everything that a member has sent, and of its group keys.
#[derive(Clone, Debug, Default)]
pub struct Transcript(Sha256);

/// Measures a step.
pub trait Gauge {
    /// Calls `step` once.
    fn measure(&mut self, step: &mut dyn FnMut());
}

/// The messages of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayTraffic {
    /// Steps: commands and received messages.
    pub steps: u64,
    /// Messages received.
    pub received_messages: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Messages sent.
    pub sent_messages: u64,
    /// Their bytes.
    pub sent_bytes: u64,
}

/// Returns the randomness of a party in a group with this seed. Each party has a stream of its own,
/// so that one party alone draws what it draws in the group.
pub fn randomness(seed: u64, party: PartyId) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(stream(party));
    rng
}

impl ReplayedMember {
    /// Returns what the parties of the group have in common.
    ///
    /// Fails with [`Misbehaviour::Malformed`] if there is no such scheme or parameter.
    pub fn configuration(&self) -> Result<(Configuration, Setting), Error> {
        let scheme = scheme(self.scheme).ok_or(Misbehaviour::Malformed)?;
        let mut configuration = scheme.configuration(self.profile);
        for (parameter, &value) in scheme.parameters.iter().zip(&self.parameters) {
            let set = configuration.set(parameter.name, value);
            set.map_err(|_| Misbehaviour::Malformed)?;
        }
        let (group, instance) = (GroupId(1), Instance::default());
        let setting = configuration.setting(group, self.suite, self.guard, "", instance);
        Ok((configuration, setting))
    }

    /// Returns the first frame of a recording.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut frame = Vec::new();
        let mut writer = Writer::new(&mut frame);
        writer.bytes(self.scheme.as_bytes());
        writer.bytes(self.profile.name().as_bytes());
        writer.bytes(self.suite.name().as_bytes());
        writer.bytes(self.guard.name().as_bytes());
        writer.number(self.seed);
        writer.number(u64::from(self.member.0));
        writer.array(self.parameters.len() as u64);
        self.parameters.iter().for_each(|&value| writer.number(u64::from(value)));
        for parties in [&self.peers, &self.acquaintances] {
            writer.array(parties.len() as u64);
            parties.iter().for_each(|&party| writer.party(party));
        }
        frame
    }

    /// Reads the first frame of a recording.
    pub fn from_frame(frame: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(frame);
        Ok(Self {
            scheme: named(&mut reader, scheme)?.id,
            profile: named(&mut reader, Profile::named)?,
            suite: named(&mut reader, Suite::named)?,
            guard: named(&mut reader, Guard::named)?,
            seed: reader.number()?,
            member: MemberId(reader.number32()?),
            parameters: list(&mut reader, Reader::number32)?,
            peers: list(&mut reader, Reader::party)?,
            acquaintances: list(&mut reader, Reader::party)?,
        })
    }
}

impl<B: AsRef<[u8]>> ReplayInput<B> {
    /// Returns the frame of the act.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut frame = Vec::new();
        let mut writer = Writer::new(&mut frame);
        match self {
            Self::Command(RecordedCommand { code, first, second, epochs }) => {
                writer.number(0);
                writer.number(*code);
                for members in [first, second] {
                    writer.array(members.len() as u64);
                    members.iter().for_each(|member| writer.number(u64::from(member.0)));
                }
                epochs.iter().for_each(|&epoch| writer.number(epoch));
            }
            Self::Deliver(channel, bytes) => {
                writer.number(if *channel == Channel::Confidential { 1 } else { 2 });
                writer.bytes(bytes.as_ref());
            }
            Self::Seal(content) => {
                writer.number(3);
                writer.bytes(content.as_ref());
            }
            Self::Open(bytes) => {
                writer.number(4);
                writer.bytes(bytes.as_ref());
            }
            Self::Messenger(nonces) => {
                writer.number(5);
                writer.bytes(nonces.name().as_bytes());
            }
            Self::End => writer.number(6),
        }
        frame
    }
}

impl<'a> ReplayInput<&'a [u8]> {
    /// Reads the frame of an act.
    pub fn from_frame(frame: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(frame);
        Ok(match reader.number()? {
            0 => {
                let code = reader.number()?;
                let mut members = || list(&mut reader, |reader| reader.number32().map(MemberId));
                let (first, second) = (members()?, members()?);
                let epochs = [reader.number()?, reader.number()?];
                Self::Command(RecordedCommand { code, first, second, epochs })
            }
            1 => Self::Deliver(Channel::Confidential, reader.bytes()?),
            2 => Self::Deliver(Channel::Open, reader.bytes()?),
            3 => Self::Seal(reader.bytes()?),
            4 => Self::Open(reader.bytes()?),
            5 => Self::Messenger(named(&mut reader, Nonces::named)?),
            6 => Self::End,
            _ => return Err(Misbehaviour::Malformed.into()),
        })
    }
}

impl From<Command<'_>> for RecordedCommand {
    fn from(command: Command<'_>) -> Self {
        let of = |code, first: &[MemberId]| Self { code, first: first.to_vec(), ..Self::default() };
        match command {
            Command::Add(member) => of(0, &[member]),
            Command::Batch { joining, leaving } => {
                Self { second: leaving.to_vec(), ..of(1, joining) }
            }
            Command::CatchUp => of(2, &[]),
            Command::Create(members) => of(3, members),
            Command::Enroll(members) => of(4, members),
            Command::Grant { member, first, last } => {
                Self { epochs: [first.0, last.0], ..of(5, &[member]) }
            }
            Command::Merge { members, epoch } => Self { epochs: [epoch.0, 0], ..of(6, members) },
            Command::Partition(members) => of(7, members),
            Command::Rekey => of(8, &[]),
            Command::Remove(member) => of(9, &[member]),
            Command::Send => of(10, &[]),
        }
    }
}

impl RecordedCommand {
    /// Returns the command; `None` if a frame had no sense.
    pub fn command(&self) -> Option<Command<'_>> {
        let Self { code, first, second, epochs: [from, to] } = self;
        let one = || first.first().copied();
        Some(match code {
            0 => Command::Add(one()?),
            1 => Command::Batch { joining: first, leaving: second },
            2 => Command::CatchUp,
            3 => Command::Create(first),
            4 => Command::Enroll(first),
            5 => Command::Grant { member: one()?, first: Epoch(*from), last: Epoch(*to) },
            6 => Command::Merge { members: first, epoch: Epoch(*from) },
            7 => Command::Partition(first),
            8 => Command::Rekey,
            9 => Command::Remove(one()?),
            10 => Command::Send,
            _ => return None,
        })
    }
}

impl MemberReplay {
    /// Makes everything that the member's program has: keys that protect messages, certified keys of
    /// others, and a generator. The member itself comes with [`Self::begin`].
    pub fn new(subject: ReplayedMember) -> Result<Self, Error> {
        let (configuration, setting) = subject.configuration()?;
        let me = subject.member.into();
        let mut credentials = Credentials::for_suite(subject.suite, subject.guard, subject.seed);
        subject.peers.iter().chain([&me]).for_each(|&party| credentials.issue(party));
        let keys = credentials.peer_keys(me, subject.suite);
        subject.acquaintances.iter().for_each(|&party| drop(keys.public(party)));
        Ok(Self {
            rng: randomness(subject.seed, me),
            subject,
            configuration,
            setting,
            credentials,
            party: None,
            messenger: None,
            transcript: Transcript::default(),
            traffic: ReplayTraffic::default(),
        })
    }

    /// Makes the member.
    pub fn begin(&mut self) {
        self.party = Some(self.configuration.member(self.subject.member));
    }

    /// Gives the member an input, within `gauge`.
    pub fn act(
        &mut self,
        act: &ReplayInput<&[u8]>,
        probe: &mut dyn Probe,
        gauge: &mut dyn Gauge,
    ) -> Result<(), Error> {
        let Self {
            subject, setting, credentials, rng, party, messenger, transcript, traffic, ..
        } = self;
        let party = party.as_mut().ok_or(Misuse::NotCreated)?;
        let me = subject.member.into();
        let command = match act {
            ReplayInput::Command(order) => Some(order.command().ok_or(Misbehaviour::Malformed)?),
            _ => None,
        };
        let mut outbox = Outbox::new();
        let peer_keys = credentials.peer_keys(me, subject.suite);
        let protection = credentials.protection(me);
        let mut cx = Context::new(*setting, me, protection, rng, 0, &mut outbox, probe)
            .with_peer_keys(&peer_keys);
        let mut result = Ok(Vec::new());
        match act {
            ReplayInput::End => return Ok(()),
            ReplayInput::Messenger(nonces) => {
                let settings = MessageSettings { nonces: *nonces, ..MessageSettings::default() };
                *messenger = Some(Messenger::new(&cx, settings)?);
                return Ok(());
            }
            ReplayInput::Command(_) => gauge.measure(&mut || {
                if let Some(command) = command {
                    result = cx.command(&mut **party, command).map(|()| Vec::new());
                }
            }),
            ReplayInput::Deliver(channel, bytes) => {
                traffic.received_messages += 1;
                traffic.received_bytes += bytes.len() as u64;
                gauge.measure(&mut || {
                    result = cx.deliver(&mut **party, *channel, bytes).map(|()| Vec::new());
                });
            }
            ReplayInput::Seal(bytes) | ReplayInput::Open(bytes) => {
                let messenger = messenger.as_mut().ok_or(Misuse::NotCreated)?;
                messenger.follow(&mut cx, &**party);
                if matches!(act, ReplayInput::Open(_)) {
                    traffic.received_messages += 1;
                    traffic.received_bytes += bytes.len() as u64;
                    gauge.measure(&mut || {
                        result = messenger.open(&mut cx, bytes).map(|message| message.content);
                    });
                } else {
                    gauge.measure(&mut || result = messenger.seal(&mut cx, bytes));
                    traffic.sent_messages += 1;
                    traffic.sent_bytes += result.as_ref().map_or(0, Vec::len) as u64;
                }
            }
        }
        traffic.steps += 1;
        let output = result?;
        if !output.is_empty() {
            transcript.bytes(&output);
        }
        for message in outbox.messages() {
            traffic.sent_messages += 1;
            traffic.sent_bytes += message.bytes.len() as u64;
        }
        transcript.step(&outbox, &**party);
        Ok(())
    }

    /// Returns the messages since the last call.
    pub fn traffic(&mut self) -> ReplayTraffic {
        core::mem::take(&mut self.traffic)
    }

    /// Returns the hash of everything that the member has sent, and of its group keys.
    pub fn hash(&self) -> [u8; 32] {
        self.transcript.hash()
    }

    /// Returns how much key material the member holds.
    pub fn footprint(&self) -> Footprint {
        self.party.as_ref().map_or_else(Footprint::default, |party| party.footprint())
    }
}

impl Transcript {
    /// Takes in what a step has left: messages, and the group key.
    pub fn step(&mut self, outbox: &Outbox, party: &dyn Party) {
        outbox.messages().for_each(|message| self.bytes(message.bytes));
        if let Some((epoch, key)) = party.group_key() {
            self.0.update(epoch.0.to_be_bytes());
            self.0.update(key.as_bytes());
        }
    }

    /// Takes in a message that was encrypted, or the content of one that was decrypted.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    /// Returns the hash of everything so far.
    pub fn hash(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }
}

impl fmt::Debug for MemberReplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberReplay").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// Measures nothing.
impl Gauge for () {
    fn measure(&mut self, step: &mut dyn FnMut()) {
        step();
    }
}

fn named<T>(reader: &mut Reader<'_>, find: fn(&str) -> Option<T>) -> Result<T, Error> {
    let name = core::str::from_utf8(reader.bytes()?).ok();
    name.and_then(find).ok_or_else(|| Misbehaviour::Malformed.into())
}

fn list<'a, T>(
    reader: &mut Reader<'a>,
    mut item: impl FnMut(&mut Reader<'a>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let length = reader.array()?;
    // An item takes a byte at least.
    if length > reader.remaining() as u64 {
        return Err(Misbehaviour::Malformed.into());
    }
    (0..length).map(|_| item(reader)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subject() -> ReplayedMember {
        ReplayedMember {
            scheme: "lkh-group",
            profile: Profile::Sound,
            parameters: [4, 0].into(),
            suite: Suite::Constrained,
            guard: Guard::Signature,
            seed: u64::MAX,
            member: MemberId(7),
            peers: [PartyId::Controller, MemberId(3).into()].into(),
            acquaintances: [MemberId(2).into()].into(),
        }
    }

    fn act() -> impl Strategy<Value = ReplayInput<Vec<u8>>> {
        let members = || prop::collection::vec(any::<u32>().prop_map(MemberId), 0..20);
        let order = (0..11_u64, members(), members(), any::<[u64; 2]>());
        let order = order.prop_map(|(code, first, second, epochs)| RecordedCommand {
            code,
            first,
            second,
            epochs,
        });
        let bytes = || any::<Vec<u8>>();
        prop_oneof![
            order.prop_map(ReplayInput::Command),
            bytes().prop_map(|bytes| ReplayInput::Deliver(Channel::Open, bytes)),
            bytes().prop_map(|bytes| ReplayInput::Deliver(Channel::Confidential, bytes)),
            bytes().prop_map(ReplayInput::Seal),
            bytes().prop_map(ReplayInput::Open),
            prop::sample::select(&Nonces::ALL[..]).prop_map(ReplayInput::Messenger),
            Just(ReplayInput::End),
        ]
    }

    #[test]
    fn a_subject_is_read_as_written_or_refused() {
        let frame = subject().to_frame();
        assert_eq!(ReplayedMember::from_frame(&frame), Ok(subject()));
        for length in 0..frame.len() {
            assert!(ReplayedMember::from_frame(&frame[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn an_act_is_read_as_written(act in act()) {
            let frame = act.to_frame();
            let read = ReplayInput::from_frame(&frame).expect("just written");
            prop_assert_eq!(read.to_frame(), frame);
        }

        #[test]
        fn any_frame_is_read_or_refused(frame in any::<Vec<u8>>()) {
            let _ = ReplayInput::from_frame(&frame);
            let _ = ReplayedMember::from_frame(&frame);
        }
    }

    /// Two commands are the same if their orders are.
    #[test]
    fn an_order_is_its_command() {
        let ids = [MemberId(1), MemberId(2)];
        for command in [
            Command::Add(ids[0]),
            Command::Batch { joining: &ids, leaving: &ids[..1] },
            Command::CatchUp,
            Command::Create(&ids),
            Command::Enroll(&ids),
            Command::Grant { member: ids[1], first: Epoch(1), last: Epoch(9) },
            Command::Merge { members: &ids, epoch: Epoch(4) },
            Command::Partition(&ids),
            Command::Rekey,
            Command::Remove(ids[1]),
            Command::Send,
        ] {
            assert_eq!(RecordedCommand::from(command).command(), Some(command));
        }
        assert_eq!(RecordedCommand { code: 11, ..RecordedCommand::default() }.command(), None);
        assert_eq!(RecordedCommand::default().command(), None, "there is nobody to add");
    }
}
