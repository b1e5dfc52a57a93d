//! Members of every distributed scheme agree although requests come from several of them at once and
//! in different orders, and although members die at any step of an operation.

mod topic;

use groupkey::author::EventOrder;
use groupkey::catalogue::{Class, SCHEMES, Scheme};
use groupkey::error::{Error, Misbehaviour, Misuse};
use groupkey::event_order::{Evict, Join, Rules};
use groupkey::{Command, MemberId, Operation, Party};
use topic::{Doom, Stage};

fn schemes() -> impl Iterator<Item = &'static Scheme> {
    SCHEMES.iter().filter(|scheme| scheme.class() == Class::Distributed)
}

#[test]
fn one_event_after_the_other() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 1).with(&[3, 1, 2]);
        stage.check();
        stage.join(7);
        stage.settle();
        stage.check();
        stage.leave(3);
        stage.settle();
        stage.check();
        stage.evict(7, 1);
        stage.settle();
        stage.check();
        stage.refresh();
        stage.settle();
        stage.check();
        stage.join(3);
        stage.settle();
        stage.check();
    }
}

#[test]
fn requests_at_once_in_any_order() {
    for scheme in schemes() {
        for seed in 0..30 {
            for scattered in [false, true] {
                let stage = Stage::new(scheme, seed);
                let mut stage = if scattered { stage.scattered() } else { stage };
                stage.create(&[5, 4, 3, 2, 1]);
                stage.settle();
                stage.check();
                let pause = |stage: &mut Stage, turns: u64| {
                    (0..turns).for_each(|_| _ = stage.advance());
                };
                stage.join(9);
                stage.join(7);
                pause(&mut stage, seed % 7);
                stage.leave(5);
                stage.evict(2, 4);
                pause(&mut stage, seed % 5 * 4);
                stage.join(8);
                stage.refresh();
                pause(&mut stage, seed % 3 * 9);
                stage.leave(7);
                stage.settle();
                stage.check();
            }
        }
    }
}

#[test]
fn a_death_at_any_step_of_any_operation() {
    for scheme in schemes() {
        for operation in 0..4 {
            for victim in [3, 1, 4, 2, 9] {
                let mut delivery = 0;
                // Until the operation is over before the death comes.
                while kills(scheme, operation, victim, &mut delivery) {}
            }
        }
    }
}

/// Lets a member die at the next delivery, with some of what it sends getting out.
fn kills(scheme: &'static Scheme, operation: u32, victim: u32, delivery: &mut usize) -> bool {
    *delivery += 1;
    let mut met = false;
    for gets_out in [0, 1, 99] {
        let seed = *delivery as u64 * 7 + gets_out as u64;
        let mut stage = Stage::new(scheme, seed);
        if operation > 0 {
            stage.create(&[3, 1, 4, 2]);
            stage.settle();
            stage.check();
        }
        stage.doom(Doom { victim, delivery: *delivery, gets_out });
        match operation {
            0 => stage.create(&[3, 1, 4, 2]),
            1 => stage.join(9),
            2 => stage.leave(1),
            _ => stage.refresh(),
        }
        if operation != 1 && victim == 9 || operation == 2 && victim == 1 {
            return false;
        }
        stage.settle();
        met |= stage.is_dead(victim);
        stage.check();
        // And it goes on.
        stage.join(8);
        stage.settle();
        stage.check();
    }
    met
}

#[test]
fn several_deaths_during_an_operation() {
    for scheme in schemes() {
        for seed in 0..20 {
            let mut stage = Stage::new(scheme, seed).with(&[1, 2, 3, 4, 5, 6]);
            stage.check();
            stage.join(9);
            (0..seed % 11).for_each(|_| _ = stage.advance());
            stage.die(1);
            (0..seed % 4 * 6).for_each(|_| _ = stage.advance());
            stage.die(2);
            stage.die(5);
            stage.leave(4);
            stage.settle();
            stage.check();
        }
    }
}

#[test]
fn who_was_held_for_dead_comes_back() {
    for scheme in schemes() {
        for seed in 0..10 {
            let mut stage = Stage::new(scheme, seed);
            stage.create(&[1, 2, 3, 4]);
            (0..seed * 2).for_each(|_| _ = stage.advance());
            // The chair itself, who is well.
            stage.report(1);
            stage.settle();
            stage.check();
        }
    }
}

#[test]
fn who_lost_its_memory_comes_back() {
    for scheme in schemes() {
        for member in [1, 2, 4] {
            let mut stage = Stage::new(scheme, 5).with(&[1, 2, 3, 4]);
            stage.check();
            stage.restart(member);
            stage.settle();
            stage.check();
            stage.catch_up(member);
            stage.settle();
            stage.check();
        }
    }
}

/// The one that stays waits, and its key is not shared with anybody new before somebody comes.
#[test]
fn the_last_of_two_waits_for_another() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 2).with(&[1, 2]);
        stage.check();
        stage.die(1);
        while stage.advance() {}
        stage.join(3);
        stage.settle();
        stage.check();
        assert!(stage.party(3).members().eq([2, 3].map(MemberId)));
    }
}

