//! The settings of a peer, and the reasons for which they are refused.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use groupkey::catalogue::Class;
use groupkey::event_order::{Evict, Join, Rules};
use groupkey::messages;
use groupkey::protection::Guard;
use groupkey::{GroupContext, Instance, MemberId, PartyId, SubgroupId};

use super::hello::LastWill;
use crate::codec::encoded;
use crate::group_form::GroupForm;
use crate::keyring::{Keyring, Secret};
use crate::store::StoreError;
use crate::topics::{BadPrefix, Topics};

/// The settings of a peer.
#[derive(Clone, Debug)]
pub struct PeerSettings {
    /// The prefix of the group's topics.
    pub prefix: String,
    /// This peer's number.
    pub me: MemberId,
    /// This peer's identity.
    pub identity: Secret,
    /// Scheme, parameters and algorithms, the same for all peers.
    pub form: GroupForm,
    /// All devices that may ever be members, with their public keys.
    pub directory: Vec<(MemberId, [u8; 32])>,
    /// The founders of the group, the same list for all peers.
    pub founders: Vec<MemberId>,
    /// Who may evict a member, and who may join, the same for all peers.
    pub rules: Rules,
    /// The public keys of the group's operators, in the same order for all peers.
    pub operators: Vec<[u8; 32]>,
    /// Messages that operators have signed and this peer passes on: tickets, its own included, and
    /// evictions. Anybody may know them.
    pub words: Vec<Vec<u8>>,
    /// Settings of messages to the group.
    pub messages: messages::MessageSettings,
    /// After which time without a join or leave the key changes, the same for all peers. It needs
    /// [`Operation::Rekey`](groupkey::Operation::Rekey).
    pub period: Option<Duration>,
}

/// The reason why no peer can take part with the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerSettingsError {
    /// The scheme has a controller: its members join a service.
    HasController,
    /// The scheme needs the members' long-term keys, which peers do not have.
    LongTermKeys,
    /// A member's public key is missing or invalid.
    NoKey(MemberId),
    /// The rules need operators, and there are none.
    NoOperators,
    /// An operator's public key is invalid.
    OperatorKey,
    /// The group's decisions were not loaded.
    Memory(StoreError),
    /// Messages would need a MAC, and peers share no key for it.
    NoMacKey,
    /// Topics cannot have this prefix.
    Prefix(BadPrefix),
}

impl PeerSettings {
    /// Returns the last will of this peer's connection, for
    /// [`Connection::will`](crate::Connection): topic and payload. `None` if topics cannot have the
    /// prefix.
    pub fn will(&self) -> Option<(String, Vec<u8>)> {
        let topics = Topics::new(&self.prefix).ok()?;
        Some((topics.join(), encoded(&LastWill { member: self.me.0 })))
    }

    /// Returns the context of what is said before a peer knows which founding of the group there is:
    /// that of the instance of zeros.
    pub(super) fn before_founding(&self) -> GroupContext {
        self.form.setting(&self.prefix, Instance::default()).context
    }

    /// Returns the group's topics and the peers' keys. Fails if no peer can take part with these
    /// settings.
    pub(super) fn check(&self) -> Result<(Topics, Keyring), PeerSettingsError> {
        let topics = Topics::new(&self.prefix).map_err(PeerSettingsError::Prefix)?;
        let scheme = self.form.configuration.scheme();
        if scheme.class() != Class::Distributed {
            return Err(PeerSettingsError::HasController);
        }
        if WITH_LONG_TERM_KEYS.contains(&scheme.id) {
            return Err(PeerSettingsError::LongTermKeys);
        }
        if self.form.guard == Guard::Mac {
            return Err(PeerSettingsError::NoMacKey);
        }
        let mut keyring = Keyring::default();
        for (member, public) in &self.directory {
            if !keyring.learn((*member).into(), public) {
                return Err(PeerSettingsError::NoKey(*member));
            }
        }
        let known = |member| self.directory.iter().any(|&(other, _)| other == member);
        if let Some(&stranger) = self.founders.iter().find(|&&founder| !known(founder)) {
            return Err(PeerSettingsError::NoKey(stranger));
        }
        let needs_operators =
            self.rules.evict == Evict::Operators || self.rules.join == Join::Ticket;
        if needs_operators && self.operators.is_empty() {
            return Err(PeerSettingsError::NoOperators);
        }
        for (operator, public) in (0..).zip(&self.operators) {
            if !keyring.learn(operator_at(operator), public) {
                return Err(PeerSettingsError::OperatorKey);
            }
        }
        keyring.own(self.me.into(), &self.identity);
        Ok((topics, keyring))
    }
}

/// The party in whose name the operator at this place of the list signs.
pub(super) const fn operator_at(place: u32) -> PartyId {
    PartyId::SubgroupController(SubgroupId(place))
}

/// Schemes that ask for [`Context::with_peer_keys`](groupkey::Context::with_peer_keys).
const WITH_LONG_TERM_KEYS: [&str; 4] = ["cka", "d-lkh", "d-oft", "sender-keys"];

impl fmt::Display for PeerSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HasController => write!(
                f,
                "the scheme has a controller: its members join a service and are not peers"
            ),
            Self::LongTermKeys => write!(
                f,
                "the scheme needs the members' long-term keys, which peers do not have; choose \
                 tgdh, or another scheme of groupkey schemes --class distributed"
            ),
            Self::NoMacKey => write!(
                f,
                "peers share no key for a MAC: set protection = \"signature\", or remove the line"
            ),
            Self::NoOperators => write!(
                f,
                "the group's rules need operators: give the public key of one, in operators"
            ),
            Self::OperatorKey => write!(f, "the public key of an operator is invalid"),
            Self::Memory(error) => write!(f, "{error}"),
            Self::NoKey(member) => write!(f, "there is no valid public key of member {member}"),
            Self::Prefix(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for PeerSettingsError {}
