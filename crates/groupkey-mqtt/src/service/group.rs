//! The group in force: its founding, its secrets, and the parties of the controller's process.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use groupkey::error::Misuse;
use groupkey::protection::{Directory, Guard};
use groupkey::{Channel, Epoch, Error, GroupContext, Instance, Key, MemberId, Operation, PartyId};
use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::checkpoint::SavedParty;
use super::log_chain::LogState;
use super::log_entry::Secrets;
use super::roster::DeviceRoster;
use crate::codec::encoded;
use crate::group_form::GroupForm;
use crate::join::{Place, Welcome};
use crate::keyring::{Keyring, Secret};
use crate::local_parties::{LocalParties, OwnedCommand, PartyInput, StepOutput};
use crate::notice::{Expectations, Farewell, Notice, ReachedEpoch};
use crate::sender_certificate::certify;
use crate::topics::Topics;

/// The group in force. Its parties are the controller and the controllers of its subgroups.
pub(super) struct LiveGroup {
    identity: Secret,
    /// When the group was founded, ms since 1970.
    founded: u64,
    instance: ByteArray<16>,
    /// The first epoch whose key counts.
    valid_from: Epoch,
    mac: Option<Secret>,
    /// The subgroup controllers' identities, by the subgroup's number.
    subgroups: Vec<Secret>,
    /// The public keys that a new member learns.
    controllers: Vec<(i64, ByteArray<32>)>,
    parties: LocalParties,
}

/// A message for the confidential channel to a new member.
pub(super) type EnrolmentMessage = (MemberId, Zeroizing<Vec<u8>>);

impl LiveGroup {
    pub(super) fn new(form: GroupForm, secrets: &Secrets, prefix: &str) -> Self {
        let identity = Secret::from_bytes(secrets.identity.into()).signing_often();
        let mac = secrets.mac.map(|key| Secret::from_bytes(key.into()));
        let subgroups: Vec<_> =
            secrets.subgroups.iter().map(|secret| Secret::from_bytes((*secret).into())).collect();
        let mut keyring = Keyring::default();
        let mut controllers = vec![(0, identity.public().into())];
        keyring.own(PartyId::Controller, &identity);
        mac.iter().for_each(|key| keyring.share_mac(key));
        let controller = form.configuration.controller();
        let seats = form.configuration.subgroup_controllers();
        for ((subgroup, _), secret) in seats.iter().zip(&subgroups) {
            controllers.push((PartyId::from(*subgroup).number(), secret.public().into()));
            keyring.own((*subgroup).into(), secret);
        }
        let setting = form.setting(prefix, Instance(secrets.instance.into()));
        let mut parties = LocalParties::new(form, setting, keyring);
        parties.seat(PartyId::Controller, controller.expect("the scheme was checked to have one"));
        for (subgroup, party) in seats {
            parties.seat(subgroup.into(), party);
        }
        let (founded, instance, valid_from) = (secrets.founded, secrets.instance, Epoch(0));
        Self { identity, founded, instance, valid_from, mac, subgroups, controllers, parties }
    }

    /// Becomes a later founding. No device may have been admitted yet.
    pub(super) fn postdate(&mut self, founded: u64, instance: ByteArray<16>, prefix: &str) {
        (self.founded, self.instance) = (founded, instance);
        let setting = self.form().setting(prefix, Instance(instance.into()));
        self.parties.set_setting(setting);
    }

    pub(super) const fn identity(&self) -> &Secret {
        &self.identity
    }

    pub(super) const fn founded(&self) -> u64 {
        self.founded
    }

    pub(super) const fn form(&self) -> &GroupForm {
        self.parties.form()
    }

    pub(super) const fn context(&self) -> &GroupContext {
        self.parties.group_context()
    }

    pub(super) fn key(&self) -> Option<(Epoch, &Key)> {
        self.parties.group_key(PartyId::Controller)
    }

    /// Fills `output` with bytes that follow from the group key. Returns the epoch.
    pub(super) fn export(
        &self,
        label: &str,
        context: &[u8],
        output: &mut [u8],
    ) -> Result<Epoch, Error> {
        let key = self.key().ok_or(Misuse::NotCreated)?;
        self.parties.setting().export(key, label, context, output)?;
        Ok(key.0)
    }

    /// Returns the epoch: 0 before there is a key.
    pub(super) fn epoch(&self) -> Epoch {
        self.key().map_or(Epoch(0), |(epoch, _)| epoch)
    }

    /// Returns the first epoch whose key counts.
    pub(super) const fn valid_from(&self) -> Epoch {
        self.valid_from
    }

    /// Lets the keys before this epoch count no longer.
    pub(super) const fn refuse_before(&mut self, epoch: Epoch) {
        self.valid_from = epoch;
    }

    pub(super) fn place(&self, member: u32) -> Place {
        Place::new(member, &self.instance)
    }

    pub(super) const fn most_members(&self) -> usize {
        self.form().configuration.scheme().members.1 as usize
    }

    pub(super) fn topics(&self, topics: &Topics) -> BTreeSet<String> {
        let numbers = self.controllers.iter().skip(1);
        let parties = numbers.filter_map(|(number, _)| PartyId::from_number(*number));
        parties.map(|party| topics.of(party.into())).collect()
    }

