//! `docs/wire.cddl` describes what goes over the wire: every message of every scheme is exactly one
//! of the kinds that it lists for the scheme, and every kind that it lists occurs.

use std::collections::{BTreeSet, VecDeque};

use cddl_cat::cbor::validate_cbor;
use cddl_cat::context::BasicContext;
use cddl_cat::flatten::flatten_from_str;
use ciborium::Value;
use groupkey::catalogue::{Class, Law, Profile, Recovery, SCHEMES, Scheme};
use groupkey::messages::{self, Messenger, Nonces};
use groupkey::protection::Protection;
use groupkey::{
    Channel, Command, Context, Epoch, GroupId, MemberId, Operation, Ordered, Outbox, PartyId,
    Setting, SubgroupId, Suite, event_order,
};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, RigError, SUITES, Settings};
use groupkey_testkit::sample;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::laws::pace;

const CDDL: &str = include_str!("../../../../docs/wire.cddl");

#[test]
fn messages_are_as_described() {
    let description = Description::read();
    for scheme in sample::one_in(3, SCHEMES) {
        let kinds = description.kinds(scheme.id);
        let mut seen = BTreeSet::new();
        for settings in all_settings(scheme) {
            let context = format!("{}, {settings:?}", scheme.id);
            for message in transcript(scheme, settings) {
                let message = items(&message);
                let fitting: Vec<_> =
                    kinds.iter().filter(|kind| description.fits(kind, &message)).collect();
                let [kind] = fitting[..] else {
                    panic!("{context}: {fitting:?} fit {message:?}");
                };
                seen.insert(kind.clone());
            }
        }
        let idle: Vec<_> = kinds.iter().filter(|kind| !seen.contains(*kind)).collect();
        assert!(idle.is_empty(), "{}: {idle:?} never sent", scheme.id);
    }
}

/// Members that order their events themselves: one joins, one leaves, one is evicted, one comes
/// back; then the last founder goes, and a joining member has to be told the epoch.
#[test]
fn messages_about_the_order_are_as_described() {
    let description = Description::read();
    let kinds = description.kinds("order-message");
    let mut seen = BTreeSet::new();
    let configuration = SCHEMES.iter().find(|scheme| scheme.id == "ckd").unwrap();
    let mut parties: Vec<_> = [1, 2, 3, 9, 700]
        .map(|id| (id, Ordered::new(configuration.configuration(Profile::Sound), MemberId(id))))
        .into_iter()
        .collect();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut topic: VecDeque<Vec<u8>> = VecDeque::new();
    let founders = [1, 2, 3].map(MemberId);
    let mut commands = VecDeque::from([
        (1, Command::Create(&founders)),
        (2, Command::Create(&founders)),
        (3, Command::Create(&founders)),
        (700, Command::Add(MemberId(700))),
        (3, Command::Remove(MemberId(3))),
        (1, Command::Remove(MemberId(2))),
        (3, Command::Add(MemberId(3))),
        (1, Command::Remove(MemberId(1))),
        (9, Command::Add(MemberId(9))),
    ]);
    let operator = PartyId::SubgroupController(SubgroupId(0));
    let (mut outbox, mut probe) = (Outbox::new(), ());
    let (setting, rng_of_operator) = (Setting::new(GroupId(0), Suite::Standard), &mut rng.clone());
    let mut cx = Context::new(
        setting,
        operator,
        Protection::None,
        rng_of_operator,
        0,
        &mut outbox,
        &mut probe,
    );
    event_order::ticket(&mut cx, Epoch(0), MemberId(9), &[MemberId(800)]);
    event_order::eviction(&mut cx, Epoch(0), MemberId(800), Epoch(1));
    topic.extend(outbox.messages().map(|message| message.bytes.to_vec()));
    loop {
        // All founders are told before anything is delivered.
        let message = if commands.len() > 6 { None } else { topic.pop_front() };
        let command = if message.is_none() { commands.pop_front() } else { None };
        if let Some(message) = message.as_ref().filter(|message| message[4] == 11) {
            let message = items(message);
            let fitting: Vec<_> =
                kinds.iter().filter(|kind| description.fits(kind, &message)).collect();
            let [kind] = fitting[..] else { panic!("{fitting:?} fit {message:?}") };
            seen.insert(kind.clone());
        }
        if message.is_none() && command.is_none() {
            break;
        }
        for (id, party) in &mut parties {
            let me = PartyId::Member(MemberId(*id));
            let (mut outbox, mut probe) = (Outbox::new(), ());
            let mut cx = Context::new(
                Setting::new(GroupId(0), Suite::Standard),
                me,
                Protection::None,
                &mut rng,
                0,
                &mut outbox,
                &mut probe,
            );
            let party = party.as_mut().unwrap();
            match (&message, command) {
                (Some(message), _) => drop(cx.deliver(party, Channel::Open, message)),
                (None, Some((to, command))) if to == *id => cx.command(party, command).unwrap(),
                _ => {}
            }
            topic.extend(outbox.messages().map(|message| message.bytes.to_vec()));
        }
    }
    assert!(kinds.iter().all(|kind| seen.contains(kind)), "only {seen:?} were sent");
}

#[test]
fn a_message_that_is_not_described_is_noticed() {
    let description = Description::read();
    let mut rig = Rig::new(&SCHEMES[0], Settings::default());
    let report = rig.create(2).unwrap();
    let message = items(&report.messages[0].bytes);
    assert!(description.fits("skdc-rekey", &message));
    let Value::Array(items) = message else { unreachable!("items are an array") };
    for changed in [
        &items[1..],
        &[items[0].clone(), items[0].clone(), items[2].clone()],
        &[items[0].clone(), Value::Bytes(vec![0; 25]), items[2].clone()],
        &[items[0].clone(), items[1].clone(), Value::Bytes(vec![0; 17])],
    ] {
        assert!(!description.fits("skdc-rekey", &Value::Array(changed.to_vec())));
    }
}