#[test]
fn an_event_takes_one_announcement() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
        assert!(stage.topic().iter().all(|message| message[4] != topic::ORDER));
        let before = stage.topic().len();
        stage.join(4);
        stage.settle();
        let ours = stage.topic()[before..].iter().filter(|message| message[4] == topic::ORDER);
        let kinds: Vec<_> = ours.map(|message| message[5]).collect();
        assert_eq!(kinds, [0, topic::ANNOUNCE], "a request and an announcement");
    }
}

#[test]
fn only_the_next_in_line_can_announce() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3, 4]);
        stage.check();
        stage.evict(3, 4);
        stage.settle();
        stage.check();
        let genuine = stage.last(topic::ANNOUNCE);

        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3, 4]);
        // Version, group, epoch, operation, kind, sender, to; then the operation and the roster.
        let evicted = [0x81, 0x82, 4, 2];
        let roster = [0x83, 1, 2, 3, 0x80];
        assert_eq!(genuine[1..9], [1, 3, 2, 11, 3, 2, 0xf6, genuine[8]]);
        assert_eq!(genuine[9..], [&roster[..], &evicted].concat());
        let mut refused = |place: usize, value: u8, misbehaviour: Misbehaviour| {
            let mut changed = genuine.clone();
            changed[place] = value;
            let refused = stage.inject(3, &changed);
            assert_eq!(refused, Err(Error::Misbehaved(misbehaviour)), "{place}: {value}");
        };
        let [got, current] = [1, 1].map(groupkey::Epoch);
        refused(3, 1, Misbehaviour::StaleEpoch { got, current });
        let got = groupkey::Epoch(3);
        refused(3, 3, Misbehaviour::SkippedEpoch { got, current });
        refused(5, 7, Misbehaviour::UnexpectedMessage);
        refused(6, 3, Misbehaviour::UnexpectedSender);
        refused(8, 2, Misbehaviour::InvalidRoster);
        refused(8, 9, Misbehaviour::InvalidRoster);
        refused(10, 2, Misbehaviour::InvalidRoster);
        refused(10, 9, Misbehaviour::UnexpectedSender);
        refused(12, 2, Misbehaviour::InvalidRoster);
        // Evicted, and present.
        refused(16, 3, Misbehaviour::InvalidRoster);
        // For less than this epoch, so that an earlier ticket would do.
        refused(17, 1, Misbehaviour::InvalidRoster);
        // The second member puts itself first.
        let mut usurped = genuine.clone();
        usurped[6] = 2 + 1;
        usurped[10..12].copy_from_slice(&[2, 1]);
        assert_eq!(stage.inject(3, &usurped), Err(Misbehaviour::InvalidRoster.into()));
        stage.inject(3, &genuine).unwrap();
        let current = groupkey::Epoch(2);
        let again = stage.inject(3, &genuine);
        assert_eq!(again, Err(Misbehaviour::StaleEpoch { got: current, current }.into()));
    }
}

/// Somebody recorded how a member was taken in, and plays it to the member when it asks once more.
#[test]
fn an_old_announcement_takes_nobody_in() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
        stage.join(4);
        stage.settle();
        let recorded = stage.last(topic::ANNOUNCE);
        stage.restart(4);
        stage.inject(4, &recorded).unwrap();
        assert_eq!(stage.party(4).members().count(), 0, "{}", scheme.id);
    }
}

/// Somebody who is no member announces the last epoch there is to one who waits.
#[test]
fn a_false_announcement_locks_nobody_out() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3, 4]);
        stage.check();
        // Version, group, epoch, operation, kind, sender, to; then the operation and the roster.
        let mut forged = vec![0x87, 1, 3, 0x1b];
        forged.extend([0xff; 8]);
        forged.extend([topic::ORDER, topic::ANNOUNCE, 9, 0xf6, 6, 0x82, 8, 9, 0x80, 0x80]);
        stage.restart(4);
        stage.inject(4, &forged).unwrap();
        stage.settle();
        stage.check();
        assert!(stage.party(4).members().any(|member| member == MemberId(4)));
    }
}

/// A member asked to begin again. Its ticket is public, and somebody outside answers with it.
#[test]
fn a_member_follows_only_members_into_a_new_beginning() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
        stage.catch_up(3);
        let join = stage.last(topic::JOIN);
        // Version, group, epoch, operation, kind, sender, to; then the ticket.
        let ticket = &join[8..];
        for (announcer, refusal) in [(8, Some(Misbehaviour::UnexpectedSender)), (1, None)] {
            let mut announced = vec![0x87, 1, 3, 9, topic::ORDER, topic::ANNOUNCE, announcer + 1];
            announced.extend([0xf6, Operation::Create as u8, 0x82, announcer, 3, 0x81]);
            announced.extend(ticket);
            announced.push(0x80);
            let refused = refusal.map_or(Ok(()), |misbehaviour| Err(misbehaviour.into()));
            assert_eq!(stage.inject(3, &announced), refused, "{}: {announcer}", scheme.id);
        }
    }
}

