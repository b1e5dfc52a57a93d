//! openmls behind [`Library`].

mod crypto;

use groupkey::error::{Error, Misbehaviour};
use groupkey::{Key, MemberId};
use openmls::prelude::{
    BasicCredential, Ciphersuite, CredentialWithKey, GroupId, KeyPackage, KeyPackageIn,
    LeafNodeIndex, Lifetime, MlsGroup, MlsGroupCreateConfig, MlsMessageBodyIn, MlsMessageIn,
    MlsMessageOut, OpenMlsProvider as _, ProcessedMessage, ProcessedMessageContent,
    ProtocolVersion, Sender, StagedCommit, StagedWelcome,
};
use openmls::prelude::{Credential, MIXED_PLAINTEXT_WIRE_FORMAT_POLICY, Proposal};
use tls_codec::{Deserialize as _, Serialize as _};
use zeroize::Zeroizing;

use self::crypto::{Provider, Signer};
use crate::library::{
    Committed, Committer, Expected, FoundCommit, Identity, Library, malformed, name, refused,
};
use crate::resources::Resources;

/// A member's side of openmls.
pub(crate) struct OpenMls {
    provider: Provider,
    signer: Signer,
    credential: CredentialWithKey,
}

impl Library for OpenMls {
    type Group = MlsGroup;

    fn new(me: MemberId, resources: &Resources) -> Result<Self, Error> {
        let provider = Provider::new(resources);
        let signer = Signer::new(resources).map_err(refused)?;
        let credential = CredentialWithKey {
            credential: BasicCredential::new(name(me).to_vec()).into(),
            signature_key: signer.public().into(),
        };
        Ok(Self { provider, signer, credential })
    }

    fn key_package(&mut self) -> Result<Vec<u8>, Error> {
        let builder = KeyPackage::builder().key_package_lifetime(always());
        let credential = self.credential.clone();
        let built = builder.build(SUITE, &self.provider, &self.signer, credential);
        encoded(&built.map_err(refused)?.into_key_package().into())
    }

    fn found(&mut self, group_id: &[u8]) -> Result<MlsGroup, Error> {
        let (settings, id) = (settings(), GroupId::from_slice(group_id));
        let Self { provider, signer, credential } = self;
        MlsGroup::new_with_group_id(provider, signer, &settings, id, credential.clone())
            .map_err(refused)
    }

    fn join(
        &mut self,
        group_id: &[u8],
        welcome: &[u8],
        are_right: impl FnOnce(&[MemberId]) -> bool,
    ) -> Result<MlsGroup, Error> {
        // The library forgets the key package when it opens a welcome, whatever the welcome holds.
        let before = self.provider.keys();
        let result = self.enter_by(group_id, welcome, are_right);
        if result.is_err() {
            self.provider.restore(before);
        }
        result
    }

    fn commit(
        &mut self,
        group: &mut MlsGroup,
        added: &[&[u8]],
        removed: &[MemberId],
    ) -> Result<Committed, Error> {
        let Self { provider, signer, .. } = self;
        let version = ProtocolVersion::Mls10;
        let read = |bytes: &&[u8]| {
            key_package(bytes)?.validate(provider.crypto(), version).map_err(refused)
        };
        let added: Vec<KeyPackage> = added.iter().map(read).collect::<Result<_, _>>()?;
        let leaves: Vec<_> =
            removed.iter().map(|&member| leaf(group, member)).collect::<Result<_, _>>()?;
        let renews = added.is_empty();
        let bundle = group
            .commit_builder()
            .propose_adds(added)
            .propose_removals(leaves)
            .force_self_update(renews)
            .load_psks(provider.storage())
            .map_err(refused)?
            .build(provider.rand(), provider.crypto(), signer, |_| true)
            .map_err(refused)?
            .stage_commit(provider)
            .map_err(refused)?;
        let (commit, welcome, _) = bundle.into_messages();
        group.merge_pending_commit(provider).map_err(refused)?;
        let welcome = welcome.as_ref().map(encoded).transpose()?;
        Ok(Committed { commit: encoded(&commit)?, welcome })
    }

    fn process(
        &mut self,
        group: &mut MlsGroup,
        commit: &[u8],
        expected: &Expected,
    ) -> Result<(), Error> {
        let message = decoded(commit)?.try_into_protocol_message().map_err(malformed)?;
        let processed = group.process_message(&self.provider, message).map_err(refused)?;
        let by = committer(group, &processed)?;
        let ProcessedMessageContent::StagedCommitMessage(staged) = processed.into_content() else {
            return Err(Misbehaviour::Malformed.into());
        };
        expected.require(&found(group, by, &staged)?)?;
        group.merge_staged_commit(&self.provider, *staged).map_err(refused)
    }

    fn group_info(&mut self, group: &MlsGroup) -> Result<Vec<u8>, Error> {
        let crypto = self.provider.crypto();
        encoded(&group.export_group_info(crypto, &self.signer, true).map_err(refused)?)
    }

    fn enter(&mut self, group_id: &[u8], group_info: &[u8]) -> Result<(MlsGroup, Vec<u8>), Error> {
        let MlsMessageBodyIn::GroupInfo(info) = decoded(group_info)?.extract() else {
            return Err(Misbehaviour::Malformed.into());
        };
        if info.group_id().as_slice() != group_id {
            return Err(Misbehaviour::ForeignGroup.into());
        }
        let Self { provider, signer, credential } = self;
        let (group, bundle) = MlsGroup::external_commit_builder()
            .with_config(settings().join_config().clone())
            .build_group(provider, info, credential.clone())
            .map_err(refused)?
            .load_psks(provider.storage())
            .map_err(refused)?
            .build(provider.rand(), provider.crypto(), signer, |_| true)
            .map_err(refused)?
            .finalize(provider)
            .map_err(refused)?;
        Ok((group, encoded(bundle.commit())?))
    }

