//! Arguments with named values: the list in `--help`, and the closest names after a typing error.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use groupkey::catalogue::{Class, Profile, Scheme};
use groupkey::messages::Nonces;
use groupkey::protection::Guard;
use groupkey::{Operation, Suite};
use groupkey_choose::input::InputError;
use groupkey_choose::requirements::{EXAMPLES, is_file};
use groupkey_lab::bench::trace::ArrivalPattern;
use groupkey_lab::bench::{Activity, Phase, Role, Workload};
use groupkey_lab::conditions::LossDirection;
use groupkey_lab::device::{Board, DeviceProfile, Radio, Target};
use groupkey_lab::registry;
#[cfg(feature = "live")]
use groupkey_mqtt::Version;
use groupkey_sim::{HandOver, SessionState};

pub(crate) fn scheme() -> impl TypedValueParser<Value = &'static Scheme> {
    named(registry::schemes().map(|scheme| (scheme.id, scheme, scheme.name)))
}

/// Parses a scheme, and lists those with a controller. The others are accepted too, so that the
/// command can tell the user what to do.
#[cfg(feature = "live")]
pub(crate) fn scheme_with_controller() -> impl TypedValueParser<Value = &'static Scheme> {
    let all = registry::schemes().map(|scheme| (scheme.id, scheme, scheme.name));
    offered(all, |scheme| scheme.has_controller())
}

pub(crate) fn operation() -> impl TypedValueParser<Value = Operation> {
    let known = || {
        let others = [Operation::Rekey, Operation::Send, Operation::Batch];
        Operation::MEASURED.into_iter().chain(others)
    };
    let other_names = |operation: Operation| match operation {
        Operation::Add => &["join"][..],
        Operation::Remove => &["evict", "leave"],
        _ => &[],
    };
    let value = move |operation: Operation| {
        let meaning = match operation {
            Operation::Add => "a new member joins a running group",
            Operation::Batch => "two members join and two leave a running group in one change",
            Operation::Rekey => "a new period begins with the same members",
            Operation::Remove => "a member in the middle leaves a running group",
            Operation::Send => {
                "a member distributes a message's key, in schemes without a group key"
            }
            _ => "the group is created",
        };
        PossibleValue::new(operation.name()).aliases(other_names(operation)).help(meaning)
    };
    PossibleValuesParser::new(known().map(value)).map(move |text| {
        let mut known = known();
        let is_it = |operation: &Operation| {
            operation.name() == text || other_names(*operation).contains(&&*text)
        };
        known.find(is_it).expect("only the names above come through")
    })
}

pub(crate) fn class() -> impl TypedValueParser<Value = Class> {
    named([Class::Centralized, Class::Hybrid, Class::Distributed].map(|class| {
        let meaning = match class {
            Class::Centralized => "one controller makes the key",
            Class::Distributed => "the members make the key among themselves",
            Class::Hybrid => "a controller, and under it controllers of subgroups",
        };
        (class.name(), class, meaning)
    }))
}

pub(crate) fn activity() -> impl TypedValueParser<Value = Activity> {
    named(Activity::ALL.map(|activity| (activity.name(), activity, activity.meaning())))
}

#[cfg(feature = "live")]
pub(crate) fn mqtt() -> impl TypedValueParser<Value = Version> {
    named(Version::ALL.map(|version| {
        let meaning = match version {
            Version::V3 => "for brokers that speak nothing else",
            Version::V5 => "stale messages expire at the broker",
        };
        (version.name(), version, meaning)
    }))
}

pub(crate) fn role() -> impl TypedValueParser<Value = Role> {
    named(Role::ALL.map(|role| {
        let meaning = match role {
            Role::Controller => "the key server",
            Role::Member => "a member that was there before and stays",
            Role::NewMember => "a member that joins",
            Role::Sponsor => "a member that acts for the others",
            Role::SubgroupController => "the controller of a subgroup",
        };
        (role.name(), role, meaning)
    }))
}

pub(crate) fn phase() -> impl TypedValueParser<Value = Phase> {
    named(Phase::ALL.map(|phase| {
        let meaning = match phase {
            Phase::Deployment => "once for each member, over a confidential channel",
            Phase::Operational => "whenever the group changes, over open channels",
        };
        (phase.name(), phase, meaning)
    }))
}

/// Parses a workload: a built-in one, or a file.
pub(crate) fn workload() -> impl TypedValueParser<Value = Workload> {
    let named = named(Workload::names().map(|name| {
        let workload = Workload::named(name).expect("it is built in");
        let meaning = workload.description.clone();
        (name, workload, meaning)
    }));
    NamedOrFile { named, load: Workload::load, page: "docs/workloads.md" }
}

pub(crate) fn profile() -> impl TypedValueParser<Value = Profile> {
    named(Profile::ALL.map(|profile| {
        let meaning = match profile {
            Profile::Published => "as the papers did",
            Profile::Sound => "without the known faults of the papers",
        };
        (profile.name(), profile, meaning)
    }))
}

