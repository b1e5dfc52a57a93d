//! mls-rs behind [`Library`].

mod crypto;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use groupkey::error::{Error, Misbehaviour};
use groupkey::{Key, MemberId};
use mls_rs::client_builder::{BaseConfig, WithCryptoProvider, WithIdentityProvider, WithMlsRules};
use mls_rs::error::IntoAnyError;
use mls_rs::extension::built_in::RatchetTreeExt;
use mls_rs::group::{ContentType, GroupContext, Roster};
use mls_rs::identity::basic::{BasicCredential, BasicIdentityProvider};
use mls_rs::identity::{Credential, SigningIdentity};
use mls_rs::mls_rules::{
    CommitDirection, CommitOptions, CommitSource, EncryptionOptions, ProposalBundle,
};
use mls_rs::time::MlsTime;
use mls_rs::{CipherSuite, Client, Group, MlsMessage, MlsMessageDescription, MlsRules};

use self::crypto::MlsRsCrypto;
use crate::library::{
    Committed, Committer, Expected, FoundCommit, Identity, Library, malformed, name, refused,
};
use crate::resources::Resources;

/// A member's side of mls-rs.
pub(crate) struct MlsRs {
    client: Client<Config>,
    me: MemberId,
    expected: Expectation,
}

impl Library for MlsRs {
    type Group = Group<Config>;

    fn new(me: MemberId, resources: &Resources) -> Result<Self, Error> {
        let crypto = MlsRsCrypto::new(resources);
        let (secret, public) = crypto.signature_keys().map_err(refused)?;
        let credential = BasicCredential::new(name(me).to_vec()).into_credential();
        let expected = Expectation::default();
        let client = Client::builder()
            .identity_provider(BasicIdentityProvider)
            .crypto_provider(crypto)
            .mls_rules(CommitRules(expected.clone()))
            .key_package_lifetime(Duration::from_secs(u64::MAX))
            .signing_identity(SigningIdentity::new(credential, public), secret, SUITE)
            .build();
        Ok(Self { client, me, expected })
    }

    fn key_package(&mut self) -> Result<Vec<u8>, Error> {
        let (none, time) = (Default::default(), Some(now()));
        let package = self.client.generate_key_package_message(none, Default::default(), time);
        encoded(&package.map_err(refused)?)
    }

    fn found(&mut self, group_id: &[u8]) -> Result<Self::Group, Error> {
        let (id, none) = (group_id.to_vec(), Default::default());
        let founded = self.client.create_group_with_id(id, none, Default::default(), Some(now()));
        founded.map_err(refused)
    }

    fn join(
        &mut self,
        group_id: &[u8],
        welcome: &[u8],
        are_right: impl FnOnce(&[MemberId]) -> bool,
    ) -> Result<Self::Group, Error> {
        let (group, _) =
            self.client.join_group(None, &decoded(welcome)?, Some(now())).map_err(refused)?;
        if group.group_id() != group_id {
            return Err(Misbehaviour::ForeignGroup.into());
        }
        match are_right(&Self::members(&group)?) {
            true => Ok(group),
            false => Err(Misbehaviour::InvalidRoster.into()),
        }
    }

    fn commit(
        &mut self,
        group: &mut Self::Group,
        added: &[&[u8]],
        removed: &[MemberId],
    ) -> Result<Committed, Error> {
        let leaves: Vec<_> =
            removed.iter().map(|&member| leaf(group, member)).collect::<Result<_, _>>()?;
        let mut builder = group.commit_builder().commit_time(now());
        for key_package in added {
            builder = builder.add_member(decoded(key_package)?).map_err(refused)?;
        }
        for leaf in leaves {
            builder = builder.remove_member(leaf).map_err(refused)?;
        }
        let made = builder.build().map_err(refused)?;
        let commit = encoded(made.commit_message())?;
        let welcome = made.welcome_messages().first().map(encoded).transpose()?;
        group.apply_pending_commit().map_err(refused)?;
        Ok(Committed { commit, welcome })
    }

    fn process(
        &mut self,
        group: &mut Self::Group,
        commit: &[u8],
        expected: &Expected,
    ) -> Result<(), Error> {
        let commit = decoded(commit)?;
        // A proposal would be kept for the next commit.
        let MlsMessageDescription::PublicProtocolMessage {
            content_type: ContentType::Commit, ..
        } = commit.description()
        else {
            return Err(Misbehaviour::Malformed.into());
        };
        self.expected.set(Some(expected.clone()));
        let processed = group.process_incoming_message_with_time(commit, now());
        match self.expected.take_refusal() {
            Some(error) => Err(error),
            None => processed.map(drop).map_err(refused),
        }
    }

    fn group_info(&mut self, group: &Self::Group) -> Result<Vec<u8>, Error> {
        encoded(&group.group_info_message_allowing_ext_commit(true).map_err(refused)?)
    }

    fn enter(
        &mut self,
        group_id: &[u8],
        group_info: &[u8],
    ) -> Result<(Self::Group, Vec<u8>), Error> {
        let info = decoded(group_info)?;
        if info.group_id().is_none_or(|id| id != group_id) {
            return Err(Misbehaviour::ForeignGroup.into());
        }
        let own = leaf_in(&info, self.me)?;
        let builder = self.client.external_commit_builder().map_err(refused)?;
        let entered = builder.with_removal(own).commit_time(now()).build(info);
        let (group, commit) = entered.map_err(refused)?;
        Ok((group, encoded(&commit)?))
    }