/// Neither at a member that asked to begin again, nor at one that was taken for dead and asks to
/// join. Its ticket is public, and a member answers with it.
#[test]
fn no_epoch_comes_again() {
    for scheme in schemes() {
        for is_removed in [false, true] {
            let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
            stage.refresh();
            stage.settle();
            if is_removed {
                stage.report(3);
                while stage.party(3).members().next().is_some() {
                    assert!(stage.advance());
                }
                stage.command_to(3, Command::Add(MemberId(3))).unwrap();
            } else {
                stage.catch_up(3);
            }
            let members = stage.party(3).members().count();
            let join = stage.last(topic::JOIN);
            let announced = |epoch: &[u8]| {
                let header = [&[0x87, 1, 3], epoch, &[topic::ORDER, topic::ANNOUNCE, 1 + 1, 0xf6]];
                let event = [&[Operation::Create as u8, 0x82, 1, 3, 0x81], &join[8..], &[0x80]];
                [header.concat(), event.concat()].concat()
            };
            let far = [&[0x1b][..], &[0xff; 8]].concat();
            for epoch in [&[0][..], &[1], &[2], &far] {
                let refused = stage.inject(3, &announced(epoch));
                let is_over = is_removed && epoch.len() == 1;
                assert_eq!(refused.is_err(), !is_over, "{}: {epoch:?}", scheme.id);
                assert_eq!(stage.party(3).members().count(), members, "{}", scheme.id);
            }
            stage.inject(3, &announced(&[9])).unwrap();
            assert!(stage.party(3).members().eq([1, 3].map(MemberId)), "{}", scheme.id);
        }
    }
}

/// Members 1 to 5, of which two must agree. One votes for epochs to come.
#[test]
fn votes_of_different_epochs_do_not_add_up() {
    let rules = Rules { evict: Evict::Members(2), ..Rules::default() };
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).ruled(rules).with(&[1, 2, 3, 4, 5]);
        for epoch in 2..9 {
            stage.speak(said(2 + 1, epoch, topic::EVICT, &[5]));
        }
        stage.command_to(1, Command::Remove(MemberId(5))).unwrap();
        for _ in 0..6 {
            stage.settle();
            stage.check();
            stage.refresh();
        }
        assert!(stage.party(1).members().any(|id| id == MemberId(5)), "{}", scheme.id);
        assert!(stage.party(3).evicted().is_empty());
    }
}

/// What the scheme would believe is refused before the scheme sees it.
#[test]
fn only_members_say_anything_of_the_scheme() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
        // For this epoch, to the group and to one member: neither joining nor catching up.
        for (operation, to, misbehaviour) in [
            (Operation::Create, 0xf6, Misbehaviour::UnexpectedSender),
            (Operation::Add, 2, Misbehaviour::UnexpectedSender),
            (Operation::CatchUp, 2, Misbehaviour::UnexpectedMessage),
        ] {
            for kind in 0..8 {
                let mut said = vec![0x87, 1, 3, 1, operation as u8, kind, 8 + 1, to];
                if operation == Operation::CatchUp {
                    said[0] = 0x88;
                    said.extend([0x48, 1, 2, 3, 4, 5, 6, 7, 8]);
                }
                said.extend([0x82, 1, 8]);
                let refused = stage.inject(1, &said);
                assert_eq!(refused, Err(misbehaviour.into()), "{}: {operation:?}", scheme.id);
            }
        }
    }
}

/// A member that hears of a later epoch has all begin again. An evicted one could say so for ever.
#[test]
fn only_a_member_proves_that_something_was_missed() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3, 4]);
        stage.evict(1, 4);
        stage.settle();
        let current = stage.party(1).latest_epoch();
        let got = groupkey::Epoch(current.0 + 3);
        for (speaker, misbehaviour) in [
            (2, Misbehaviour::SkippedEpoch { got, current }),
            (4, Misbehaviour::UnexpectedSender),
            (9, Misbehaviour::UnexpectedSender),
        ] {
            let mut of_the_scheme = said(speaker + 1, got.0 as u8, 0, &[0x40]);
            of_the_scheme[4] = Operation::Rekey as u8;
            let event = [Operation::Create as u8, 0x82, speaker, 1, 0x80, 0x80];
            let announced = said(speaker + 1, got.0 as u8, topic::ANNOUNCE, &event);
            for bytes in [of_the_scheme, announced] {
                let refused = stage.inject(1, &bytes);
                assert_eq!(refused, Err(misbehaviour.into()), "{}: {speaker}", scheme.id);
            }
        }
    }
}

