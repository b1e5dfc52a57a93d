//! A founding of a group is an instance of its own: what was recorded in one means nothing in
//! another, although number, members and long-term keys are the same.

use std::cell::RefCell;
use std::rc::Rc;

use groupkey::author::Header;
use groupkey::catalogue::{Profile, SCHEMES, Scheme};
use groupkey::error::{Error, Misbehaviour};
use groupkey::{Channel, GroupId, Instance, MemberId, Operation, PartyId, Suite};
use groupkey_testkit::rig::{Fate, Guard, Rig, Settings};

/// A message of the first founding, as it arrived at a party.
type Recorded = (PartyId, Header, Vec<u8>);

#[test]
fn nothing_of_an_earlier_founding_is_accepted() {
    for scheme in SCHEMES {
        for profile in Profile::ALL {
            for guard in [Guard::Mac, Guard::Signature, Guard::Merkle] {
                let recorded = first_founding(scheme, profile, guard);
                assert!(!recorded.is_empty(), "{}", scheme.id);
                let mut rig = rig(scheme, profile, guard);
                rig.begin_another_life(2);
                rig.create(4).unwrap();
                let before =
                    rig.key_of(MemberId(0).into()).map(|(epoch, key)| (epoch, key.clone()));
                for (to, header, bytes) in &recorded {
                    let refused = rig.hand(*to, bytes);
                    let forged = Err(Error::from(Misbehaviour::Forged));
                    assert_eq!(refused, forged, "{} {profile:?} {guard:?}: {header:?}", scheme.id);
                }
                let after = rig.key_of(MemberId(0).into()).map(|(epoch, key)| (epoch, key.clone()));
                assert_eq!(before, after);
            }
        }
    }
}

/// The reason why the messages above are refused also where a recording is read without its tag: no
/// key that follows from a secret is the same in two foundings.
#[test]
fn the_same_secrets_give_other_keys_in_another_founding() {
    for scheme in SCHEMES {
        let configuration = scheme.configuration(Profile::Sound);
        let setting = |prefix, instance| {
            let (suite, guard) = (Suite::Standard, Guard::Signature);
            configuration.setting(GroupId(1), suite, guard, prefix, Instance([instance; 16]))
        };
        assert_eq!(setting("a", 1), setting("a", 1));
        for other in [setting("a", 2), setting("b", 1)] {
            assert_ne!(setting("a", 1).context, other.context);
        }
    }
}

/// Every parameter of a configuration is in the group's context.
#[test]
fn parties_with_another_form_have_another_context() {
    let mut contexts = Vec::new();
    for scheme in SCHEMES {
        for profile in Profile::ALL {
            for (suite, guard, group) in [
                (Suite::Standard, Guard::Mac, 1),
                (Suite::Constrained, Guard::Mac, 1),
                (Suite::Standard, Guard::Signature, 1),
                (Suite::Standard, Guard::Mac, 2),
            ] {
                let of = |configuration: &groupkey::catalogue::Configuration| {
                    let (group, instance) = (GroupId(group), Instance::default());
                    *configuration.setting(group, suite, guard, "", instance).context.as_bytes()
                };
                let configuration = scheme.configuration(profile);
                contexts.push(of(&configuration));
                for parameter in scheme.parameters {
                    let mut other = configuration.clone();
                    let (low, high) = parameter.range;
                    let value = if configuration.value(parameter) == low { high } else { low };
                    other.set(parameter.name, value).unwrap();
                    contexts.push(of(&other));
                }
            }
        }
    }
    let all = contexts.len();
    contexts.sort_unstable();
    contexts.dedup();
    assert_eq!(contexts.len(), all);
}

/// Returns everything that arrived over an open channel in a group's first founding.
fn first_founding(scheme: &'static Scheme, profile: Profile, guard: Guard) -> Vec<Recorded> {
    let mut rig = rig(scheme, profile, guard);
    let recorded: Rc<RefCell<Vec<Recorded>>> = Rc::default();
    let record = Rc::clone(&recorded);
    rig.intercept(move |transit| {
        if transit.channel == Channel::Open {
            record.borrow_mut().push((transit.to, transit.header, transit.bytes.to_vec()));
        }
        Fate::Arrives
    });
    rig.create(4).unwrap();
    if scheme.operations.contains(&Operation::Remove) {
        rig.remove(3).unwrap();
    }
    drop(rig);
    let mut recorded = Rc::into_inner(recorded).expect("the rig is gone").into_inner();
    // Who was evicted is in the second founding again.
    recorded.retain(|(to, ..)| !matches!(to, PartyId::Member(MemberId(4..))));
    recorded
}

fn rig(scheme: &'static Scheme, profile: Profile, protection: Guard) -> Rig {
    let parameters = scheme.parameters.iter().filter_map(|parameter| {
        let small = [("capacity", 64), ("subgroups", 2), ("depth", 4), ("sessions", 64)];
        let small = small.into_iter().find(|(name, _)| *name == parameter.name);
        small.filter(|(_, value)| (parameter.range.0..=parameter.range.1).contains(value))
    });
    let parameters = parameters.collect();
    Rig::new(scheme, Settings { profile, parameters, protection, ..Settings::default() })
}
