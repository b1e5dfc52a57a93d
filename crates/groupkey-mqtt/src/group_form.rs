//! The form of a group: scheme, parameters, algorithms and protection.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use groupkey::catalogue::{self, Configuration, Law, Profile};
use groupkey::protection::Guard;
use groupkey::{GroupId, Instance, Setting, Suite};
use minicbor::{Decode, Encode};

/// The settings that all parties of a live group have in common.
#[derive(Clone, Debug)]
pub struct GroupForm {
    /// The group's number, which is in every message.
    pub group: GroupId,
    /// The scheme with its profile and parameters.
    pub configuration: Configuration,
    /// The algorithms.
    pub suite: Suite,
    /// How parties protect their messages.
    pub guard: Guard,
    /// What the messages of members to each other rest on.
    pub senders: Senders,
}

/// What members' messages to the group rest on, in a group with a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Senders {
    /// Each is signed by its sender, whose key the service has certified.
    #[default]
    Signed,
    /// The group key alone: any member can send in the name of any other.
    GroupKey,
}

/// What an operator or a member accepts, although it is weaker than a live group needs. By default a
/// group has the sound profile, the suite `standard` or `constrained`, and signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Protection by a MAC, whose key everyone has who was ever a member.
    pub mac: bool,
    /// Profiles, suites and missing protection that exist to reproduce papers.
    pub published: bool,
}

/// What an operator wants of another form. What is not named stays, but for the parameters: these have
/// their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormRequest {
    /// The scheme's name.
    pub scheme: Option<String>,
    /// Values of the scheme's parameters, by name.
    pub parameters: BTreeMap<String, u32>,
    /// The algorithms' name.
    pub suite: Option<String>,
    /// The name of the protection.
    pub protection: Option<String>,
    /// The name of what members' messages rest on.
    pub senders: Option<String>,
}

/// The reason why a form must not run live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormError {
    /// The scheme has no group key after every operation.
    NoGroupKey(&'static str),
    /// An operator's wish names what there is not: an explanation.
    NotKnown(String),
    /// No live group has this suite: who joins has an Ed25519 identity.
    NotLive(&'static str),
    /// It is weaker than what is allowed.
    TooWeak(Weakness),
    /// A received form names a scheme, parameter or algorithm that is unknown here.
    Unknown,
}

/// Why a form is weaker than a live group needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakness {
    /// The profile of this scheme, or this suite, exists to reproduce papers.
    ForReproductionOnly(&'static str),
    /// Whoever was ever a member could speak in the service's name.
    SharedMac,
    /// Messages would have no protection.
    Unprotected,
}

/// A form as it is stored and sent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct EncodedForm {
    #[n(0)]
    group: u64,
    #[n(1)]
    scheme: String,
    #[n(2)]
    profile: String,
    #[n(3)]
    values: Vec<u32>,
    #[n(4)]
    suite: String,
    #[n(5)]
    guard: String,
    #[n(6)]
    senders: String,
}

impl Senders {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Signed, Self::GroupKey];

    /// Returns the name used in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::GroupKey => "group-key",
        }
    }

    /// Returns the one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|senders| senders.name() == name)
    }
}

impl GroupForm {
    /// Returns the form of a scheme with the sound profile, the standard suite and signatures.
    pub fn of(scheme: &'static catalogue::Scheme) -> Self {
        Self {
            group: GroupId(1),
            configuration: scheme.configuration(Profile::Sound),
            suite: Suite::Standard,
            guard: Guard::Signature,
            senders: Senders::Signed,
        }
    }

    /// Returns whether members sign their messages to the group. Without signatures of the parties there
    /// are none of members either.
    pub const fn has_signed_senders(&self) -> bool {
        self.guard.signs() && matches!(self.senders, Senders::Signed)
    }

    /// Returns the form that an operator wants instead of this one. The profile stays.
    pub fn with(&self, wish: &FormRequest) -> Result<Self, FormError> {
        let unknown = |what: String| FormError::NotKnown(what);
        let present = self.configuration.scheme();
        let name = wish.scheme.as_deref().unwrap_or(present.id);
        let scheme = catalogue::scheme(name)
            .ok_or_else(|| unknown(format!("no scheme is called {name}: see groupkey schemes")))?;
        let mut configuration = scheme.configuration(self.configuration.profile());
        for (parameter, &value) in &wish.parameters {
            let set = configuration.set(parameter, value);
            set.map_err(|error| unknown(format!("{parameter}: {error}")))?;
        }
        let mut form = Self { configuration, ..self.clone() };
        if let Some(suite) = &wish.suite {
            form.suite = Suite::named(suite)
                .ok_or_else(|| unknown(format!("no suite is called {suite}")))?;
        }
        if let Some(protection) = &wish.protection {
            form.guard = Guard::named(protection)
                .ok_or_else(|| unknown(format!("no protection is called {protection}")))?;
        }
        if let Some(senders) = &wish.senders {
            form.senders = Senders::named(senders).ok_or_else(|| {
                unknown(format!("senders are signed or group-key, not {senders}"))
            })?;
        }
        Ok(form)
    }

