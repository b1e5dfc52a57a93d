//! A member that is handed a message of another group, with a valid tag, takes it and is alone with
//! its key in `published`. In `sound` the confirmation of the key shows it, and nothing changes.

use std::cell::RefCell;
use std::rc::Rc;

use groupkey::author::{Header, Reader};
use groupkey::catalogue::{Profile, scheme};
use groupkey::error::{Error, Misbehaviour};
use groupkey::{Epoch, MemberId, Operation, PartyId};
use groupkey_testkit::rig::{Fate, Guard, Rig, Settings};

const SCHEMES: [&str; 6] = ["gdh1", "gdh2", "gdh2-relay", "gdh3", "boneh-fat", "boneh-thin"];

/// The member that gets the other group's message.
const VICTIM: PartyId = PartyId::Member(MemberId(0));

#[test]
fn only_in_published_is_a_member_alone_with_a_key_that_it_was_made_to_take() {
    for id in SCHEMES {
        for profile in Profile::ALL {
            let foreign = last_bodies(id, profile);
            let (mut group, mut taken) = (rig(id, profile, 1), 0);
            let (mut forger, count) = (group.forger(), foreign.len());
            group.intercept(move |transit| {
                if transit.to != VICTIM || transit.header.operation != Operation::Create {
                    return Fate::Arrives;
                }
                taken += 1;
                match taken == count {
                    true => {
                        let speaker = transit.header.sender;
                        Fate::Becomes(forger.forge(speaker, &transit.header, &foreign[count - 1]))
                    }
                    false => Fate::Arrives,
                }
            });
            let created = group.create(4);
            let [own, others] = [VICTIM, MemberId(3).into()].map(|party| group.key_of(party));
            match profile {
                Profile::Published => {
                    let epochs = [own, others].map(|held| held.map(|(epoch, _)| epoch));
                    assert_eq!(epochs, [Some(Epoch(1)); 2], "{id}");
                    assert!(own != others, "{id}");
                }
                Profile::Sound => {
                    assert_eq!(own, None, "{id}");
                    assert!(others.is_some(), "{id}");
                    let refused = created.map(|report| report.refusals);
                    let forged = (VICTIM, Error::Misbehaved(Misbehaviour::Forged));
                    assert!(refused.is_ok_and(|refused| refused.contains(&forged)), "{id}");
                }
            }
        }
    }
}

/// The bodies of all messages to the victim when another group is created.
fn last_bodies(id: &str, profile: Profile) -> Vec<Vec<u8>> {
    let (bodies, mut other) = (Rc::new(RefCell::new(Vec::new())), rig(id, profile, 2));
    let notes = Rc::clone(&bodies);
    other.intercept(move |transit| {
        if transit.to == VICTIM && transit.header.operation == Operation::Create {
            notes.borrow_mut().push(transit.body.to_vec());
        }
        Fate::Arrives
    });
    other.create(4).expect("another group");
    bodies.take()
}

fn rig(id: &str, profile: Profile, seed: u64) -> Rig {
    let scheme = scheme(id).expect("a scheme of the catalogue");
    Rig::new(scheme, Settings { profile, seed, ..Settings::default() })
}

