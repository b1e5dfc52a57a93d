//! Names in a scenario. The error for an unknown name lists the known names.

use std::sync::Arc;

use groupkey::Suite;
use groupkey::catalogue::{Profile, Scheme};
use groupkey::protection::Guard;
use groupkey_sim::{HandOver, SessionState};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::bench::trace::ArrivalPattern;
use crate::conditions::LossDirection;
use crate::device::DeviceProfile;
use crate::registry;

/// A value that a file refers to by name.
pub(crate) struct Named<T>(pub(crate) T);

impl<'de, T: Name> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        T::from_name(&name).map(Named).map_err(D::Error::custom)
    }
}

pub(crate) trait Name: Sized {
    /// Returns the value with this name, or what is wrong with the name.
    fn from_name(name: &str) -> Result<Self, String>;
}

impl Name for &'static Scheme {
    fn from_name(name: &str) -> Result<Self, String> {
        let known = registry::schemes().map(|scheme| scheme.id);
        registry::scheme(name).ok_or_else(|| unknown("scheme", name, known))
    }
}

impl Name for Arc<DeviceProfile> {
    fn from_name(name: &str) -> Result<Self, String> {
        DeviceProfile::named(name)
            .map(Self::new)
            .ok_or_else(|| unknown("device", name, DeviceProfile::names()))
    }
}

impl Name for Profile {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("profile", name, Self::ALL.map(|profile| (profile.name(), profile)))
    }
}

impl Name for Suite {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("suite", name, Self::ALL.map(|suite| (suite.name(), suite)))
    }
}

impl Name for ArrivalPattern {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("kind of life", name, Self::ALL.map(|kind| (kind.name(), kind)))
    }
}

impl Name for LossDirection {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("direction", name, Self::ALL.map(|direction| (direction.name(), direction)))
    }
}

impl Name for Guard {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("protection", name, Self::ALL.map(|guard| (guard.name(), guard)))
    }
}

impl Name for HandOver {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("hand-over", name, Self::ALL.map(|packet| (packet.name(), packet)))
    }
}

impl Name for SessionState {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("state of a session", name, Self::ALL.map(|session| (session.name(), session)))
    }
}

pub(crate) fn one_of<T, const N: usize>(
    kind: &str,
    name: &str,
    all: [(&str, T); N],
) -> Result<T, String> {
    let problem = unknown(kind, name, all.iter().map(|(known, _)| *known));
    all.into_iter().find(|(known, _)| *known == name).map(|(_, found)| found).ok_or(problem)
}

fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    format!("there is no {kind} {name:?}; there are {}", known.collect::<Vec<_>>().join(", "))
}