/// Another member's place in the roster of its own message proves nothing.
#[test]
fn a_newcomer_takes_only_the_announced_members_from_a_welcome() {
    let scheme = schemes().find(|scheme| scheme.id == "gdh2").unwrap();
    let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
    stage.join(4);
    while stage.party(4).members().next().is_none() {
        assert!(stage.advance());
    }
    // WELCOME is kind 4; the roster comes first, and nothing follows it here.
    let welcome =
        |first: u8| vec![0x87, 1, 3, 2, Operation::Add as u8, 4, 3 + 1, 5, 0x84, first, 2, 3, 4];
    assert_eq!(stage.inject(4, &welcome(9)), Err(Misbehaviour::InvalidRoster.into()));
    let announced = stage.inject(4, &welcome(1));
    assert!(announced.is_err_and(|error| error != Misbehaviour::InvalidRoster.into()));
}

/// The same where the welcome is a tree: of the group that was announced, and of another one.
#[test]
fn a_newcomer_takes_only_a_tree_of_the_announced_members() {
    for scheme in schemes().filter(|scheme| ["tgdh", "str", "dh-lkh"].contains(&scheme.id)) {
        let is_refused = |members: &[u32]| {
            // From one seed, so that the newcomer has the same leaf in both.
            let [mut stage, mut other] =
                [&[1, 2, 3], members].map(|members| Stage::new(scheme, 3).with(members));
            stage.join(4);
            while stage.party(4).members().next().is_none() {
                assert!(stage.advance());
            }
            other.join(4);
            other.settle();
            let told = [other.letters(4), other.topic()].concat();
            let refusals: Vec<_> =
                told.iter().filter_map(|bytes| stage.inject(4, bytes).err()).collect();
            refusals.contains(&Misbehaviour::InvalidRoster.into())
        };
        assert!(!is_refused(&[1, 2, 3]), "{}", scheme.id);
        assert!(is_refused(&[1, 9, 3]) || is_refused(&[1, 2, 9]), "{}", scheme.id);
    }
}

/// Messages about the order, to the group: epochs and numbers below 24, so that each takes a byte.
fn said(sender: u8, epoch: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    [&[0x87, 1, 3, epoch, topic::ORDER, kind, sender, 0xf6], body].concat()
}

/// The number of the first operator, who signs as the controller of subgroup 0.
const OPERATOR: u8 = 0x20;

fn ticket(member: u8, epoch: u8) -> Vec<u8> {
    said(OPERATOR, epoch, topic::TICKET, &[member, 0x80])
}

/// An operator's word that evicts a member of this epoch until a ticket names the second one.
fn eviction(member: u8, epoch: u8, since: u8) -> Vec<u8> {
    said(OPERATOR, epoch, topic::EVICT, &[member, since])
}

#[test]
fn who_was_evicted_stays_out_until_an_operator_lets_it_in() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3, 4]);
        stage.evict(1, 4);
        stage.settle();
        stage.check();
        let join = |epoch| said(4 + 1, epoch, topic::JOIN, &[7]);
        let refusal = Err(Misbehaviour::UnexpectedSender.into());
        // A newcomer knows it from the announcement.
        stage.join(5);
        stage.settle();
        let epoch = stage.party(1).members().count() as u8 - 1;
        for member in [1, 2, 3, 5] {
            assert_eq!(stage.party(member).evicted(), [(MemberId(4), groupkey::Epoch(2))]);
            assert_eq!(stage.inject(member, &join(epoch)), refusal, "{}: {member}", scheme.id);
        }
        // Nobody else's word lets it in, nor does an operator's of before its eviction.
        for forged in [said(1 + 1, 2, topic::TICKET, &[4, 0x80]), ticket(4, 1)] {
            assert!(stage.inject(1, &forged).is_err());
            assert_eq!(stage.inject(1, &join(epoch)), refusal);
        }
        stage.replay(&ticket(4, 2));
        stage.settle();
        stage.join(4);
        stage.settle();
        stage.check();
        assert!(stage.party(5).evicted().is_empty());
        // The same ticket does not undo the next eviction.
        stage.evict(5, 4);
        stage.settle();
        stage.check();
        assert!(stage.inject(1, &ticket(4, 2)).is_err());
        assert_eq!(stage.inject(1, &join(epoch + 2)), refusal);
    }
}

/// A restarted member tells its party what it knew.
#[test]
fn an_eviction_outlives_the_group() {
    for scheme in schemes() {
        let evicted = [(MemberId(4), groupkey::Epoch(2))];
        let party = |id| {
            let configuration = scheme.configuration(groupkey::catalogue::Profile::Sound);
            let party = groupkey::Ordered::new(configuration, MemberId(id)).unwrap();
            party.remembering(groupkey::Epoch(9), &evicted)
        };
        let mut stage = Stage::new(scheme, 3);
        [1, 2].into_iter().for_each(|id| stage.seat_party(id, party(id)));
        let all = [1, 2, 4].map(MemberId);
        let refused = stage.command_to(1, Command::Create(&all));
        assert_eq!(refused, Err(Misuse::NotMember(MemberId(4)).into()));
        for id in [1, 2] {
            stage.command_to(id, Command::Create(&[1, 2].map(MemberId))).unwrap();
        }
        stage.settle();
        let join = said(4 + 1, 1, topic::JOIN, &[7]);
        assert_eq!(stage.inject(1, &join), Err(Misbehaviour::UnexpectedSender.into()));
        // It leads nobody in, either.
        stage.seat_party(3, party(3));
        stage.command_to(3, Command::Add(MemberId(3))).unwrap();
        let asked = stage.last(topic::JOIN);
        let body = [&[1, 0x82, 4, 3, 0x81], &asked[8..], &[0x80]].concat();
        let announced = said(4 + 1, 2, topic::ANNOUNCE, &body);
        assert_eq!(stage.inject(3, &announced), Err(Misbehaviour::UnexpectedSender.into()));
        stage.settle();
        stage.check();
        // A later eviction is of a later epoch than all that a ticket may have named so far.
        stage.evict(1, 3);
        stage.settle();
        let three = (MemberId(3), groupkey::Epoch(10));
        assert_eq!(stage.party(2).evicted(), [three, evicted[0]]);
        assert_eq!(stage.party(2).latest_epoch(), groupkey::Epoch(10));
    }
}

