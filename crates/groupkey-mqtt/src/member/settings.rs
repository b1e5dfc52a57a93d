//! The settings with which a device joins, and the reasons for which they are refused.

use alloc::string::String;
use core::fmt;

use groupkey::catalogue::Scheme;
use groupkey::messages;

use crate::event::Hint;
use crate::group_form::{Allowed, EncodedForm, FormError, GroupForm};
use crate::join::JoinCredentials;
use crate::keyring::Secret;
use crate::member::Freshness;
use crate::topics::{BadPrefix, Topics, is_name};

/// The settings with which a device joins.
#[derive(Clone, Debug)]
pub struct MemberSettings {
    /// The prefix of the group's topics.
    pub prefix: String,
    /// The device's name: see [`is_name`](crate::topics::is_name).
    pub name: String,
    /// The device's identity. It must outlive a restart.
    pub identity: Secret,
    /// A pre-shared key, or an enrolment token for the first join.
    pub shared: Option<Secret>,
    /// The service's public key. Without it there must be a shared secret.
    pub service: Option<[u8; 32]>,
    /// Which weak forms of a group the device accepts. It joins no weaker group, and follows no change
    /// to one.
    pub allowed: Allowed,
    /// Settings of messages to the group. Whether members sign, the service says.
    pub messages: messages::MessageSettings,
    /// How the device makes sure that its key is the group's latest.
    pub freshness: Freshness,
}

/// The reason why no device can join with the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberSettingsError {
    /// A device cannot have this name.
    Name,
    /// There is neither a shared secret nor the service's public key, so the device could not
    /// authenticate the service.
    NoTrust,
    /// Topics cannot have this prefix.
    Prefix(BadPrefix),
}

impl MemberSettings {
    /// Returns the group's topics. Fails if no device can join with these settings.
    pub(super) fn topics(&self) -> Result<Topics, MemberSettingsError> {
        let topics = Topics::new(&self.prefix).map_err(MemberSettingsError::Prefix)?;
        if !is_name(&self.name) {
            return Err(MemberSettingsError::Name);
        }
        if self.shared.is_none() && self.service.is_none() {
            return Err(MemberSettingsError::NoTrust);
        }
        Ok(topics)
    }

    /// Reads the form of a group, whose scheme must be one of `schemes`. Returns why the device takes no
    /// part in such a group, if so.
    pub(super) fn form(
        &self,
        written: &EncodedForm,
        schemes: &'static [Scheme],
    ) -> Result<GroupForm, Hint> {
        let form = GroupForm::read(written, schemes).map_err(|_| Hint::OtherScheme)?;
        match form.check(self.allowed) {
            Ok(()) => Ok(form),
            Err(FormError::TooWeak(weakness)) => Err(Hint::TooWeak(weakness)),
            Err(_) => Err(Hint::OtherScheme),
        }
    }

    pub(super) const fn credentials(&self) -> JoinCredentials<'_> {
        JoinCredentials {
            prefix: self.prefix.as_str(),
            name: self.name.as_str(),
            identity: &self.identity,
            shared: self.shared.as_ref(),
        }
    }
}

impl fmt::Display for MemberSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => {
                write!(f, "a name has 1 to 64 letters, digits, dots, dashes and underscores")
            }
            Self::NoTrust => write!(
                f,
                "give a pre-shared key, a token or the service's public key: without them, the \
                 device cannot authenticate the service"
            ),
            Self::Prefix(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for MemberSettingsError {}