/// What no wrap covers: who has the key of the MAC can change it on the way, evicted or not.
#[test]
fn what_no_wrap_covers_leaves_nobody_alone_in_sound() {
    // In an add, members of S2RP hash J.
    let a_removal = |header: &mut Header, _: &mut Vec<u8>| header.operation = Operation::Remove;
    // The leaves' new secrets come first. They stand in place of the nodes' then.
    let no_nodes = |_: &mut Header, body: &mut Vec<u8>| {
        let mut reader = Reader::new(body);
        let _slot = reader.number().expect("a slot");
        let (leaves, nodes) = (reader.bytes().expect("leaves"), reader.bytes().expect("nodes"));
        let head = |string: &[u8]| if string.len() < 24 { 1 } else { 2 };
        let (leaves, nodes) = (head(leaves) + leaves.len(), head(nodes) + nodes.len());
        let rest = body.split_off(1 + leaves + nodes);
        body.truncate(1 + leaves);
        body.extend_from_within(1..);
        body.extend(rest);
    };
    // The age of the forward key follows the levels of a newcomer's path.
    let an_older_key = |_: &mut Header, body: &mut Vec<u8>| {
        let levels = usize::from(body[3] & 0x1F);
        body[5 + levels] += 1;
    };
    type Change = fn(&mut Header, &mut Vec<u8>);
    let cases: [(&str, u32, Change); 3] =
        [("s2rp", 0, a_removal), ("oft", 0, no_nodes), ("sgcsh", 8, an_older_key)];
    for (id, victim, change) in cases {
        for profile in [Profile::Published, Profile::Sound] {
            let scheme = scheme(id).expect("a scheme of the catalogue");
            let parameters = if id == "sgcsh" { vec![("sessions", 8)] } else { Vec::new() };
            let protection = Guard::Mac;
            let settings = Settings { profile, parameters, protection, ..Settings::default() };
            let mut group = Rig::new(scheme, settings);
            group.create(8).expect("a group");
            let victim = PartyId::from(MemberId(victim));
            let before = group.key_of(victim).map(|(epoch, key)| (epoch, key.clone()));
            let mut forger = group.forger();
            group.intercept(move |transit| {
                if transit.to != victim || transit.header.operation == Operation::Enroll {
                    return Fate::Arrives;
                }
                let (mut header, mut body) = (transit.header, transit.body.to_vec());
                change(&mut header, &mut body);
                Fate::Becomes(forger.forge(transit.header.sender, &header, &body))
            });
            let refusals = group.add(8).map(|report| report.refusals).expect("the others go on");
            let [own, others] = [victim, MemberId(3).into()].map(|party| group.key_of(party));
            match profile {
                Profile::Published => {
                    let epochs = [own, others].map(|held| held.map(|(epoch, _)| epoch));
                    assert_eq!(epochs, [Some(Epoch(2)); 2], "{id}: {refusals:?}");
                    assert!(own != others, "{id}");
                }
                Profile::Sound => {
                    let forged = (victim, Error::Misbehaved(Misbehaviour::Forged));
                    assert!(refusals.contains(&forged), "{id}: {refusals:?}");
                    assert_eq!(own, before.as_ref().map(|(epoch, key)| (*epoch, key)), "{id}");
                }
            }
        }
    }
}

/// The forward key that begins a generation is masked singly, and no chain leads to it.
#[test]
fn a_forward_key_that_was_changed_on_its_way_is_refused_in_sound() {
    for profile in Profile::ALL {
        let parameters = vec![("sessions", 4)];
        let scheme = scheme("sgcsh").expect("a scheme of the catalogue");
        let settings = Settings { profile, parameters, ..Settings::default() };
        let mut group = Rig::new(scheme, settings);
        group.create(4).expect("a group");
        (0..3).for_each(|_| drop(group.rekey().expect("a session")));
        let held = group.key_of(VICTIM).map(|(epoch, key)| (epoch, key.clone()));
        let genuine = Rc::new(RefCell::new(Vec::new()));
        let (mut forger, kept) = (group.forger(), Rc::clone(&genuine));
        let confirmation = if profile == Profile::Sound { 17 } else { 0 };
        group.intercept(move |transit| {
            if transit.to != VICTIM {
                return Fate::Arrives;
            }
            *kept.borrow_mut() = transit.bytes.to_vec();
            let mut body = transit.body.to_vec();
            // The keys come last: of the end, forward, backward.
            let forward = body.len() - confirmation - 32;
            body[forward] ^= 1;
            Fate::Becomes(forger.forge(transit.header.sender, &transit.header, &body))
        });
        let report = group.rekey().expect("a generation");
        group.let_pass();
        let others = group.key_of(MemberId(3).into()).map(|(epoch, key)| (epoch, key.clone()));
        let own = group.key_of(VICTIM).map(|(epoch, key)| (epoch, key.clone()));
        if profile == Profile::Published {
            assert!(report.refusals.is_empty());
            assert!(own != others && own != held, "it is alone with its key");
            continue;
        }
        assert_eq!(report.refusals, [(VICTIM, Error::Misbehaved(Misbehaviour::Forged))]);
        assert_eq!(own, held, "nothing changed");
        let genuine = genuine.take();
        group.inject(VICTIM, &genuine).expect("the genuine message");
        assert_eq!(group.key_of(VICTIM), others.as_ref().map(|(epoch, key)| (*epoch, key)));
    }
}
