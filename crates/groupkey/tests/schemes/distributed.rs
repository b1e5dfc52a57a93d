//! What every scheme does whose members make the key without a controller, whatever it costs them.

use groupkey::catalogue::{Profile, scheme};
use groupkey::error::{Error, Misbehaviour, Misuse, Unsupported};
use groupkey::{Command, MemberId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, SentMessage, Settings};

use crate::schemes::table::{Table, is_from, kind};

/// Unicasts and broadcasts.
pub(crate) fn messages(report: &OperationReport) -> (u64, u64) {
    let broadcasts = report.messages.iter().filter(|message| message.to == Recipient::Group);
    let broadcasts = broadcasts.count() as u64;
    (report.messages.len() as u64 - broadcasts, broadcasts)
}

/// Unicasts, broadcasts of keys, and broadcasts of one string of 16 bytes, which is a nonce or confirms.
pub(crate) fn messages_and_confirmations(report: &OperationReport) -> (u64, u64, u64) {
    let (unicasts, broadcasts) = messages(report);
    let of_one = |sent: &&SentMessage| sent.to == Recipient::Group && sent.body_bytes == 17;
    let of_one = report.messages.iter().filter(of_one).count() as u64;
    (unicasts, broadcasts - of_one, of_one)
}

/// Two come for each who leaves, until nobody is left who was there first; then all but two leave.
pub(crate) fn everybody_is_replaced(id: &str, profile: Profile, leavers: [u32; 7]) {
    let mut rig = rig(id, profile);
    // The order of the command counts, not that of the ids.
    rig.create_of(&[30, 10, 20]).unwrap();
    let mut keys = vec![rig.agreed_key().unwrap().clone()];
    let mut newcomers = 100..;
    for leaver in leavers {
        for newcomer in newcomers.by_ref().take(2) {
            rig.add(newcomer).unwrap();
            keys.push(rig.agreed_key().unwrap().clone());
        }
        rig.remove(leaver).unwrap();
        keys.push(rig.agreed_key().unwrap().clone());
        assert!(!rig.outsider_knows_key(), "{id}");
    }
    for (index, key) in keys.iter().enumerate() {
        assert!(!keys[..index].contains(key), "{id}: key {index} was used before");
    }
    for leaver in rig.members().collect::<Vec<_>>().split_off(2) {
        rig.remove(leaver).unwrap();
        rig.agreed_key().unwrap();
    }
    rig.add(newcomers.start).unwrap();
    rig.agreed_key().unwrap();
}

/// Of n members one sleeps while another one leaves.
pub(crate) fn an_answer_is_taken_once(id: &str, n: u32, sleeper: u32, leaver: u32) {
    let mut rig = rig(id, Profile::Sound);
    rig.create(n).unwrap();
    rig.sleep(sleeper);
    rig.remove(leaver).unwrap();
    let report = rig.catch_up(sleeper).unwrap();
    let answer = report.messages[1].bytes.clone();
    let again = rig.inject(MemberId(sleeper).into(), &answer);
    assert_eq!(again, Err(Misbehaviour::UnexpectedMessage.into()), "{id}");
    assert_nothing_was_missed(&mut rig, sleeper);
    rig.agreed_key().unwrap();
}

#[track_caller]
pub(crate) fn assert_nothing_was_missed(rig: &mut Rig, member: u32) {
    let stale = |error| matches!(error, Error::Misbehaved(Misbehaviour::StaleEpoch { .. }));
    let told = rig.catch_up(member).map(drop);
    assert!(matches!(told, Err(RigError::Refused(_, error)) if stale(error)), "{told:?}");
}

/// Of n members one sleeps while two others leave, and hears of the second only.
pub(crate) fn a_missed_epoch_is_noticed(id: &str, n: u32, sleeper: u32, leavers: [u32; 2]) {
    let mut rig = rig(id, Profile::Sound);
    rig.create(n).unwrap();
    rig.sleep(sleeper);
    let [_, report] = leavers.map(|leaver| rig.remove(leaver).unwrap());
    let error = rig.inject(MemberId(sleeper).into(), &report.messages[0].bytes);
    assert!(
        matches!(error, Err(Error::Misbehaved(Misbehaviour::SkippedEpoch { .. }))),
        "{id}: {error:?}"
    );
    rig.catch_up(sleeper).unwrap();
    rig.agreed_key().unwrap();
}

/// Member 1 confirms another key to member 0 than to the others, in groups of which all confirm.
pub(crate) fn a_false_confirmation_leaves_one_without_key(id: &str, confirmation: u8) {
    for n in [2, 3, 6] {
        let mut table = Table::told_to_create(scheme(id).unwrap(), Profile::Sound, n, 2);
        let refused = table.settle_with(0..n, |_, message, to| {
            if to == 0 && is_from(message, 1) && kind(message) == confirmation {
                *message.last_mut().unwrap() ^= 1;
            }
        });
        assert_eq!(refused, [Misbehaviour::Forged.into()], "{id}");
        let keys = table.keys();
        assert!(keys[0].is_none() && keys[1..].iter().all(Option::is_some), "{id}");
    }
}

#[track_caller]
pub(crate) fn assert_refused(
    rig: &mut Rig,
    member: u32,
    command: Command<'_>,
    error: impl Into<Error>,
) {
    let given = rig.command_to(MemberId(member).into(), command);
    assert_eq!(given, Err(error.into()), "{command:?}");
}

/// The first operation has no messages yet and holds up the second.
#[track_caller]
pub(crate) fn assert_one_after_the_other(rig: &mut Rig) {
    rig.command_to(MemberId(1).into(), Command::Add(MemberId(9))).unwrap();
    assert_refused(rig, 1, Command::Remove(MemberId(0)), Misuse::OperationUnderWay);
}

#[track_caller]
pub(crate) fn assert_no_more_than(id: &str, limit: u32) {
    let refused = rig(id, Profile::Sound).create(limit + 1).map(drop);
    let error = Unsupported::TooManyMembers { limit };
    assert_eq!(refused, Err(RigError::Command(error.into())), "{id}");
}

fn rig(id: &str, profile: Profile) -> Rig {
    Rig::new(scheme(id).unwrap(), Settings { profile, ..Settings::default() })
}
