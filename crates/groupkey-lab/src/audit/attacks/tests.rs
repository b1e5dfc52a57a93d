//! What each attack finds, as a table, so that a change is noticed.

mod planted;

use std::collections::BTreeSet;

use groupkey::catalogue::{Profile, SCHEMES};
use groupkey_testkit::rig::Guard;
use groupkey_testkit::sample;

use super::attack::AttackTarget;
use super::*;
use crate::audit::Found;

/// Tries every attack on schemes to which it can apply, in three days on all: it breaks exactly those of the table.
#[test]
fn attacks_break_what_they_are_known_to_break() {
    break_what_they_are_known_to_break(Guard::Signature, 3);
}

/// The same where one signature protects all messages of a step.
#[test]
fn attacks_break_the_same_under_a_signature_for_many_messages() {
    break_what_they_are_known_to_break(Guard::Merkle, 9);
}

fn break_what_they_are_known_to_break(signing: Guard, one_in: usize) {
    let differences: Vec<String> = std::thread::scope(|scope| {
        let tried: Vec<_> = ATTACKS
            .iter()
            .map(|attack| scope.spawn(move || differences(attack, signing, one_in)))
            .collect();
        tried.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// An attack that succeeds nowhere might not attack at all: for each of these the reason is known.
#[test]
fn every_attack_succeeds_somewhere_or_we_know_why_not() {
    for attack in ATTACKS {
        let succeeds = !expected(attack.id).is_empty();
        let reason = FUTILE.iter().find(|(id, _)| *id == attack.id);
        assert_ne!(succeeds, reason.is_some(), "{}", attack.id);
    }
}

/// No scheme of the catalogue takes an old answer. A planted scheme that takes one shows that the
/// attack works.
#[test]
fn a_stale_answer_is_taken_where_nobody_looks_at_its_nonce() {
    for (looks, found) in [(0, Found::Broken), (1, Found::Holds)] {
        let mut configuration = planted::PLANTED.configuration(Profile::Sound);
        configuration.set(planted::LOOKS.name, looks).unwrap();
        assert_eq!(rollback::STALE_ANSWER.run(&configuration, 1).found, found);
        assert_eq!(rollback::ROLLBACK.run(&configuration, 1).found, Found::Holds);
    }
}

/// The sound forms keep their claims against every script.
#[test]
fn no_claim_of_a_sound_form_is_in_the_table() {
    for attack in ATTACKS.iter().filter(|attack| attack.bears_on_claim()) {
        for (id, profile) in expected(attack.id) {
            let scheme = groupkey::catalogue::scheme(id).unwrap();
            let is_sound = profile == Profile::Sound.name();
            let claimed = attack.breaks.is_claimed(scheme, Profile::Sound, attack.adversary);
            assert!(!(is_sound && claimed == Some(true)), "{id}: {}", attack.id);
        }
    }
}

/// What is heard of members is not heard of an evicted one: the attack speaks loud enough.
#[test]
fn members_are_heard_where_an_evicted_one_is_not() {
    for scheme in SCHEMES.iter().filter(|s| (ordered::SPEAKS.applies_to)(s, Profile::Sound)) {
        let configuration = scheme.configuration(Profile::Sound);
        let target = AttackTarget::of(&configuration);
        for (place, (what, _)) in ordered::WORDS.iter().enumerate() {
            let heard = |evicted| ordered::is_heard(&target, 1, place, evicted);
            assert_eq!([heard(false), heard(true)], [true, false], "{}: {what}", scheme.id);
        }
    }
}

/// The claims against an active adversary count on signatures.
#[test]
fn sound_forms_are_signed_by_default() {
    for scheme in SCHEMES {
        let configuration = scheme.configuration(Profile::Sound);
        assert_eq!(fixture::guard(&configuration), Guard::Signature, "{}", scheme.id);
    }
}

#[test]
#[ignore = "long: half a minute, every attack twice"]
fn the_same_seed_gives_the_same_findings() {
    let scheme = groupkey::catalogue::scheme("tgdh").unwrap();
    let configuration = scheme.configuration(Profile::Published);
    assert_eq!(run(&configuration, 5), run(&configuration, 5));
}

#[test]
fn attacks_are_in_the_order_of_their_ids() {
    assert!(ATTACKS.is_sorted_by_key(|attack| attack.id));
}

fn differences(attack: &Attack, signing: Guard, one_in: usize) -> Vec<String> {
    let expected = expected(attack.id);
    let mut differences = Vec::new();
    for scheme in sample::one_in(one_in, SCHEMES) {
        for profile in Profile::ALL {
            if !(attack.applies_to)(scheme, profile) {
                continue;
            }
            let configuration = scheme.configuration(profile);
            let target = AttackTarget::of(&configuration).signing(signing);
            let finding = attack.run_on(&target, 1);
            let broken = finding.found == Found::Broken;
            let known = expected.contains(&(scheme.id, profile.name()));
            let explained =
                broken != finding.derivation.is_empty() && broken != finding.history.is_empty();
            let untried = finding.found == Found::NotApplicable;
            let may_be = UNTRIED.contains(&(attack.id, scheme.id));
            if broken != known || !explained || untried != may_be {
                let (id, scheme, profile) = (attack.id, scheme.id, profile.name());
                let found = finding.found.name();
                differences.push(format!(
                    "{id} on {scheme}, {profile}: {found}; list it below, or mend the scheme: {finding:?}"
                ));
            }
        }
    }
    differences
}

/// Returns what an attack breaks: schemes with profiles.
fn expected(attack: &str) -> BTreeSet<(&'static str, &'static str)> {
    let rows = BROKEN.iter().filter(|(id, ..)| *id == attack);
    let schemes = |(_, profiles, schemes): &(&str, &'static [&'static str], &'static str)| {
        let pairs = |scheme| profiles.iter().map(move |&profile| (scheme, profile));
        schemes.split_whitespace().flat_map(pairs).collect::<Vec<_>>()
    };
    rows.flat_map(schemes).collect()
}

const BOTH: &[&str] = &["published", "sound"];
const PUBLISHED: &[&str] = &["published"];

/// Attack, profiles, and the schemes that it breaks in them.
const BROKEN: &[(&str, &[&str], &str)] = &[
    ("boneh-eavesdropper", PUBLISHED, "boneh-thin"),
    ("boneh-newcomer", PUBLISHED, "boneh-fat boneh-thin"),
    ("boneh-outsider", PUBLISHED, "boneh-fat boneh-thin"),
    ("elk-evicted", PUBLISHED, "elk"),
    // A bare scheme takes the word of an answer, or of a welcome, about its sender's place.
    ("evicted-answers", BOTH, "gdh2 gdh2-relay gdh3 tgdh str dh-lkh ckd d-lkh treekem"),
    // In sound D-OFT the witness would have to confirm, too.
    ("evicted-welcomes", BOTH, "gdh2 gdh2-relay ckd d-lkh treekem"),
    ("evicted-welcomes", PUBLISHED, "d-oft"),
    // Notices that only announce a change, masks, and keys that hash forward: nothing binds them to
    // their epoch.
    (
        "false-epoch-mac",
        PUBLISHED,
        "skdc gkmp lkh-user lkh-key lkh-group lkh-plus oft ofct cfkm cs sd lsd s2rp boneh-fat boneh-thin \
         nishat alohali-r dep igkmp kronos lnt riseg segcom tkh fame elk",
    ),
    ("fame-evicted", PUBLISHED, "fame"),
    ("fame-newcomer", PUBLISHED, "fame"),
    // Schemes whose members have no certified long-term keys.
    ("impostor-mac", BOTH, "gdh1 gdh2 gdh2-relay gdh3 tgdh str dh-lkh bd ckd treekem"),
    // All schemes in which one member contributes last, or alone. BD has no such member.
    (
        "key-control",
        BOTH,
        "gdh1 gdh2 gdh2-relay gdh3 tgdh str dh-lkh cka ckd d-lkh d-oft sender-keys treekem",
    ),
    ("nishat-evicted", PUBLISHED, "nishat"),
    ("nishat-gcd", PUBLISHED, "nishat"),
    ("nishat-newcomer", PUBLISHED, "nishat"),
    // Whoever has an earlier state of the controller is the controller.
    (
        "restored-store",
        BOTH,
        "skdc gkmp lkh-user lkh-key lkh-group lkh-plus oft ofct cfkm cs sd lsd s2rp sbsa-r sgcsh xfks-r \
         boneh-fat boneh-thin nishat dep igkmp kronos lnt riseg segcom tkh fame elk",
    ),
    ("sender-keys-leak", PUBLISHED, "sender-keys"),
    (
        "small-subgroup",
        PUBLISHED,
        "boneh-fat boneh-thin fame nishat gdh1 gdh2 gdh2-relay gdh3 tgdh str dh-lkh bd cka ckd treekem",
    ),
    // In BD, CKA and with sender keys every member confirms, in D-OFT two members do. In the others only the liar
    // confirms, or no member.
    ("split-group", BOTH, "gdh1 gdh2 gdh2-relay gdh3 tgdh str dh-lkh ckd d-lkh"),
    ("split-group", PUBLISHED, "bd cka d-oft sender-keys"),
    // The nonce is in the header, which the MAC alone covers. In SeGCom the wrapped content repeats one, too.
    (
        "stale-answer-mac",
        BOTH,
        "elk skdc fame gkmp lkh-user lkh-key lkh-group lkh-plus oft ofct cfkm cs sd lsd s2rp sbsa-r sgcsh xfks-r \
         boneh-fat boneh-thin nishat dep igkmp kronos lnt riseg tkh gdh2 gdh2-relay tgdh str \
         dh-lkh ckd",
    ),
    ("stale-answer-mac", &["sound"], "d-oft"),
    // Schemes with neither integrity of the wrap nor a confirmation.
    (
        "tampered-rekey",
        PUBLISHED,
        "skdc elk gkmp lkh-user lkh-key lkh-group lkh-plus oft ofct cfkm cs sd lsd s2rp \
         nishat alohali-r dep igkmp kronos lnt riseg segcom tkh tgdh str dh-lkh bd cka ckd d-lkh d-oft sender-keys",
    ),
    // As published, nothing confirms what members compute from elements and from broadcasts.
    ("tampered-rekey", PUBLISHED, "sgcsh boneh-fat boneh-thin fame gdh1 gdh2 gdh2-relay gdh3"),
    // The key does not depend on the names of the members.
    ("unknown-key-share", PUBLISHED, "cka ckd d-lkh d-oft"),
    // As published, elements and all that CBC wraps.
    (
        "wrap-elsewhere",
        PUBLISHED,
        "skdc fame gkmp lkh-user lkh-key oft cs sd lsd boneh-fat boneh-thin nishat alohali-r dep igkmp kronos lnt \
         riseg segcom tkh gdh1 gdh2 gdh2-relay gdh3 tgdh str dh-lkh bd cka ckd d-lkh d-oft sender-keys",
    ),
];

/// Attacks for which a member must sleep through all events, on schemes in which all members must
/// act.
const UNTRIED: &[(&str, &str)] = &[
    ("rollback", "d-lkh"),
    ("rollback", "d-oft"),
    ("rollback", "gdh3"),
    ("stale-answer", "gdh3"),
    ("stale-answer-mac", "gdh3"),
];

/// Attacks that succeed nowhere, and why.
const FUTILE: &[(&str, &str)] = &[
    ("dropped-rekey", "every message says to which epoch it leads"),
    ("evicted-returns", "an eviction lasts until an operator's ticket undoes it"),
    ("evicted-speaks", "with an order of events, only members of the roster are heard"),
    (
        "false-epoch-signature",
        "a signature is over the epoch, and an evicted member has no other's key",
    ),
    ("former-life", "every protection and derivation is of one instance of the group"),
    ("lost-periods", "SGCSH heals as far as it says"),
    ("identity-element", "the identity is refused wherever an element is read"),
    ("impostor-signature", "a newcomer's name stands over its own signature only"),
    (
        "newcomer-recordings",
        "nothing that was sent is wrapped under a key that a newcomer is given",
    ),
    ("replay", "every message says to which epoch it leads"),
    ("replay-old-group", "every protection and derivation is of one instance of the group"),
    ("rollback", "no message leads to an epoch that is not later"),
    ("stale-answer", "an answer repeats the nonce of the request, and none of before has that"),
];
