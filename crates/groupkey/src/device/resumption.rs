//! A member that restarts goes on with its membership, and the group key stays.
//!
//! The device keeps what the controller gave it over the confidential channel: its individual keys. It
//! keeps neither the group key nor a counter. After a restart it asks for the group key, as a member
//! that missed a change does. Each start draws a session of its own, so no nonce comes twice.

use alloc::vec::Vec;

use minicbor::{Decoder, Encoder};
use zeroize::Zeroizing;

use super::{Device, DeviceOutput};
use crate::context::Context;
use crate::crypto::MessageNonce;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::PartyId;
use crate::operation::Operation;
use crate::outbox::Outbox;
use crate::party::Command;
use crate::secret::Key;
use crate::wire::parse_header;

impl Device {
    /// Lets a member remember what it needs for [`Self::membership`]: some hundred bytes.
    #[must_use]
    pub fn remembering(mut self) -> Self {
        self.enrolment = Some(Vec::new());
        self
    }

    /// Returns the membership, encrypted under `storage`: a key that this device alone has, for nothing
    /// else. Keep it where a restart finds it, in place of the one before. It changes when the device
    /// gets another individual key, and never else. Fails with [`Misuse::NotCreated`] if the device has
    /// none, or is not [remembering](Self::remembering).
    pub fn membership(&mut self, storage: &Key) -> Result<Vec<u8>, Error> {
        let enrolment = self.enrolment.as_ref().filter(|messages| !messages.is_empty());
        let plain = encode(enrolment.ok_or(Misuse::NotCreated)?);
        let covered = self.covered();
        self.at_rest(|cx| {
            let key = cx.derive(storage, AT_REST, &[]);
            let hash = cx.derive(storage, NONCE, &plain);
            // Another content has another nonce.
            let before = hash.as_bytes().first_chunk().expect("a key is longer");
            let nonce = MessageNonce::synthetic(0, before);
            let mut sealed = plain.to_vec();
            cx.seal(&key, nonce, &covered, &mut sealed)?;
            Ok([nonce.as_bytes(cx.suite()), &sealed].concat())
        })
    }

    /// Resumes the membership that was kept. Transmit the request that [`Self::outgoing`] then yields.
    /// Until there is a key, the device takes nothing but the answer. Without an answer, give it
    /// [`Command::CatchUp`] again.
    ///
    /// A device that restarted does not know which messages of the epoch it has heard. So somebody whom
    /// all members trust counts the resumptions, and tells all of them
    /// ([`Self::note_resumptions`]). `resumptions` is this one's number, from 1. The device then refuses
    /// recordings of messages that were sent before. With 0 it takes each of them once more.
    ///
    /// Fails if `kept` is not this device's membership in this group, and nothing has changed. A
    /// membership that has ended is answered by nobody.
    pub fn resume(
        &mut self,
        storage: &Key,
        kept: &[u8],
        resumptions: u32,
        now: u64,
    ) -> Result<Vec<DeviceOutput>, Error> {
        let has_begun = self.enrolment.as_ref().is_some_and(|messages| !messages.is_empty());
        if has_begun || self.group_key().is_some() {
            return Err(Misuse::AlreadyCreated.into());
        }
        let covered = self.covered();
        let mut content = Zeroizing::new(Vec::new());
        self.at_rest(|cx| {
            let length = MessageNonce::from(0).as_bytes(cx.suite()).len();
            let (nonce, sealed) = kept.split_at_checked(length).ok_or(Misbehaviour::Malformed)?;
            let nonce = MessageNonce::of_bytes(cx.suite(), nonce).ok_or(Misbehaviour::Malformed)?;
            content.extend_from_slice(sealed);
            let key = cx.derive(storage, AT_REST, &[]);
            cx.unseal(&key, nonce, &covered, &mut content)
        })?;
        let enrolment = decode(&content).ok_or(Misbehaviour::Malformed)?;
        for message in &enrolment {
            self.receive_confidential(message, now)?;
        }
        self.talk.iter_mut().for_each(|talk| talk.resume(resumptions));
        self.resumes = true;
        self.command(Command::CatchUp, now)
    }

    /// Notes how often members of the group have resumed. The device's next message then begins another
    /// session, which names this count.
    pub fn note_resumptions(&mut self, count: u32) {
        self.talk.iter_mut().for_each(|talk| talk.note_resumptions(count));
    }