/// The group was founded anew, and an old ticket for member 2 names epoch 9. Member 2 takes in a
/// newcomer without the others, and does not tell it so. Then an operator evicts member 2.
#[test]
fn a_newcomer_without_the_others_tells_an_old_ticket_from_a_new_one() {
    let two = MemberId(2);
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).ruled(BY_OPERATORS);
        let remembering = ordered(scheme, 1).remembering(groupkey::Epoch(9), &[]);
        stage.seat_party(1, remembering);
        stage.seat_party(2, ordered(scheme, 2));
        for id in [1, 2] {
            stage.command_to(id, Command::Create(&[1, 2].map(MemberId))).unwrap();
        }
        stage.settle();
        stage.seat_party(3, ordered(scheme, 3));
        stage.command_to(3, Command::Add(MemberId(3))).unwrap();
        let asked = stage.last(topic::JOIN);
        let body = [&[Operation::Create as u8, 0x82, 2, 3, 0x81], &asked[8..], &[0x80]].concat();
        stage.inject(3, &said(2 + 1, 2, topic::ANNOUNCE, &body)).unwrap();
        stage.inject(3, &eviction(2, 2, 10)).unwrap();
        stage.inject(3, &said(1 + 1, 2, topic::JOIN, &[7])).unwrap();
        stage.command_to(3, Command::Partition(&[two])).unwrap();
        let announced = stage.last(topic::ANNOUNCE);
        stage.inject(3, &announced).unwrap();
        assert_eq!(stage.party(3).evicted(), [(two, groupkey::Epoch(10))], "{}", scheme.id);
        let join = said(2 + 1, 3, topic::JOIN, &[8]);
        for (named, is_in) in [(9, false), (10, true)] {
            assert_eq!(stage.inject(3, &ticket(2, named)).is_ok(), is_in, "{}", scheme.id);
            assert_eq!(stage.inject(3, &join).is_ok(), is_in, "{}", scheme.id);
        }
    }
}

/// An operator evicted member 3 in epoch 2 and has readmitted it. Member 2 restarts in epoch 3, and
/// member 1 takes it in with epoch 2.
#[test]
fn an_operators_old_word_evicts_nobody_again_where_the_ticket_is_known() {
    for scheme in schemes() {
        let mut stage =
            led_back(scheme, BY_OPERATORS, &[(MemberId(3), groupkey::Epoch(3))], &[ticket(3, 3)]);
        let current = groupkey::Epoch(3);
        let stale = Misbehaviour::StaleEpoch { got: current, current };
        assert_eq!(stage.inject(2, &eviction(3, 2, 3)), Err(stale.into()), "{}", scheme.id);
        announce_without_third(&mut stage);
        assert!(stage.party(2).evicted().is_empty(), "{}", scheme.id);
        // A later word still does.
        let mut stage = led_back(scheme, BY_OPERATORS, &[], &[ticket(3, 3)]);
        stage.inject(2, &eviction(3, 2, 4)).unwrap();
        announce_without_third(&mut stage);
        assert_eq!(stage.party(2).evicted(), [(MemberId(3), groupkey::Epoch(4))]);
    }
}

/// The same, where nobody has shown the ticket to member 2.
#[test]
fn an_operators_old_word_evicts_no_longer_than_until_the_old_ticket_is_shown() {
    for scheme in schemes() {
        let mut stage = led_back(scheme, BY_OPERATORS, &[], &[]);
        stage.inject(2, &eviction(3, 2, 3)).unwrap();
        announce_without_third(&mut stage);
        assert_eq!(stage.party(2).evicted(), [(MemberId(3), groupkey::Epoch(3))], "{}", scheme.id);
        stage.inject(2, &ticket(3, 3)).unwrap();
        stage.inject(2, &said(3 + 1, 3, topic::JOIN, &[8])).unwrap();
    }
}

const BY_OPERATORS: Rules = Rules { evict: Evict::Operators, join: Join::Listed };