    fn members(group: &Self::Group) -> Result<Vec<MemberId>, Error> {
        let roster = group.roster();
        let members = roster.member_identities_iter().map(|it| Ok(identity(it)?.member));
        members.collect()
    }

    fn export(&self, group: &Self::Group, label: &str, context: &[u8]) -> Result<Key, Error> {
        let secret = group.export_secret(label.as_bytes(), context, Key::BYTES).map_err(refused)?;
        let key = secret.as_bytes().try_into().map_err(malformed)?;
        Ok(Key::from_bytes(key))
    }

    fn identity(key_package: &[u8]) -> Result<Identity, Error> {
        let message = decoded(key_package)?;
        let key_package = message.as_key_package().ok_or(Misbehaviour::Malformed)?;
        identity(key_package.signing_identity())
    }
}

type Config = WithMlsRules<
    CommitRules,
    WithCryptoProvider<MlsRsCrypto, WithIdentityProvider<BasicIdentityProvider, BaseConfig>>,
>;

const SUITE: CipherSuite = CipherSuite::CURVE25519_AES128;

/// Leaves are valid from the beginning of time to its end, so the time of a step does not matter.
fn now() -> MlsTime {
    MlsTime::default()
}

/// What the next commit must do, shared with the rules that mls-rs asks before it changes anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expectation(Arc<Mutex<(Option<Expected>, Option<Error>)>>);

impl Expectation {
    fn set(&self, expected: Option<Expected>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (expected, None);
    }

    /// Nothing is expected any more. Returns why the last commit was refused, if it was.
    fn take_refusal(&self) -> Option<Error> {
        core::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).1
    }

    fn require(&self, found: Result<FoundCommit, Error>) -> Result<(), Unexpected> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = state.0.take().ok_or(Unexpected)?;
        let result = found.and_then(|found| expected.require(&found));
        result.map_err(|error| {
            state.1 = Some(error);
            Unexpected
        })
    }
}

/// The rules of a member: a commit does what the event under way asks for, and nothing else.
#[derive(Clone, Debug)]
pub(crate) struct CommitRules(Expectation);

impl MlsRules for CommitRules {
    type Error = Unexpected;

    fn filter_proposals(
        &self,
        direction: CommitDirection,
        source: CommitSource,
        roster: &Roster<'_>,
        _: &GroupContext,
        proposals: ProposalBundle,
    ) -> Result<ProposalBundle, Unexpected> {
        if direction == CommitDirection::Receive {
            self.0.require(found(&source, roster, &proposals))?;
        }
        Ok(proposals)
    }

    fn commit_options(
        &self,
        _: &Roster<'_>,
        _: &GroupContext,
        _: &ProposalBundle,
    ) -> Result<CommitOptions, Unexpected> {
        Ok(CommitOptions::default())
    }

    fn encryption_options(
        &self,
        _: &Roster<'_>,
        _: &GroupContext,
    ) -> Result<EncryptionOptions, Unexpected> {
        Ok(EncryptionOptions::default())
    }
}

/// A commit does not do what is expected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unexpected;

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the commit does not do what is expected")
    }
}

impl std::error::Error for Unexpected {}

impl IntoAnyError for Unexpected {}

fn found(
    source: &CommitSource,
    roster: &Roster<'_>,
    proposals: &ProposalBundle,
) -> Result<FoundCommit, Error> {
    let by = match source {
        CommitSource::ExistingMember(member) => {
            Committer::Member(identity(&member.signing_identity)?.member)
        }
        CommitSource::NewMember(newcomer) => Committer::Newcomer(identity(newcomer)?),
    };
    let added: Vec<_> = proposals
        .add_proposals()
        .iter()
        .map(|add| identity(add.proposal.signing_identity()))
        .collect::<Result<_, _>>()?;
    let removed: Vec<_> = proposals
        .remove_proposals()
        .iter()
        .map(|remove| {
            let leaf = roster.member_with_index(remove.proposal.to_remove()).map_err(refused)?;
            identity(&leaf.signing_identity)
        })
        .collect::<Result<_, _>>()?;
    let others = proposals.length() - added.len() - removed.len();
    Ok(FoundCommit { by, added, removed, others })
}

fn identity(signing: &SigningIdentity) -> Result<Identity, Error> {
    match &signing.credential {
        Credential::Basic(basic) => Identity::read(basic.identifier(), &signing.signature_key),
        _ => Err(Misbehaviour::Malformed.into()),
    }
}

/// Finds a member's leaf in the tree that comes with a group's information.
fn leaf_in(group_info: &MlsMessage, wanted: MemberId) -> Result<u32, Error> {
    let group_info = group_info.as_group_info().ok_or(Misbehaviour::Malformed)?;
    let tree = group_info.extensions().get_as::<RatchetTreeExt>().map_err(malformed)?;
    let tree = tree.ok_or(Misbehaviour::Malformed)?;
    let is_it = |signing: &SigningIdentity| identity(signing).is_ok_and(|it| it.member == wanted);
    let found = tree.tree_data().roster().members_iter().find(|leaf| is_it(&leaf.signing_identity));
    found.map(|leaf| leaf.index).ok_or_else(|| Misbehaviour::InvalidRoster.into())
}

fn leaf(group: &Group<Config>, wanted: MemberId) -> Result<u32, Error> {
    let found = group.member_with_identity(&name(wanted)).map_err(refused)?;
    Ok(found.index)
}

fn decoded(message: &[u8]) -> Result<MlsMessage, Error> {
    MlsMessage::from_bytes(message).map_err(malformed)
}

fn encoded(message: &MlsMessage) -> Result<Vec<u8>, Error> {
    message.to_bytes().map_err(malformed)
}
