//! Who catches up takes the answer to its last request and no other one, in every scheme that answers.

use std::cell::RefCell;
use std::rc::Rc;

use groupkey::catalogue::{Law, Profile, Recovery, SCHEMES, Scheme};
use groupkey::error::{Error, Misbehaviour};
use groupkey::{Command, MemberId, Operation, PartyId};
use groupkey_testkit::rig::{Fate, OperationReport, Rig, RigError, Settings};

/// An answer is kept back while the group goes on. When the member asks again, the kept one is refused
/// and changes nothing; then the answer to the new request is taken, once.
#[test]
fn an_answer_from_before_is_refused_and_the_next_one_taken() {
    for scheme in SCHEMES.iter().filter(|scheme| scheme.recovery != Recovery::Rejoin) {
        for profile in Profile::ALL {
            // Where members make the key, some of them have to act, and cannot sleep.
            let fates: Vec<_> = [0, 3, 4].map(|who| ask_twice(scheme, profile, who)).into();
            let context = format!("{} {}: {fates:?}", scheme.id, profile.name());
            assert!(fates.contains(&Ok(true)), "{context}");
        }
    }
}

/// Whether the member was answered, so that there was something to keep.
fn ask_twice(scheme: &'static Scheme, profile: Profile, who: u32) -> Result<bool, RigError> {
    let parameters = match scheme.parameters.iter().any(|parameter| parameter.name == "subgroups") {
        true => vec![("subgroups", 1)],
        false => Vec::new(),
    };
    let mut rig = Rig::new(scheme, Settings { profile, parameters, ..Settings::default() });
    let sleeper = MemberId(who).into();
    rig.create(6)?;
    rig.sleep(who);
    go_on(&mut rig, scheme, 1)?;
    let mut kept = ask_in_vain(&mut rig, sleeper)?;
    rig.put_to_sleep(sleeper);
    go_on(&mut rig, scheme, 2)?;
    kept.extend(ask_in_vain(&mut rig, sleeper)?);
    if kept.len() != 2 {
        return Ok(false);
    }
    let before = rig.key_of(sleeper).map(|(epoch, key)| (epoch, key.clone()));
    let context = format!("{} {} {who}", scheme.id, profile.name());

    rig.command_to(sleeper, Command::CatchUp).map_err(RigError::Command)?;
    for bytes in &kept {
        let refused = Err(Error::Misbehaved(Misbehaviour::StaleAnswer));
        assert_eq!(rig.hand(sleeper, bytes), refused, "{context}");
        assert_eq!(rig.key_of(sleeper), before.as_ref().map(|(epoch, key)| (*epoch, key)));
    }
    let fresh = Rc::new(RefCell::new(Vec::new()));
    record(&mut rig, sleeper, &fresh, Fate::Arrives);
    let report = rig.settle()?;
    assert!(report.refusals.is_empty(), "{context}: {:?}", report.refusals);
    let after = rig.key_of(sleeper).map(|(epoch, _)| epoch);
    assert!(after > before.map(|(epoch, _)| epoch), "{context}");
    if scheme.law != Law::OneMessage {
        rig.agreed_key()?;
    }
    for bytes in fresh.take() {
        assert!(rig.hand(sleeper, &bytes).is_err(), "{context}: taken twice");
    }
    Ok(true)
}

fn go_on(rig: &mut Rig, scheme: &Scheme, leaver: u32) -> Result<OperationReport, RigError> {
    match scheme.operations.contains(&Operation::Remove) {
        true => rig.remove(leaver),
        false => rig.rekey(),
    }
}

/// Wakes a member that asks: what it is answered, which does not arrive.
fn ask_in_vain(rig: &mut Rig, sleeper: PartyId) -> Result<Vec<Vec<u8>>, RigError> {
    let kept = Rc::new(RefCell::new(Vec::new()));
    record(rig, sleeper, &kept, Fate::Lost);
    rig.wake(sleeper)?;
    rig.let_pass();
    Ok(kept.take())
}

fn record(rig: &mut Rig, to: PartyId, into: &Rc<RefCell<Vec<Vec<u8>>>>, fate: Fate) {
    let into = into.clone();
    rig.intercept(move |transit| {
        if transit.to == to && transit.header.nonce.is_some() {
            into.borrow_mut().push(transit.bytes.to_vec());
            return fate.clone();
        }
        Fate::Arrives
    });
}