    pub(super) fn command(
        &mut self,
        command: &OwnedCommand,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<StepOutput, Error> {
        self.parties.step(PartyId::Controller, PartyInput::Command(command), now, rng)
    }

    /// Gives a party a message from the network.
    pub(super) fn receive(
        &mut self,
        party: PartyId,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<StepOutput, Error> {
        self.parties.step(party, PartyInput::Message(Channel::Open, bytes), now, rng)
    }

    pub(super) fn learn(&mut self, member: u32, identity: &[u8; 32]) {
        self.parties.keyring.learn(MemberId(member).into(), identity);
    }

    /// Accepts no further messages of a member.
    pub(super) fn forget(&mut self, member: u32) {
        self.parties.keyring.forget(MemberId(member).into());
    }

    pub(super) fn knows(&self, member: MemberId) -> bool {
        self.parties.keyring.knows(member.into())
    }

    pub(super) fn welcome(&self, member: u32, enrolment: &[EnrolmentMessage]) -> Welcome {
        let own = enrolment.iter().filter(|(to, _)| to.0 == member);
        Welcome {
            member,
            form: self.form().write(),
            mac: self.mac.as_ref().map(|key| (*key.as_bytes()).into()),
            controllers: self.controllers.clone(),
            enrolment: own.map(|(_, bytes)| bytes.to_vec().into()).collect(),
            founded: self.founded,
            instance: self.instance,
            epoch: self.epoch().0,
            certificate: self.certificate(member).map(Into::into),
        }
    }

    /// Signs a member's certificate, if members sign and the member is known.
    fn certificate(&self, member: u32) -> Option<[u8; 64]> {
        let member = MemberId(member);
        let public = self.parties.keyring.public_identity(member.into())?;
        let public = public.to_ed25519_bytes()?;
        let signs = self.form().has_signed_senders();
        signs.then(|| certify(self.context(), member, &public, &self.identity))
    }

    /// Signs a notice of the epoch, for the group under this prefix of topics.
    pub(super) fn notice(
        &self,
        prefix: &str,
        members: usize,
        resumptions: u32,
        state: &LogState,
        (active, expectations): (Epoch, Expectations),
    ) -> Vec<u8> {
        let (group, epoch) = (self.form().group.0, self.epoch().0);
        let (founded, valid_from, active) = (self.founded, self.valid_from.0, active.0);
        let reached =
            ReachedEpoch { group, founded, epoch, resumptions, valid_from, active, expectations };
        let state = (state.entries, state.hash);
        Notice::write(prefix, reached, members as u64, state, &self.identity)
    }

    /// Signs the farewell to a member that the present epoch removed.
    pub(super) fn farewell(&self, member: u32) -> Vec<u8> {
        let epoch = self.epoch().0;
        Farewell::write(self.context(), self.founded, member, epoch, &self.identity)
    }

    pub(super) fn secrets(&self) -> Secrets {
        let bytes = |secret: &Secret| ByteArray::from(*secret.as_bytes());
        Secrets {
            identity: bytes(&self.identity),
            mac: self.mac.as_ref().map(bytes),
            subgroups: self.subgroups.iter().map(bytes).collect(),
            founded: self.founded,
            instance: self.instance,
        }
    }

    /// Returns the parties' states, for a checkpoint. Fails if a party has no saved form.
    pub(super) fn saved(&self) -> Result<Vec<SavedParty>, Error> {
        let saved = self.parties.saved()?.into_iter().map(|(id, state)| SavedParty {
            number: id.number(),
            state: state.as_bytes().to_vec().into(),
        });
        Ok(saved.collect())
    }

    pub(super) fn restore(&mut self, parties: &[SavedParty]) -> Result<(), Error> {
        for SavedParty { number, state } in parties {
            let party = PartyId::from_number(*number).ok_or(Misuse::WrongRole)?;
            self.parties.restore(party, state)?;
        }
        Ok(())
    }

    /// Returns a hash of the state that a replay must lead to: the devices, and the epochs and keys
    /// of all parties. It goes into the store only.
    pub(super) fn fingerprint(&self, roster: &DeviceRoster) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"groupkey state of a service 1");
        hash.update(self.founded.to_be_bytes());
        hash.update(encoded(&roster.replayed()));
        for (id, epoch, key) in self.parties.group_keys() {
            hash.update(id.number().to_be_bytes());
            hash.update(epoch.0.to_be_bytes());
            hash.update(key.as_bytes());
        }
        hash.finalize().into()
    }

    /// Returns a short hash of the controller's epoch and key, to be checked after each command.
    pub(super) fn key_check(&self) -> [u8; 8] {
        let mut hash = Sha256::new();
        hash.update(b"groupkey check of a key 1");
        if let Some((epoch, key)) = self.key() {
            hash.update(epoch.0.to_be_bytes());
            hash.update(key.as_bytes());
        }
        let hash: [u8; 32] = hash.finalize().into();
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        first
    }
}

impl Secrets {
    /// Draws the secrets of a group, and an identity unless there is one.
    pub(super) fn draw(
        form: &GroupForm,
        identity: Option<&Secret>,
        (founded, instance): (u64, ByteArray<16>),
        rng: &mut ChaCha20Rng,
    ) -> Self {
        let mut secret = || {
            let mut secret = [0; 32];
            rng.fill_bytes(&mut secret);
            ByteArray::from(secret)
        };
        Self {
            identity: match identity {
                Some(identity) => (*identity.as_bytes()).into(),
                None => secret(),
            },
            mac: (form.guard == Guard::Mac).then(&mut secret),
            subgroups: form.configuration.subgroup_controllers().iter().map(|_| secret()).collect(),
            founded,
            instance,
        }
    }
}

pub(super) fn draw_instance(rng: &mut ChaCha20Rng) -> ByteArray<16> {
    let mut instance = [0; Instance::BYTES];
    rng.fill_bytes(&mut instance);
    instance.into()
}

pub(super) fn has(form: &GroupForm, operation: Operation) -> bool {
    form.configuration.scheme().operations.contains(&operation)
}