    /// Returns the names and values of the scheme's parameters.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        let parameters = self.configuration.scheme().parameters.iter();
        parameters.map(|parameter| (parameter.name, self.configuration.value(parameter)))
    }

    /// Refuses a form that must not run live. `allowed` says what the operator accepts.
    pub fn check(&self, allowed: Allowed) -> Result<(), FormError> {
        let scheme = self.configuration.scheme();
        if scheme.law != Law::OneKey {
            return Err(FormError::NoGroupKey(scheme.id));
        }
        if self.suite.name() == "pq" {
            return Err(FormError::NotLive(self.suite.name()));
        }
        if self.guard == Guard::Mac && !allowed.mac {
            return Err(FormError::TooWeak(Weakness::SharedMac));
        }
        match self.published_weakness().filter(|_| !allowed.published) {
            Some(weakness) => Err(FormError::TooWeak(weakness)),
            None => Ok(()),
        }
    }

    /// Returns what of the form only papers have.
    fn published_weakness(&self) -> Option<Weakness> {
        if self.configuration.profile().is_published() {
            return Some(Weakness::ForReproductionOnly(self.configuration.scheme().id));
        }
        // By name: a device may link only one of them.
        if !matches!(self.suite.name(), "standard" | "constrained") {
            return Some(Weakness::ForReproductionOnly(self.suite.name()));
        }
        (self.guard == Guard::None).then_some(Weakness::Unprotected)
    }

    /// Returns what all parties of the group have in common: the form, the prefix of the topics, and
    /// which founding of the group it is.
    pub(crate) fn setting(&self, prefix: &str, instance: Instance) -> Setting {
        self.configuration.setting(self.group, self.suite, self.guard, prefix, instance)
    }

    pub(crate) fn write(&self) -> EncodedForm {
        let scheme = self.configuration.scheme();
        EncodedForm {
            group: self.group.0,
            scheme: scheme.id.to_owned(),
            profile: self.configuration.profile().name().to_owned(),
            values: (scheme.parameters.iter())
                .map(|parameter| self.configuration.value(parameter))
                .collect(),
            suite: self.suite.name().to_owned(),
            guard: self.guard.name().to_owned(),
            senders: self.senders.name().to_owned(),
        }
    }

    pub(crate) fn read(
        written: &EncodedForm,
        schemes: &'static [catalogue::Scheme],
    ) -> Result<Self, FormError> {
        let scheme = schemes.iter().find(|scheme| scheme.id == written.scheme);
        let scheme = scheme.ok_or(FormError::Unknown)?;
        let profile = Profile::named(&written.profile).ok_or(FormError::Unknown)?;
        let mut configuration = scheme.configuration(profile);
        if written.values.len() != scheme.parameters.len() {
            return Err(FormError::Unknown);
        }
        for (parameter, &value) in scheme.parameters.iter().zip(&written.values) {
            configuration.set(parameter.name, value).map_err(|_| FormError::Unknown)?;
        }
        let suite = Suite::named(&written.suite).ok_or(FormError::Unknown)?;
        let guard = Guard::named(&written.guard).ok_or(FormError::Unknown)?;
        let senders = Senders::named(&written.senders).ok_or(FormError::Unknown)?;
        Ok(Self { group: GroupId(written.group), configuration, suite, guard, senders })
    }
}