fn ordered(scheme: &'static Scheme, id: u32) -> groupkey::Ordered {
    let configuration = scheme.configuration(groupkey::catalogue::Profile::Sound);
    groupkey::Ordered::new(configuration, MemberId(id)).unwrap().with_rules(BY_OPERATORS)
}

/// Member 2 restarts in epoch 3, hears these tickets, and follows member 1 back to epoch 2, with
/// members 3 and 4.
fn led_back(
    scheme: &'static Scheme,
    rules: Rules,
    evicted: &[(MemberId, groupkey::Epoch)],
    tickets: &[Vec<u8>],
) -> Stage {
    let mut stage = Stage::new(scheme, 3);
    let party = ordered(scheme, 2).with_rules(rules);
    stage.seat_party(2, party.remembering(groupkey::Epoch(3), evicted));
    tickets.iter().for_each(|ticket| stage.inject(2, ticket).unwrap());
    stage.command_to(2, Command::Add(MemberId(2))).unwrap();
    let asked = stage.last(topic::JOIN);
    let body = [Operation::Create as u8, 0x84, 1, 2, 3, 4, 0x83];
    let body = [&body, &asked[8..], &[7, 7, 0x80]].concat();
    stage.inject(2, &said(1 + 1, 2, topic::ANNOUNCE, &body)).unwrap();
    assert!(stage.party(2).evicted().is_empty(), "{}", scheme.id);
    stage
}

/// Members 1 and 4 voted in epoch 2, and somebody has recorded it. A limit (`docs/order.md`).
#[test]
fn recorded_votes_evict_again_where_a_member_leads_who_restarts_to_their_epoch() {
    for scheme in schemes() {
        let rules = Rules { evict: Evict::Members(2), ..Rules::default() };
        let mut stage = led_back(scheme, rules, &[], &[ticket(3, 3)]);
        for voter in [1, 4] {
            stage.inject(2, &said(voter + 1, 2, topic::EVICT, &[3])).unwrap();
        }
        announce_without_third(&mut stage);
        assert_eq!(stage.party(2).evicted(), [(MemberId(3), groupkey::Epoch(4))], "{}", scheme.id);
    }
}

fn announce_without_third(stage: &mut Stage) {
    let without = [Operation::Create as u8, 0x82, 1, 2, 0x80, 0x80];
    stage.inject(2, &said(1 + 1, 3, topic::ANNOUNCE, &without)).unwrap();
}

#[test]
fn only_who_has_a_ticket_joins_where_the_rules_say_so() {
    let rules = Rules { join: Join::Ticket, ..Rules::default() };
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).ruled(rules).with(&[1, 2, 3]);
        let refusal = Err(Misbehaviour::UnexpectedSender.into());
        assert_eq!(stage.inject(1, &said(4 + 1, 1, topic::JOIN, &[7])), refusal);
        stage.replay(&ticket(4, 0));
        stage.join(4);
        stage.settle();
        stage.check();
        // A ticket counts in the epoch in which it is shown. A member needs none to begin again.
        assert_eq!(stage.inject(1, &said(5 + 1, 1, topic::JOIN, &[7])), refusal);
        stage.restart(4);
        stage.settle();
        stage.check();
    }
}

/// Members 1 to 5, of which two must agree.
#[test]
fn one_member_evicts_nobody_where_two_must_agree() {
    let rules = Rules { evict: Evict::Members(2), ..Rules::default() };
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).ruled(rules).with(&[1, 2, 3, 4, 5]);
        for _ in 0..2 {
            stage.command_to(2, Command::Remove(MemberId(5))).unwrap();
            stage.command_to(5, Command::Remove(MemberId(1))).unwrap();
        }
        // A member's own word against itself, recorded or not, is no second one.
        stage.speak(said(5 + 1, 1, topic::EVICT, &[5]));
        stage.speak(said(9 + 1, 1, topic::EVICT, &[5]));
        stage.settle();
        stage.check();
        // Nor is an announcement, which any first member can make.
        let create = Operation::Create as u8;
        let event = [create, 0x84, 1, 2, 3, 4, 0x80, 0x81, 0x82, 5, 2];
        let alone = said(1 + 1, 2, topic::ANNOUNCE, &event);
        assert_eq!(stage.inject(3, &alone), Err(Misbehaviour::InvalidRoster.into()));
        // Another event comes between, and the first one asks again by itself.
        stage.join(6);
        stage.settle();
        stage.check();
        // A recorded word of the epoch before is no second one.
        let recorded = said(3 + 1, 1, topic::EVICT, &[5]);
        assert!(stage.inject(1, &recorded).is_err(), "{}", scheme.id);
        stage.wants_out(5);
        stage.command_to(6, Command::Remove(MemberId(5))).unwrap();
        stage.settle();
        stage.check();
        assert!(stage.party(1).evicted().iter().map(|&(id, _)| id).eq([MemberId(5)]));
        assert!(stage.party(1).members().any(|id| id == MemberId(1)));
    }
}

