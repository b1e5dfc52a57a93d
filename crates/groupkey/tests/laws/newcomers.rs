//! A newcomer whose own message is lost waits for it. It takes no part of another change for the
//! whole, and is never alone with a key.

use std::cell::RefCell;
use std::rc::Rc;

use groupkey::catalogue::{Law, Profile, SCHEMES};
use groupkey::{MemberId, Operation, PartyId, Recipient};
use groupkey_testkit::rig::{Fate, Rig, Settings};

#[test]
fn a_newcomer_that_missed_its_own_message_takes_no_other_ones() {
    let schemes = SCHEMES.iter().filter(|scheme| {
        let adds = scheme.operations.contains(&Operation::Add);
        adds && scheme.has_controller() && scheme.law == Law::OneKey
    });
    let mut missed = 0;
    for (scheme, profile) in
        schemes.flat_map(|scheme| Profile::ALL.map(|profile| (scheme, profile)))
    {
        for count in 2..10 {
            let mut rig = Rig::new(scheme, Settings { profile, ..Settings::default() });
            rig.create(count).unwrap();
            let newcomer = PartyId::from(MemberId(count));
            rig.intercept(move |transit| match transit.header.to {
                Recipient::Member(to) if PartyId::from(to) == newcomer => {
                    let is_rekey = transit.header.operation == Operation::Add;
                    if is_rekey { Fate::Lost } else { Fate::Arrives }
                }
                _ => Fate::Arrives,
            });
            rig.add(count).unwrap();
            missed += usize::from(rig.key_of(newcomer).is_none());
            let heard = Rc::new(RefCell::new(Vec::new()));
            let hears = Rc::clone(&heard);
            rig.intercept(move |transit| {
                if transit.to == newcomer {
                    hears.borrow_mut().push(transit.bytes.to_vec());
                    return Fate::Lost;
                }
                Fate::Arrives
            });
            rig.add(count + 1).unwrap();
            for bytes in heard.take() {
                // Most refuse what is for others.
                let _ = rig.hand(newcomer, &bytes);
            }
            let (epoch, key) = rig.key_of(MemberId(0).into()).unwrap();
            if let Some((held, own)) = rig.key_of(newcomer) {
                let is_theirs = held < epoch || own == key;
                assert!(is_theirs, "{}, {profile:?}, {count} members", scheme.id);
            }
        }
    }
    assert!(missed > 100, "it missed something {missed} times");
}