    /// Refuses what may be a recording while the device has no key: the message that once made it a
    /// member leads to an old epoch.
    pub(super) fn require_answer(&self, bytes: &[u8]) -> Result<(), Error> {
        if self.resumes && parse_header(bytes)?.0.operation != Operation::CatchUp {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        Ok(())
    }

    /// Returns what the ciphertext is bound to: the group, and the device.
    fn covered(&self) -> Vec<u8> {
        let number = self.me.number().to_be_bytes();
        [self.setting.context.as_bytes().as_slice(), &number].concat()
    }

    fn at_rest<T>(
        &mut self,
        act: impl FnOnce(&mut Context<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let PartyId::Member(_) = self.me else { return Err(Misuse::WrongRole.into()) };
        let (protection, mut probe, mut outbox) = (self.keys.protection(), (), Outbox::new());
        let rng = &mut *self.rng;
        act(&mut Context::new(self.setting, self.me, protection, rng, 0, &mut outbox, &mut probe))
    }
}

fn encode(enrolment: &[Zeroizing<Vec<u8>>]) -> Zeroizing<Vec<u8>> {
    // A buffer that grows would leave a copy that nobody wipes.
    let length = enrolment.iter().map(|message| message.len() + 9).sum::<usize>() + 16;
    let mut bytes = Zeroizing::new(Vec::with_capacity(length));
    let mut encoder = Encoder::new(&mut *bytes);
    let _ = encoder.array(1 + enrolment.len() as u64).and_then(|encoder| encoder.u8(VERSION));
    for message in enrolment {
        let _ = encoder.bytes(message);
    }
    bytes
}

/// Reads the output of [`encode`].
fn decode(bytes: &[u8]) -> Option<Vec<Zeroizing<Vec<u8>>>> {
    let mut decoder = Decoder::new(bytes);
    let items = decoder.array().ok()??;
    (decoder.u8().ok()? == VERSION).then_some(())?;
    (1..items).map(|_| Some(Zeroizing::new(decoder.bytes().ok()?.to_vec()))).collect()
}

const VERSION: u8 = 1;

const AT_REST: &str = "groupkey device at rest";

const NONCE: &str = "groupkey device at rest nonce";

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::Suite;
    use crate::catalogue::{self, Profile};
    use crate::device::{Group, Keys};
    use crate::identity::{Epoch, GroupId, Instance, MemberId};
    use crate::messages::MessageSettings;
    use crate::outbox::{Event, Recipient};

    const IDS: [MemberId; 3] = [MemberId(0), MemberId(1), MemberId(2)];
    const STORAGE: Key = Key::from_bytes([7; 16]);

    fn group(scheme: &str, suite: Suite) -> Group {
        let configuration = catalogue::scheme(scheme).unwrap().configuration(Profile::Sound);
        Group { configuration, suite, id: GroupId(1), instance: Instance([5; 16]) }
    }

    fn member(group: &Group, me: MemberId, start: u8) -> Device {
        let rng = ChaCha20Rng::from_seed([16 * start + me.0 as u8; 32]);
        let device = Device::member(group, me, Keys::mac([1; 32]), rng);
        device.with_messages(MessageSettings::of_small_device()).remembering()
    }

    fn created(group: &Group) -> (Device, [Device; 3]) {
        let rng = ChaCha20Rng::from_seed([200; 32]);
        let mut gateway = Device::controller(group, Keys::mac([1; 32]), rng).unwrap();
        let mut members = IDS.map(|me| member(group, me, 0));
        gateway.command(Command::Enroll(&IDS), 0).unwrap();
        for (member, (_, bytes)) in members.iter_mut().zip(gateway.confidential()) {
            member.receive_confidential(&bytes, 0).unwrap();
        }
        gateway.command(Command::Create(&IDS), 0).unwrap();
        deliver(&mut gateway, &mut members);
        (gateway, members)
    }

    fn deliver(gateway: &mut Device, members: &mut [Device]) -> Vec<Vec<u8>> {
        let sent: Vec<_> = gateway.outgoing().collect();
        for (to, bytes) in &sent {
            for member in members.iter_mut().filter(|member| to.includes(member.me(), |_| true)) {
                let _ = member.receive(bytes, 0);
            }
        }
        sent.into_iter().map(|(_, bytes)| bytes).collect()
    }

    fn said(sender: &mut Device, content: &[u8]) -> Vec<u8> {
        sender.send(content, 0).unwrap();
        sender.outgoing().find(|(to, _)| *to == Recipient::Group).unwrap().1
    }

    #[test]
    fn a_device_that_restarts_resumes_and_the_key_stays() {
        for scheme in ["lkh-group", "skdc", "oft"] {
            for suite in [Suite::Standard, Suite::Constrained] {
                let group = group(scheme, suite);
                let (mut gateway, [mut first, mut second, _]) = created(&group);
                let kept = second.membership(&STORAGE).unwrap();
                assert_eq!(second.membership(&STORAGE).unwrap(), kept, "it is the same");
                let heard = said(&mut first, b"before");
                second.receive(&heard, 0).unwrap();
                let missed = said(&mut first, b"missed");

                let mut second = member(&group, IDS[1], 1);
                second.resume(&STORAGE, &kept, 1, 0).unwrap();
                first.note_resumptions(1);
                let (_, request) = second.outgoing().next().unwrap();
                gateway.receive(&request, 0).unwrap();
                let answers: Vec<_> = gateway.outgoing().collect();
                let happened =
                    answers.iter().flat_map(|(_, answer)| second.receive(answer, 0).unwrap());
                let happened: Vec<_> = happened.collect();
                assert!(happened.contains(&DeviceOutput::Event(Event::Rekeyed(Epoch(1)))));
                assert_eq!(second.group_key(), gateway.group_key(), "{scheme}");
                // Nobody else noticed, and recordings are not heard again.
                for recorded in [heard, missed] {
                    let refused = second.receive(&recorded, 0);
                    assert_eq!(refused, Err(Misbehaviour::Replayed.into()));
                }
                assert_eq!(second.receive(&said(&mut first, b"after"), 0).unwrap().len(), 1);
                assert_eq!(first.receive(&said(&mut second, b"I am back"), 0).unwrap().len(), 1);
                // The membership is still there, and the group goes on.
                assert_eq!(second.membership(&STORAGE).unwrap(), kept);
                gateway.command(Command::Remove(IDS[2]), 0).unwrap();
                let mut stay = [first, second];
                deliver(&mut gateway, &mut stay);
                assert!(stay.iter().all(|member| member.group_key() == gateway.group_key()));
            }
        }
    }

    #[test]
    fn who_resumes_takes_no_recording_of_how_it_once_became_a_member() {
        let group = group("lkh-group", Suite::Standard);
        let rng = ChaCha20Rng::from_seed([200; 32]);
        let mut gateway = Device::controller(&group, Keys::mac([1; 32]), rng).unwrap();
        let mut members = IDS.map(|me| member(&group, me, 0));
        gateway.command(Command::Enroll(&IDS), 0).unwrap();
        for (member, (_, bytes)) in members.iter_mut().zip(gateway.confidential()) {
            member.receive_confidential(&bytes, 0).unwrap();
        }
        gateway.command(Command::Create(&IDS), 0).unwrap();
        let recorded = deliver(&mut gateway, &mut members);
        let kept = members[1].membership(&STORAGE).unwrap();
        gateway.command(Command::Remove(IDS[2]), 0).unwrap();
        deliver(&mut gateway, &mut members);
        let mut back = member(&group, IDS[1], 1);
        back.resume(&STORAGE, &kept, 1, 0).unwrap();
        for bytes in recorded {
            assert_eq!(back.receive(&bytes, 0), Err(Misbehaviour::UnexpectedMessage.into()));
        }
        assert!(back.group_key().is_none());
        let (_, request) = back.outgoing().next().unwrap();
        gateway.receive(&request, 0).unwrap();
        deliver(&mut gateway, core::slice::from_mut(&mut back));
        assert_eq!(back.group_key(), gateway.group_key());
    }

    #[test]
    fn a_membership_opens_for_its_device_its_group_and_its_key_alone() {
        let ours = group("lkh-group", Suite::Standard);
        let (mut gateway, [_, mut second, mut third]) = created(&ours);
        let kept = second.membership(&STORAGE).unwrap();
        let refused = |device: &mut Device, storage: &Key, kept: &[u8]| {
            let refused = device.resume(storage, kept, 1, 0).is_err();
            refused && device.outgoing().next().is_none() && !device.resumes
        };
        let fresh = || member(&ours, IDS[1], 1);
        for place in 0..kept.len() {
            let mut changed = kept.clone();
            changed[place] ^= 1;
            assert!(refused(&mut fresh(), &STORAGE, &changed), "{place}");
            assert!(refused(&mut fresh(), &STORAGE, &kept[..place]), "{place}");
        }
        assert!(refused(&mut fresh(), &Key::from_bytes([8; 16]), &kept));
        assert!(refused(&mut member(&ours, IDS[0], 1), &STORAGE, &kept));
        let other = Group { instance: Instance([6; 16]), ..ours.clone() };
        assert!(refused(&mut member(&other, IDS[1], 1), &STORAGE, &kept));
        assert!(refused(&mut second, &STORAGE, &kept), "it is a member");
        assert!(gateway.membership(&STORAGE).is_err());
        assert!(fresh().membership(&STORAGE).is_err(), "it has no individual key");
        // Who was evicted meanwhile is not answered.
        let kept = third.membership(&STORAGE).unwrap();
        gateway.command(Command::Remove(IDS[2]), 0).unwrap();
        let mut evicted = member(&ours, IDS[2], 1);
        evicted.resume(&STORAGE, &kept, 1, 0).unwrap();
        let (_, request) = evicted.outgoing().next().unwrap();
        assert!(gateway.receive(&request, 0).is_err());
        deliver(&mut gateway, core::slice::from_mut(&mut evicted));
        assert!(evicted.group_key().is_none());
    }
}