#[test]
fn an_operator_evicts_alone() {
    for evict in [Evict::One, Evict::Members(4), Evict::Operators] {
        let rules = Rules { evict, ..Rules::default() };
        for scheme in schemes() {
            let mut stage = Stage::new(scheme, 3).ruled(rules).with(&[1, 2, 3, 4]);
            if evict == Evict::Operators {
                let refused = stage.command_to(1, Command::Remove(MemberId(4)));
                assert_eq!(refused, Err(Misuse::WrongRole.into()));
                assert!(stage.inject(1, &said(2 + 1, 1, topic::EVICT, &[4])).is_err());
            }
            stage.wants_out(4);
            stage.speak(eviction(4, 1, 2));
            stage.settle();
            stage.check();
            assert_eq!(stage.party(1).evicted(), [(MemberId(4), groupkey::Epoch(2))]);
        }
    }
}

/// Members come, go and die while those that were evicted say all that they could say as members.
#[test]
fn evicted_members_that_speak_change_nothing() {
    for scheme in schemes() {
        for seed in 0..20 {
            let mut stage = Stage::new(scheme, seed).with(&[1, 2, 3, 4, 5, 6]);
            stage.evict(2, 5);
            stage.evict(3, 6);
            stage.settle();
            stage.check();
            let epoch = stage.party(1).latest_epoch().0 as u8;
            let speak = |stage: &mut Stage, chance: u64| {
                let sender = 5 + 1 + (chance % 2) as u8;
                let near = epoch + (chance / 2 % 5) as u8;
                let victim = 1 + (chance % 4) as u8;
                let outsider = sender - 1;
                let all = [
                    said(sender, near, topic::JOIN, &[chance as u8 % 24]),
                    said(sender, near, topic::EVICT, &[victim]),
                    said(sender, near, topic::TICKET, &[outsider, 0x80]),
                    said(sender, near, topic::HERE, &[0]),
                    said(sender, near, topic::ANNOUNCE, &[1, 0x82, outsider, victim, 0x80, 0x80]),
                    said(sender, near, topic::ANNOUNCE, &[6, 0x82, outsider, victim, 0x80, 0x80]),
                ];
                all.into_iter().for_each(|bytes| stage.speak(bytes));
                for (operation, kind) in [(Operation::Add, 0), (Operation::Create, 1)] {
                    let mut bytes = said(sender, near, kind, &[0x40]);
                    bytes[4] = operation as u8;
                    stage.speak(bytes);
                }
            };
            stage.join(9);
            for turn in 0..12 {
                speak(&mut stage, seed * 31 + turn);
                (0..turn).for_each(|_| _ = stage.advance());
                match turn {
                    3 => stage.leave(4),
                    5 => stage.refresh(),
                    7 => stage.die(1),
                    9 => stage.catch_up(2),
                    _ => {}
                }
            }
            stage.settle();
            stage.check();
            let evicted = stage.party(2).evicted().iter().map(|&(id, _)| id.0);
            assert!(evicted.eq([5, 6]), "{}: {seed}", scheme.id);
        }
    }
}

/// Whatever bytes come, without any protection: no panic, and what is refused changes nothing.
#[test]
fn hostile_bytes_are_refused() {
    for scheme in schemes() {
        for stop in (0..60).step_by(4) {
            let mut stage = Stage::new(scheme, stop).with(&[1, 2, 3]);
            stage.join(4);
            (0..stop).for_each(|_| _ = stage.advance());
            // Nothing protects a message, so it may also be taken.
            for (number, message) in stage.topic().to_vec().iter().enumerate() {
                for place in 0..message.len().min(40) {
                    let mut forged = message.clone();
                    forged[place] ^= 1 << ((number + place) % 8);
                    for (member, bytes) in [(1, &forged[..]), (4, &forged), (2, &message[..place])]
                    {
                        let before = format!("{:?}", stage.party(member));
                        if stage.inject(member, bytes).is_err() {
                            assert_eq!(before, format!("{:?}", stage.party(member)));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn commands_out_of_place_are_refused() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
        let three = MemberId(3);
        for (command, misuse) in [
            (Command::Add(three), Misuse::WrongRole),
            (Command::Add(MemberId(1)), Misuse::AlreadyMember(MemberId(1))),
            (Command::Create(&[MemberId(1), three]), Misuse::AlreadyCreated),
            (Command::Partition(&[MemberId(1)]), Misuse::WrongRole),
            (Command::Remove(MemberId(8)), Misuse::NotMember(MemberId(8))),
        ] {
            assert_eq!(stage.command_to(1, command), Err(misuse.into()), "{command:?}");
        }
        let key = stage.party(1).group_key().map(|(epoch, key)| (epoch, key.clone()));
        assert!(key.is_some_and(|(epoch, _)| epoch == groupkey::Epoch(1)));
    }
}

/// An announcement by member 5 that leads to member 8 and 9.
fn false_announcement(epoch: u8) -> Vec<u8> {
    vec![0x87, 1, 3, epoch, topic::ORDER, topic::ANNOUNCE, 9, 0xf6, 6, 0x82, 8, 9, 0x80, 0x80]
}

#[test]
fn false_announcements_of_later_epochs_leave_nobody_behind() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
        stage.join(4);
        (3..6).for_each(|epoch| stage.inject(4, &false_announcement(epoch)).unwrap());
        stage.settle();
        stage.check();
        stage.refresh();
        stage.settle();
        stage.check();
    }
}

#[test]
fn a_false_announcement_of_the_next_epoch_keeps_no_newcomer_out() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
        stage.join(4);
        stage.inject(4, &false_announcement(2)).unwrap();
        stage.settle();
        stage.check();
    }
}

#[test]
fn a_recorded_leave_evicts_nobody_that_has_come_back() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3, 4]);
        stage.leave(4);
        stage.settle();
        let recorded = stage.last(topic::LEAVE);
        for newcomer in [4, 5] {
            stage.join(newcomer);
            stage.settle();
        }
        for leaving in [1, 2, 3] {
            stage.leave(leaving);
            stage.settle();
        }
        // Nobody is left that was there when 4 left.
        stage.join(6);
        stage.settle();
        stage.check();
        assert_says_nothing(&mut stage, &recorded);
    }
}