/// Scheme and parameters, then profile, algorithms and protection, and what is weaker than by default.
impl fmt::Display for GroupForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.configuration.scheme().id)?;
        for (name, value) in self.parameters() {
            write!(f, " {name}={value}")?;
        }
        let (profile, suite) = (self.configuration.profile().name(), self.suite.name());
        write!(f, " ({profile}, {suite}, {}", self.guard.name())?;
        match self.senders {
            Senders::Signed => write!(f, ")"),
            Senders::GroupKey => write!(f, ", senders {})", self.senders.name()),
        }
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGroupKey(scheme) => write!(
                f,
                "{scheme} does not give all members one group key after every operation, as a live \
                 group needs"
            ),
            Self::NotKnown(what) => write!(f, "{what}"),
            Self::NotLive(suite) => write!(
                f,
                "suite {suite} is not live yet: devices join with Ed25519 identities and X25519, which a \
                 quantum computer breaks; docs/post-quantum.md says where it runs"
            ),
            Self::TooWeak(weakness) => write!(f, "{weakness}"),
            Self::Unknown => write!(f, "the form has an unknown scheme, parameter or algorithm"),
        }
    }
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForReproductionOnly(what) => write!(
                f,
                "{what} exists to reproduce papers and is weaker than a live group needs; \
                 set allow_published = true to run it anyway"
            ),
            Self::SharedMac => write!(
                f,
                "whoever was ever a member has the key of the MAC, and can rekey the group in the \
                 service's name; choose signature, or set allow_mac = true to run it anyway"
            ),
            Self::Unprotected => write!(
                f,
                "without protection anybody can rekey the group; set allow_published = true to run it \
                 anyway"
            ),
        }
    }
}

impl core::error::Error for FormError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back_as_it_was_written() {
        let turns = Senders::ALL.into_iter().cycle();
        for (scheme, senders) in catalogue::SCHEMES.iter().zip(turns) {
            let mut form = GroupForm { senders, ..GroupForm::of(scheme) };
            for parameter in scheme.parameters {
                form.configuration.set(parameter.name, parameter.range.1).unwrap();
            }
            let bytes = minicbor::to_vec(form.write()).unwrap();
            let read =
                GroupForm::read(&minicbor::decode(&bytes).unwrap(), catalogue::SCHEMES).unwrap();
            assert_eq!(format!("{form:?}"), format!("{read:?}"));
        }
    }

    #[test]
    fn a_wish_names_what_becomes_different() {
        let form = GroupForm::of(catalogue::scheme("lkh-group").unwrap());
        let wish = |scheme: &str, parameters: &[(&str, u32)]| FormRequest {
            scheme: Some(scheme.to_owned()),
            parameters: parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
            ..FormRequest::default()
        };
        let wider = form.with(&wish("lkh-group", &[("degree", 8)])).unwrap();
        assert_eq!(wider.to_string(), "lkh-group degree=8 derived=0 (sound, standard, signature)");
        let weaker =
            FormRequest { suite: Some("constrained".to_owned()), ..FormRequest::default() };
        let weaker = wider.with(&weaker).unwrap();
        assert_eq!(
            weaker.to_string(),
            "lkh-group degree=4 derived=0 (sound, constrained, signature)"
        );
        let other = form.with(&wish("skdc", &[])).unwrap();
        assert_eq!(other.to_string(), "skdc (sound, standard, signature)");
        for (wish, reason) in [
            (wish("none", &[]), "no scheme is called none"),
            (wish("skdc", &[("degree", 8)]), "degree: "),
            (wish("lkh-group", &[("degree", 1_000_000)]), "degree: "),
            (FormRequest { suite: Some("none".into()), ..FormRequest::default() }, "no suite"),
            (
                FormRequest { protection: Some("none at all".into()), ..FormRequest::default() },
                "no protection",
            ),
            (FormRequest { senders: Some("none".into()), ..FormRequest::default() }, "senders are"),
        ] {
            let error = form.with(&wish).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn broken_forms_need_a_flag() {
        let scheme = catalogue::scheme("skdc").unwrap();
        let published = GroupForm {
            configuration: scheme.configuration(Profile::Published),
            ..GroupForm::of(scheme)
        };
        let weak = GroupForm { suite: Suite::Published, ..GroupForm::of(scheme) };
        let open = GroupForm { guard: Guard::None, ..GroupForm::of(scheme) };
        let (nothing, published_allowed) =
            (Allowed::default(), Allowed { published: true, ..Allowed::default() });
        for form in [published, weak, open] {
            assert!(form.check(nothing).is_err());
            assert_eq!(form.check(published_allowed), Ok(()));
        }
        let shared = GroupForm { guard: Guard::Mac, ..GroupForm::of(scheme) };
        for allowed in [nothing, published_allowed] {
            assert_eq!(shared.check(allowed), Err(FormError::TooWeak(Weakness::SharedMac)));
        }
        assert_eq!(shared.check(Allowed { mac: true, ..nothing }), Ok(()));
        let iolus = GroupForm::of(catalogue::scheme("iolus").unwrap());
        assert_eq!(iolus.check(published_allowed), Err(FormError::NoGroupKey("iolus")));
        let pq = GroupForm { suite: Suite::Pq, ..GroupForm::of(scheme) };
        assert_eq!(pq.check(published_allowed), Err(FormError::NotLive("pq")));
    }
}
