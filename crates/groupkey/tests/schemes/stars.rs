//! SBSA-R and XFKS-R cost what the headers of their files say, whatever the number of members, and
//! refuse every entry that was altered, though nothing else protects it.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, PartyId, Recipient};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, SUITES, SentMessage, Settings};

const SIZES: [u32; 11] = [2, 3, 4, 5, 8, 9, 16, 17, 64, 65, 100];

/// A masked key, a confirmation, and a head of one byte for each.
const ENTRY_BYTES: usize = 34;

#[test]
fn sbsa_r_costs_a_derivation_and_two_hashes_a_member() {
    for n in SIZES {
        for profile in Profile::ALL {
            let mut rig = rig("sbsa-r", profile, None);
            let of_entries = |entries| match profile {
                Profile::Published => (entries, entries + 1),
                Profile::Sound => (entries, 2 * entries),
            };
            let created = rig.create(n).unwrap();
            check_entries(&created, n, of_entries(n));
            check_footprints(&rig, 2);
            check_entries(&rig.add(n).unwrap(), n + 1, of_entries(n + 1));
            check_footprints(&rig, 2);
            // The leaving member leaves a hole.
            let removed = rig.remove(n / 2).unwrap();
            check_entries(&removed, n, of_entries(n));
            assert_eq!(costs(&removed, MemberId(n / 2).into()), (0, 0));
            check_entries(&rig.add(n + 1).unwrap(), n + 1, of_entries(n + 1));
            check_footprints(&rig, 2);

            rig.sleep(0);
            rig.add(n + 2).unwrap();
            rig.remove(n).unwrap();
            let caught_up = rig.catch_up(0).unwrap();
            assert_eq!(caught_up.open_messages().count(), 2);
            assert_eq!(costs(&caught_up, Controller), (1, 2));
            assert_eq!(costs(&caught_up, MemberId(0).into()), (0, 2));
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn xfks_r_costs_chains_of_the_chosen_length() {
    for steps in [1, 2, 7, 200] {
        for n in SIZES {
            for profile in Profile::ALL {
                let mut rig = rig("xfks-r", profile, Some(steps));
                let group_key = u32::from(profile == Profile::Sound);
                let of_entries = |entries| match profile {
                    Profile::Published => (entries, entries * steps + 1),
                    Profile::Sound => (entries + 1, entries * steps + entries),
                };
                let of_member = (group_key, steps + 1);
                let check_all = |rig: &Rig, report: &OperationReport, entries: u32| {
                    assert_eq!(report.open_messages().count() as u32, entries);
                    assert!(report.open_messages().all(is_entry));
                    assert_eq!(costs(report, Controller), of_entries(entries));
                    for member in rig.members() {
                        let party = MemberId(member).into();
                        assert_eq!(costs(report, party), of_member);
                    }
                    check_footprints(rig, 3);
                };
                let created = rig.create(n).unwrap();
                check_all(&rig, &created, n);

                let added = rig.add(n).unwrap();
                let [entry, notice] = &added.messages[added.messages.len() - 2..] else {
                    panic!("an add takes two messages");
                };
                assert_eq!(added.open_messages().count(), 2);
                assert_eq!(entry.to, Recipient::Member(MemberId(n)));
                assert!(is_entry(entry));
                assert_eq!(notice.to, Recipient::Group);
                assert_eq!(notice.body_bytes, if n < 24 { 18 } else { 19 });
                assert_eq!(costs(&added, Controller), (1 + group_key, 2 * steps + 2));
                for member in 0..=n {
                    let party = MemberId(member).into();
                    assert_eq!(costs(&added, party), of_member, "{member}");
                }

                let removed = rig.remove(n / 2).unwrap();
                check_all(&rig, &removed, n);

                rig.sleep(0);
                rig.add(n + 1).unwrap();
                rig.add(n + 2).unwrap();
                rig.remove(n).unwrap();
                let caught_up = rig.catch_up(0).unwrap();
                assert_eq!(caught_up.open_messages().count(), 2);
                assert_eq!(costs(&caught_up, Controller), (1, steps + 1));
                assert_eq!(costs(&caught_up, MemberId(0).into()), of_member);
                rig.agreed_key().unwrap();
            }
        }
    }
}

#[test]
fn slots_that_are_used_again_have_new_keys() {
    for id in ["sbsa-r", "xfks-r"] {
        let mut rig = rig(id, Profile::Sound, None);
        rig.create(5).unwrap();
        for round in 0..20 {
            // The same two members join and leave, and what they were is still listening.
            rig.remove(round % 2).unwrap();
            assert!(!rig.outsider_knows_key());
            rig.add(round % 2).unwrap();
            assert!(!rig.outsider_knows_key());
            rig.agreed_key().unwrap();
        }
    }
}

/// A mask alone would let everybody flip bits of the key.
#[test]
fn altered_entries_are_refused_without_any_protection() {
    for id in ["sbsa-r", "xfks-r"] {
        for profile in Profile::ALL {
            for suite in SUITES {
                let settings =
                    Settings { profile, suite, protection: Guard::None, ..Settings::default() };
                let mut rig = Rig::new(scheme(id).unwrap(), settings);
                rig.create(4).unwrap();
                rig.sleep(1);
                let removed = rig.remove(3).unwrap();
                let entry = removed.messages.iter().find(|message| is_to(message, 1));
                let entry = entry.expect("everybody is sent an entry");
                let old = rig.key_of(MemberId(1).into()).map(|(epoch, key)| (epoch, key.clone()));
                let header = entry.bytes.len() - ENTRY_BYTES;
                for bit in 8 * header..8 * entry.bytes.len() {
                    let mut altered = entry.bytes.to_vec();
                    altered[bit / 8] ^= 1 << (bit % 8);
                    rig.inject(MemberId(1).into(), &altered).unwrap_err();
                }
                // The same bits of key and confirmation, and another member's entry.
                for byte in header + 1..header + 17 {
                    let mut altered = entry.bytes.to_vec();
                    altered[byte] ^= 1;
                    altered[byte + 17] ^= 1;
                    rig.inject(MemberId(1).into(), &altered).unwrap_err();
                }
                let other = removed.messages.iter().find(|message| is_to(message, 2)).unwrap();
                let swapped = [&entry.bytes[..header], &other.bytes[header..]].concat();
                rig.inject(MemberId(1).into(), &swapped).unwrap_err();
                let now = rig.key_of(MemberId(1).into()).map(|(epoch, key)| (epoch, key.clone()));
                assert_eq!(now, old);
                rig.inject(MemberId(1).into(), &entry.bytes).unwrap();
                assert_eq!(rig.key_of(MemberId(1).into()), rig.key_of(Controller));
            }
        }
    }
}

fn rig(id: &str, profile: Profile, steps: Option<u32>) -> Rig {
    let parameters = steps.map(|steps| ("iterations", steps)).into_iter().collect();
    Rig::new(scheme(id).unwrap(), Settings { profile, parameters, ..Settings::default() })
}

/// So many unicasts of an entry, derivations and hashes; two hashes at each member that had one.
fn check_entries(report: &OperationReport, entries: u32, controller: (u32, u32)) {
    assert_eq!(report.open_messages().count() as u32, entries);
    assert!(report.open_messages().all(is_entry));
    assert_eq!(costs(report, Controller), controller);
    for message in report.open_messages() {
        let Recipient::Member(member) = message.to else { unreachable!("an entry is a unicast") };
        assert_eq!(costs(report, member.into()), (0, 2));
    }
    for primitive in [Primitive::Wrap, Primitive::Unwrap] {
        assert_eq!(report.total().tally(primitive).calls, 0);
    }
}

/// So many keys at the controller and at each member, whatever the number of members.
fn check_footprints(rig: &Rig, keys: usize) {
    let members = rig.members().map(|member| MemberId(member).into());
    for party in members.chain([Controller]) {
        assert_eq!(rig.party(party).footprint().permanent, 16 * keys);
    }
}

fn is_entry(message: &SentMessage) -> bool {
    matches!(message.to, Recipient::Member(_)) && message.body_bytes == ENTRY_BYTES
}

fn is_to(message: &SentMessage, member: u32) -> bool {
    message.to == Recipient::Member(MemberId(member))
}

/// Derivations, and hashes.
fn costs(report: &OperationReport, party: PartyId) -> (u32, u32) {
    let meter = report.meter(party);
    let calls = |primitive| meter.tally(primitive).calls as u32;
    (calls(Primitive::Derive), calls(Primitive::Hash))
}