#[test]
fn a_recorded_join_is_no_new_one() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
        stage.join(4);
        stage.settle();
        let mut recorded = vec![stage.last(topic::JOIN)];
        stage.catch_up(4);
        stage.settle();
        recorded.push(stage.last(topic::JOIN));
        stage.leave(4);
        stage.settle();
        recorded.iter().for_each(|recorded| assert_says_nothing(&mut stage, recorded));
        stage.join(4);
        stage.settle();
        stage.check();
        recorded.iter().for_each(|recorded| assert_says_nothing(&mut stage, recorded));
        // Nor among those who never heard of it.
        stage.join(5);
        stage.settle();
        for leaving in [1, 2, 3] {
            stage.leave(leaving);
            stage.settle();
        }
        stage.join(6);
        stage.settle();
        stage.check();
        recorded.iter().for_each(|recorded| assert_says_nothing(&mut stage, recorded));
    }
}

/// It asks in the last epoch that it knows, and the group tells it the present one.
#[test]
fn who_missed_its_eviction_gets_back() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3]);
        stage.die(1);
        stage.settle();
        stage.check();
        stage.wake(1);
        stage.catch_up(1);
        stage.settle();
        stage.check();
        assert!(stage.party(1).members().eq([2, 3, 1].map(MemberId)), "{}", scheme.id);
    }
}

/// The group that it knew is gone, and the next one is not that far yet. Its driver gives it a new
/// party, as docs/order.md says.
#[test]
fn who_was_in_an_earlier_group_gets_into_the_next() {
    for scheme in schemes() {
        let mut stage = Stage::new(scheme, 3).with(&[1, 2, 3, 4]);
        for _ in 0..20 {
            stage.refresh();
            stage.settle();
        }
        stage.leave(4);
        stage.settle();
        stage.create(&[1, 2, 3]);
        stage.settle();
        stage.join(4);
        while stage.advance() {}
        assert_eq!(stage.party(4).members().count(), 0, "no epoch comes again");
        stage.restart(4);
        stage.settle();
        stage.check();
    }
}

/// Its tree has a blinded key that is none, which it did not have to read until others went.
#[test]
fn whose_party_refuses_what_was_announced_begins_again() {
    for scheme in schemes().filter(|scheme| ["tgdh", "dh-lkh"].contains(&scheme.id)) {
        let mut stage = Stage::new(scheme, 3).published().with(&[1, 2, 3, 4]);
        // ((1 2) (3 4)). Members take turns; when 2 changes its secret, 4 is told another leaf for it.
        let mut told = false;
        for _ in 0..4 {
            stage.refresh();
            let mut sent = stage.topic().len();
            while stage.advance() {
                let last = stage.topic().last().unwrap().clone();
                // Kind 0, by 2; then the elements, the lowest first.
                let is_path = last[5..7] == [0, 2 + 1] && last[4] == Operation::Rekey as u8;
                if stage.topic().len() > sent && is_path && !told {
                    let mut changed = last;
                    changed[10..42].fill(0xff);
                    stage.lie(4, changed);
                    told = true;
                }
                sent = stage.topic().len();
            }
        }
        assert!(told);
        stage.die(1);
        stage.die(3);
        stage.command_to(2, Command::Partition(&[1, 3].map(MemberId))).unwrap();
        stage.settle();
        stage.check();
        // 4 asked for it.
        assert_eq!(stage.last(topic::JOIN)[6], 4 + 1, "{}", scheme.id);
    }
}

/// What is said again leads to no event.
fn assert_says_nothing(stage: &mut Stage, recorded: &[u8]) {
    let announcements = |stage: &Stage| {
        let said = stage.topic().iter().filter(|bytes| bytes[4] == topic::ORDER);
        said.filter(|bytes| bytes[5] == topic::ANNOUNCE).count()
    };
    let before = announcements(stage);
    stage.replay(recorded);
    stage.settle();
    assert_eq!(announcements(stage), before, "{recorded:?}");
}