    fn members(group: &MlsGroup) -> Result<Vec<MemberId>, Error> {
        group
            .members()
            .map(|leaf| Ok(identity(&leaf.credential, &leaf.signature_key)?.member))
            .collect()
    }

    fn export(&self, group: &MlsGroup, label: &str, context: &[u8]) -> Result<Key, Error> {
        let crypto = self.provider.crypto();
        let secret = group.export_secret(crypto, label, context, Key::BYTES).map_err(refused)?;
        let secret = Zeroizing::new(secret);
        Ok(Key::from_bytes(secret[..].try_into().map_err(malformed)?))
    }

    fn identity(bytes: &[u8]) -> Result<Identity, Error> {
        let CredentialWithKey { credential, signature_key } =
            key_package(bytes)?.unverified_credential();
        identity(&credential, signature_key.as_slice())
    }
}

impl OpenMls {
    fn enter_by(
        &self,
        group_id: &[u8],
        welcome: &[u8],
        are_right: impl FnOnce(&[MemberId]) -> bool,
    ) -> Result<MlsGroup, Error> {
        let MlsMessageBodyIn::Welcome(welcome) = decoded(welcome)?.extract() else {
            return Err(Misbehaviour::Malformed.into());
        };
        let settings = settings();
        let staged =
            StagedWelcome::build_from_welcome(&self.provider, settings.join_config(), welcome)
                .map_err(refused)?
                .replace_old_group()
                .build()
                .map_err(refused)?;
        if staged.group_context().group_id().as_slice() != group_id {
            return Err(Misbehaviour::ForeignGroup.into());
        }
        let members: Vec<_> = staged
            .members()
            .map(|leaf| Ok(identity(&leaf.credential, &leaf.signature_key)?.member))
            .collect::<Result<_, Error>>()?;
        if !are_right(&members) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        staged.into_group(&self.provider).map_err(refused)
    }
}

const SUITE: Ciphersuite = Ciphersuite::MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519;

fn settings() -> MlsGroupCreateConfig {
    MlsGroupCreateConfig::builder()
        .wire_format_policy(MIXED_PLAINTEXT_WIRE_FORMAT_POLICY)
        .ciphersuite(SUITE)
        .use_ratchet_tree_extension(true)
        .lifetime(always())
        .build()
}

/// From the beginning of time to its end: the library reads the clock, and no answer depends on it.
fn always() -> Lifetime {
    Lifetime::init(0, u64::MAX)
}

fn committer(group: &MlsGroup, processed: &ProcessedMessage) -> Result<By, Error> {
    match processed.sender() {
        &Sender::Member(leaf) => {
            let leaf = group.member_at(leaf).ok_or(Misbehaviour::Malformed)?;
            Ok(By::Member(identity(&leaf.credential, &leaf.signature_key)?.member))
        }
        Sender::NewMemberCommit => Ok(By::Newcomer),
        _ => Err(Misbehaviour::UnexpectedSender.into()),
    }
}

/// The kind of a commit's sender.
enum By {
    Member(MemberId),
    Newcomer,
}

fn found(group: &MlsGroup, by: By, staged: &StagedCommit) -> Result<FoundCommit, Error> {
    let by = match by {
        By::Member(member) => Committer::Member(member),
        By::Newcomer => {
            let leaf = staged.update_path_leaf_node().ok_or(Misbehaviour::Malformed)?;
            Committer::Newcomer(identity(leaf.credential(), leaf.signature_key().as_slice())?)
        }
    };
    let mut found = FoundCommit { by, added: Vec::new(), removed: Vec::new(), others: 0 };
    for proposal in staged.queued_proposals() {
        match proposal.proposal() {
            Proposal::Add(add) => {
                let leaf = add.key_package().leaf_node();
                let added = identity(leaf.credential(), leaf.signature_key().as_slice())?;
                found.added.push(added);
            }
            Proposal::Remove(remove) => {
                let leaf = group.member_at(remove.removed()).ok_or(Misbehaviour::Malformed)?;
                found.removed.push(identity(&leaf.credential, &leaf.signature_key)?);
            }
            _ => found.others += 1,
        }
    }
    Ok(found)
}

fn identity(credential: &Credential, signature_key: &[u8]) -> Result<Identity, Error> {
    let basic = BasicCredential::try_from(credential.clone()).map_err(malformed)?;
    Identity::read(basic.identity(), signature_key)
}

fn leaf(group: &MlsGroup, wanted: MemberId) -> Result<LeafNodeIndex, Error> {
    let wanted = BasicCredential::new(name(wanted).to_vec()).into();
    group.member_leaf_index(&wanted).ok_or_else(|| Misbehaviour::InvalidRoster.into())
}

fn key_package(bytes: &[u8]) -> Result<KeyPackageIn, Error> {
    match decoded(bytes)?.extract() {
        MlsMessageBodyIn::KeyPackage(key_package) => Ok(key_package),
        _ => Err(Misbehaviour::Malformed.into()),
    }
}

fn decoded(message: &[u8]) -> Result<MlsMessageIn, Error> {
    MlsMessageIn::tls_deserialize_exact(message).map_err(malformed)
}

fn encoded(message: &MlsMessageOut) -> Result<Vec<u8>, Error> {
    message.tls_serialize_detached().map_err(malformed)
}