pub(crate) fn suite() -> impl TypedValueParser<Value = Suite> {
    named(Suite::ALL.map(|suite| {
        let meaning = match suite {
            Suite::Constrained => "Ascon and ristretto255, 128 bits: for devices without AES",
            Suite::Ffdhe2048 => "as published, with ffdhe2048 (RFC 7919), 112 bits",
            Suite::Ffdhe3072 => "as published, with ffdhe3072 (RFC 7919), 128 bits",
            Suite::Modp2048 => "as published, with MODP 2048 (RFC 3526), 112 bits",
            Suite::Modp3072 => "as published, with MODP 3072 (RFC 3526), 128 bits",
            Suite::Pq => "as standard, with ML-DSA-65 and Ed25519, and no Diffie-Hellman group",
            Suite::Published => "AES-CBC and MODP 1024, 80 bits: to reproduce papers only",
            Suite::Published2048 => "as published, with MODP 2048/256 (RFC 5114), 112 bits",
            Suite::Standard => "AES key wrap, SHA-256 and ristretto255, 128 bits",
        };
        (suite.name(), suite, meaning)
    }))
}

pub(crate) fn protection() -> impl TypedValueParser<Value = Guard> {
    named(Guard::ALL.map(|guard| {
        let meaning = match guard {
            Guard::Mac => "a MAC under one key of all parties, as in the papers",
            Guard::Merkle => "one signature for all messages of a step (Ed25519, a Merkle tree)",
            Guard::None => "none, to measure a scheme alone",
            Guard::Signature => "a signature (Ed25519)",
        };
        (guard.name(), guard, meaning)
    }))
}

pub(crate) fn nonces() -> impl TypedValueParser<Value = Nonces> {
    named(Nonces::ALL.map(|nonces| {
        let meaning = match nonces {
            Nonces::Counter => "the sender counts",
            Nonces::Synthetic => "by a hash of the content, too: two copies of a sender differ",
        };
        (nonces.name(), nonces, meaning)
    }))
}

pub(crate) fn loss_direction() -> impl TypedValueParser<Value = LossDirection> {
    named(LossDirection::ALL.map(|direction| {
        let meaning = match direction {
            LossDirection::Both => "both ways",
            LossDirection::Down => "from the broker to the client",
            LossDirection::Up => "from the client to the broker",
        };
        (direction.name(), direction, meaning)
    }))
}

/// Parses the packet of QoS 2 at which a message counts as delivered.
pub(crate) fn hand_over() -> impl TypedValueParser<Value = HandOver> {
    named(HandOver::ALL.map(|packet| {
        let meaning = match packet {
            HandOver::Publish => "the first packet: the message is there",
            HandOver::PubRel => "the third packet: it is there exactly once",
        };
        (packet.name(), packet, meaning)
    }))
}

pub(crate) fn session() -> impl TypedValueParser<Value = SessionState> {
    named(SessionState::ALL.map(|session| {
        let meaning = match session {
            SessionState::Clean => "nothing: members ask for what they missed",
            SessionState::Kept => "all of it; the broker keeps messages of QoS 1 and 2",
        };
        (session.name(), session, meaning)
    }))
}

pub(crate) fn target() -> impl TypedValueParser<Value = Target> {
    let value = |target: Target| {
        let other_names = target.other_names().iter().copied();
        PossibleValue::new(target.name()).aliases(other_names).help(target.description())
    };
    PossibleValuesParser::new(Target::ALL.map(value))
        .map(|text| Target::named(&text).expect("only the names above come through"))
}

/// Parses a device: a built-in profile or board, or a file of either kind.
pub(crate) fn device() -> impl TypedValueParser<Value = DeviceProfile> {
    let named = || {
        named(devices().map(|(name, device)| {
            let meaning = device.description.clone();
            (name, device, meaning)
        }))
    };
    NamedOrFile { named: OnDemand(named), load: DeviceProfile::load, page: "docs/devices.md" }
}

/// Parses a radio: a built-in one, or a file.
pub(crate) fn radio() -> impl TypedValueParser<Value = Radio> {
    let named = || named(radios().map(|(name, radio)| (name, radio.clone(), radio.link)));
    NamedOrFile { named: OnDemand(named), load: Radio::load, page: "docs/devices.md" }
}

/// Parses a device or a radio into the text of its file: that of a built-in board or radio has its own
/// comments.
pub(crate) fn device_text() -> impl TypedValueParser<Value = String> {
    let named = || {
        let devices = devices().map(|(name, device)| {
            let text = Board::text(name).map_or_else(|| device.to_toml(), str::to_owned);
            (name, text, device.description)
        });
        let text = |name| Radio::text(name).unwrap_or_default().to_owned();
        named(devices.chain(radios().map(move |(name, radio)| (name, text(name), radio.link))))
    };
    let load = |path: &Path| {
        let text = InputError::read(path)?;
        let device = DeviceProfile::of_file(&text, path)?;
        Ok(if device.board.is_some() { text } else { device.to_toml() })
    };
    NamedOrFile { named: OnDemand(named), load, page: "docs/devices.md" }
}