#[test]
fn group_messages_are_as_described() {
    let description = Description::read();
    for (protection, suite, nonces) in [
        (Guard::Mac, Suite::Standard, Nonces::Counter),
        (Guard::Signature, Suite::Constrained, Nonces::Counter),
        (Guard::Mac, Suite::Standard, Nonces::Synthetic),
        (Guard::Signature, Suite::Constrained, Nonces::Synthetic),
    ] {
        let settings = Settings { protection, suite, ..Settings::default() };
        let mut rig = Rig::new(&SCHEMES[0], settings);
        rig.create(2).unwrap();
        let bytes = rig.at(MemberId(1), |cx, party| {
            let signed = protection == Guard::Signature;
            let settings = messages::MessageSettings {
                signed: Some(signed),
                nonces,
                ..messages::MessageSettings::default()
            };
            let mut messenger = Messenger::new(cx, settings).unwrap();
            messenger.follow(cx, party);
            messenger.seal(cx, b"content").unwrap()
        });
        let message = ciborium::from_reader(&bytes[..]).expect("a message is CBOR");
        let Value::Tag(16, message) = message else { panic!("{message:?} is no COSE_Encrypt0") };
        assert!(description.fits("group-message", &message), "{message:?}");
    }
}

struct Description(BasicContext);

impl Description {
    fn read() -> Self {
        Self(BasicContext::new(flatten_from_str(CDDL).expect("the description parses")))
    }

    /// The kinds of messages of a scheme: the choices of the rule with its name, or its family's.
    fn kinds(&self, scheme: &str) -> Vec<String> {
        let (family, _) = scheme.split_once('-').unwrap_or((scheme, ""));
        let rule_of = |name: &str| {
            let mut rules = CDDL.lines().filter_map(|line| line.split_once(" = "));
            rules.find_map(|(rule, choices)| (rule == name).then_some(choices))
        };
        let rule = rule_of(scheme).or_else(|| rule_of(family));
        let rule = rule.unwrap_or_else(|| panic!("there is no rule {scheme}"));
        rule.split(" / ").map(String::from).collect()
    }

    fn fits(&self, kind: &str, message: &Value) -> bool {
        let rule = self.0.rules.get(kind).unwrap_or_else(|| panic!("there is no rule {kind}"));
        validate_cbor(rule, message, &self.0).is_ok()
    }
}

/// All ways of wrapping, all ways of protection, both profiles, and the parameters' ends.
fn all_settings(scheme: &Scheme) -> Vec<Settings> {
    let mut all = Vec::new();
    for suite in SUITES {
        all.push(Settings { suite, ..Settings::default() });
    }
    for protection in Guard::ALL {
        all.push(Settings { protection, profile: Profile::Published, ..Settings::default() });
    }
    for parameter in scheme.parameters {
        let (low, high) = pace::range(scheme, parameter.range);
        for value in [low, high] {
            let parameters = vec![(parameter.name, value)];
            all.push(Settings { parameters, ..Settings::default() });
        }
    }
    all
}

/// The messages of two groups' short lives.
fn transcript(scheme: &'static Scheme, settings: Settings) -> Vec<Vec<u8>> {
    let mut rig = Rig::new(scheme, settings.clone());
    let mut messages = Vec::new();
    let mut take = |report: Result<OperationReport, RigError>| {
        let report = report.expect("the operation succeeds");
        let all = report.deployment.iter().chain(&report.messages);
        messages.extend(all.map(|message| message.bytes.to_vec()));
    };
    take(rig.create(9));
    let can = |operation| scheme.operations.contains(&operation);
    if can(Operation::Add) {
        take(rig.add(700));
        take(rig.remove(8));
    }
    if scheme.recovery != Recovery::Rejoin {
        rig.sleep(3);
        take(if can(Operation::Remove) { rig.remove(5) } else { rig.rekey() });
        match rig.catch_up(3) {
            // Nothing happened in its subgroup, and the answer is as old as what it has.
            Err(RigError::Refused(..)) if scheme.law == Law::OneMessage => {}
            report => take(report),
        }
    }
    if scheme.class() == Class::Hybrid {
        let chosen = settings.parameters.iter().find(|(name, _)| *name == "subgroups");
        let away = SubgroupId(7 % chosen.map_or(55, |&(_, subgroups)| subgroups)).into();
        rig.put_to_sleep(away);
        take(if can(Operation::Remove) { rig.remove(7) } else { rig.rekey() });
        take(rig.wake(away));
    }
    if can(Operation::Send) {
        take(rig.send(0));
    }
    if scheme.law == Law::PlannedPeriods {
        take(rig.grant(900, 3, 4));
    }
    if can(Operation::Rekey) {
        take(rig.rekey());
    }
    if can(Operation::Partition) {
        take(rig.partition(&[1, 2, 6]));
        take(rig.merge());
    }
    if can(Operation::Batch) {
        take(rig.batch(&[800, 801, 802], &[0, 2]));
        take(rig.batch(&[], &[4]));
        take(rig.batch(&[900], &[]));
    }
    // Without its last member, a key tree of five becomes lower.
    let mut rig = Rig::new(scheme, settings);
    take(rig.create(5));
    if can(Operation::Remove) {
        take(rig.remove(4));
    }
    messages
}

fn items(mut bytes: &[u8]) -> Value {
    let mut items = Vec::new();
    while !bytes.is_empty() {
        items.push(ciborium::from_reader(&mut bytes).expect("messages are CBOR sequences"));
    }
    Value::Array(items)
}