fn devices() -> impl Iterator<Item = (&'static str, DeviceProfile)> {
    static DEVICES: LazyLock<Vec<(&'static str, DeviceProfile)>> = LazyLock::new(|| {
        DeviceProfile::names()
            .filter_map(|name| Some((name, DeviceProfile::named(name)?)))
            .collect()
    });
    DEVICES.iter().cloned()
}

fn radios() -> impl Iterator<Item = (&'static str, Radio)> {
    Radio::names().filter_map(|name| Some((name, Radio::named(name)?)))
}

pub(crate) fn requirements() -> impl TypedValueParser<Value = &'static str> {
    named(examples())
}

pub(crate) fn trace_kind() -> impl TypedValueParser<Value = ArrivalPattern> {
    named(ArrivalPattern::ALL.map(|kind| {
        let meaning = match kind {
            ArrivalPattern::Day => {
                "days of traffic: few at night, most in the morning and late in the afternoon"
            }
            ArrivalPattern::FlashCrowd => {
                "steady, and once five times as many come at once and soon go"
            }
            ArrivalPattern::Poisson => "steady: as many come as go",
        };
        (kind.name(), kind, meaning)
    }))
}

/// Returns the schemes in the given order, each once: naming one twice does no harm.
pub(crate) fn each_once(schemes: &[&'static Scheme]) -> Vec<&'static Scheme> {
    let mut once: Vec<&'static Scheme> = Vec::new();
    for scheme in schemes {
        if once.iter().all(|known| known.id != scheme.id) {
            once.push(scheme);
        }
    }
    once
}

/// A parser of a name or a file: a path that ends in `.toml` or contains a slash.
#[derive(Clone)]
struct NamedOrFile<P, T> {
    named: P,
    load: fn(&Path) -> Result<T, InputError>,
    page: &'static str,
}

impl<P, T> TypedValueParser for NamedOrFile<P, T>
where
    P: TypedValueParser<Value = T>,
    T: Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        text: &OsStr,
    ) -> Result<T, Error> {
        let Self { named, load, page } = self;
        if !is_file(&text.to_string_lossy()) {
            return named.parse_ref(command, argument, text);
        }
        load(Path::new(text)).map_err(|error| {
            let told = format!("{error}\n  tip: {page} describes the file\n");
            Error::raw(ErrorKind::ValueValidation, told).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.named.possible_values()
    }
}

/// A parser that is made when there is something to parse or to list. Every built-in device is a file:
/// to read them all takes longer than many a command.
#[derive(Clone)]
struct OnDemand<P>(fn() -> P);

impl<P: TypedValueParser> TypedValueParser for OnDemand<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        text: &OsStr,
    ) -> Result<P::Value, Error> {
        (self.0)().parse_ref(command, argument, text)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values: Vec<_> = (self.0)().possible_values()?.collect();
        Some(Box::new(values.into_iter()))
    }
}

fn named<T: Clone + Send + Sync + 'static, M: Into<String>>(
    choices: impl IntoIterator<Item = (&'static str, T, M)>,
) -> impl TypedValueParser<Value = T> {
    offered(choices, |_| true)
}

/// Does the same, but lists only some of the choices.
fn offered<T: Clone + Send + Sync + 'static, M: Into<String>>(
    choices: impl IntoIterator<Item = (&'static str, T, M)>,
    is_offered: impl Fn(&T) -> bool,
) -> impl TypedValueParser<Value = T> {
    let (values, choices): (Vec<PossibleValue>, Vec<(&str, T)>) = choices
        .into_iter()
        .map(|(name, choice, meaning)| {
            let value = PossibleValue::new(name).help(meaning.into()).hide(!is_offered(&choice));
            (value, (name, choice))
        })
        .unzip();
    PossibleValuesParser::new(values).map(move |text| {
        let chosen = choices.iter().find(|(name, _)| *name == text);
        chosen.expect("only the names above come through").1.clone()
    })
}

fn examples() -> impl Iterator<Item = (&'static str, &'static str, String)> {
    EXAMPLES.into_iter().map(|(name, text)| {
        let about = text.lines().take_while(|line| line.starts_with('#'));
        let about: Vec<&str> = about.map(|line| line.trim_start_matches(['#', ' '])).collect();
        let about = about.join(" ");
        let about = about.split_inclusive(['.', ':']).next().unwrap_or(&about);
        (name, text, about.trim_end_matches(['.', ':']).to_owned())
    })
}
