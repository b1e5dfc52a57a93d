//! What one present member can do to others by what it says: nothing that outlives it.

use super::*;

const ANNOUNCE: u8 = 3;
const BY_OPERATORS: Rules = Rules { evict: Evict::Operators, join: Join::Listed };
const BY_TWO: Rules = Rules { evict: Evict::Members(2), join: Join::Listed };
const BY_TICKET: Rules = Rules { evict: Evict::Operators, join: Join::Ticket };

/// An event as a member announces it: the members after it, the tickets of the last of them, the
/// evicted members.
struct Event<'a> {
    epoch: u64,
    operation: Operation,
    roster: &'a [u64],
    tickets: &'a [u64],
    evicted: &'a [(u64, u64)],
}

impl Event<'_> {
    /// The announcement, signed by the first of the members.
    fn announced(&self, context: GroupContext) -> Publish {
        let me = MemberId(self.roster[0] as u32);
        signed(context, me.into(), me.0 as u8, |cx| {
            let (epoch, order) = (Epoch(self.epoch), Operation::Order);
            let mut draft = cx.draft(Recipient::Group, epoch, order, ANNOUNCE);
            draft.number(self.operation as u64).array(self.roster.len());
            self.roster.iter().for_each(|&id| _ = draft.number(id));
            draft.array(self.tickets.len());
            self.tickets.iter().for_each(|&ticket| _ = draft.number(ticket));
            draft.array(self.evicted.len());
            for &(id, since) in self.evicted {
                draft.array(2).number(id).number(since);
            }
            draft.send();
        })
    }
}

fn to_all(payload: Vec<u8>) -> Publish {
    Publish { id: 0, topic: "circle/all".into(), payload, retain: false, expiry: None }
}

impl Circle {
    /// The group of the founders after 20 s.
    fn founded(scheme: &'static str, rules: Rules) -> Self {
        let mut circle = Self::ruled(scheme, rules, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.assert_agreed();
        circle.now = 20 * SECOND;
        circle
    }

    /// The same after 60 s; the fourth peer was there, and an operator has evicted it.
    fn without_fourth(scheme: &'static str) -> Self {
        let mut circle = Self::founded(scheme, BY_OPERATORS);
        circle.arrive(4);
        circle.run_until(40 * SECOND);
        circle.assert_agreed();
        circle.now = 40 * SECOND;
        circle.tell_eviction(2, FOUR);
        circle.run_until(60 * SECOND);
        circle.peers.remove(&4);
        circle.now = 60 * SECOND;
        circle.assert_agreed();
        circle
    }

    /// An operator's word reaches the group.
    fn tell_eviction(&mut self, epoch: u64, member: MemberId) {
        let (epoch, since) = (Epoch(epoch), Epoch(epoch + 1));
        let word = word(self.scheme, |cx| event_order::eviction(cx, epoch, member, since));
        self.on_the_way.push_back(to_all(word));
    }

    fn evicted_in(&self, peer: u32) -> Vec<u32> {
        let decisions = self.memories[&peer].0.lock().unwrap();
        decisions.evicted.iter().map(|&(MemberId(id), _)| id).collect()
    }

    fn restart_all(&mut self, end: u64) {
        self.now = end - 100 * SECOND;
        let numbers: Vec<_> = self.peers.keys().copied().collect();
        self.peers.clear();
        numbers.into_iter().for_each(|number| self.arrive(number));
        self.run_until(end);
    }

    /// The first peer is the insider: only its identity speaks from now on. It claims a late epoch,
    /// so that these others ask to begin again, and announces something as soon as all have asked.
    fn lure(&mut self, lured: &[u32], end: u64, event: impl Fn(&[u64]) -> Publish) {
        let (scheme, (instance, context)) = (self.scheme, self.life());
        self.peers.remove(&1);
        self.on_the_way.push_back(signed(context, MemberId(1).into(), 1, |cx| {
            cx.draft(Recipient::Group, Epoch(20), Operation::Rekey, 0).send();
        }));
        let (mut tickets, mut is_done) = (BTreeMap::new(), false);
        self.run_against(end, |last| {
            if is_greeting(last) && is_question(last) && !is_done {
                return vec![reported_by(1, scheme, instance, last, 20, Vec::new())];
            }
            if last.topic.ends_with("/all") && last.payload[4..6] == [ORDER, 0] {
                tickets.insert(u32::from(last.payload[6]) - 1, ticket_of(last));
            }
            let shown: Vec<_> = lured.iter().filter_map(|id| tickets.get(id).copied()).collect();
            if is_done || shown.len() < lured.len() {
                return Vec::new();
            }
            is_done = true;
            vec![event(&shown)]
        });
        assert!(is_done, "{scheme}");
    }
}

/// First it takes the first peer for dead, and then it lists the absent one as evicted.
#[test]
fn one_member_evicts_nobody_in_two_steps() {
    for (scheme, rules) in SCHEMES.into_iter().flat_map(|id| [(id, BY_OPERATORS), (id, BY_TWO)]) {
        for is_silent in [false, true] {
            let mut circle = Circle::founded(scheme, rules);
            let (_, context) = circle.life();
            let operation = Operation::Create;
            let dead = Event { epoch: 2, operation, roster: &[3, 2], tickets: &[42], evicted: &[] };
            let barred = Event { epoch: 3, tickets: &[], evicted: &[(1, 3)], ..dead };
            circle.on_the_way.extend([dead, barred].map(|event| event.announced(context)));
            if is_silent {
                // It takes nobody in again. An operator evicts it.
                circle.peers.remove(&3);
                circle.run_until(22 * SECOND);
                circle.now = 22 * SECOND;
                circle.tell_eviction(3, THREE);
            }
            circle.run_until(300 * SECOND);
            circle.assert_agreed();
            circle.restart_all(600 * SECOND);
            circle.assert_agreed();
            assert!([1, 2].iter().all(|&peer| !circle.evicted_in(peer).contains(&1)), "{scheme}");
        }
    }
}

/// Who asked to begin again follows nothing else than who did not ask.
#[test]
fn one_member_takes_in_nobody_while_others_begin_again() {
    for scheme in SCHEMES {
        for is_evicted in [false, true] {
            let mut circle = match is_evicted {
                true => Circle::without_fourth(scheme),
                false => Circle::founded(scheme, BY_TICKET),
            };
            let ((_, context), start) = (circle.life(), circle.now);
            circle.lure(&[2, 3], start + SECOND, |tickets| {
                let tickets = &[tickets[0], tickets[1], 42][..];
                let (operation, roster) = (Operation::Create, &[1, 2, 3, 4][..]);
                Event { epoch: 20, operation, roster, tickets, evicted: &[] }.announced(context)
            });
            for peer in [2, 3] {
                assert!(!circle.peers[&peer].0.counts_as_member(FOUR), "{scheme} {peer}");
                assert_eq!(circle.evicted_in(peer).contains(&4), is_evicted, "{scheme}");
            }
            circle.run_until(start + 300 * SECOND);
            circle.assert_agreed();
        }
    }
}

#[test]
fn one_member_makes_up_no_eviction_while_others_begin_again() {
    for (scheme, epoch) in SCHEMES.into_iter().flat_map(|scheme| [(scheme, 2), (scheme, 20)]) {
        let mut circle = Circle::founded(scheme, BY_OPERATORS);
        let (_, context) = circle.life();
        circle.lure(&[2, 3], 21 * SECOND, |tickets| {
            let (operation, roster, tickets) = (Operation::Create, &[1, 2][..], &tickets[..1]);
            let evicted = &[(3, epoch)][..];
            Event { epoch, operation, roster, tickets, evicted }.announced(context)
        });
        circle.run_until(600 * SECOND);
        circle.assert_agreed();
        assert!(circle.evicted_in(2).is_empty() && circle.evicted_in(3).is_empty(), "{scheme}");
    }
}

/// Nor to one that no group comes to.
#[test]
fn one_member_leads_nobody_back_to_an_earlier_epoch() {
    for scheme in SCHEMES {
        for epoch in [1, 2, 3, 1 << 40, u64::MAX] {
            let mut circle = Circle::founded(scheme, Rules::default());
            for at in [20, 50] {
                circle.now = at * SECOND;
                circle.arrive(4);
                circle.run_until((at + 30) * SECOND);
            }
            circle.assert_agreed();
            assert_eq!(circle.epochs(), [3; 4]);
            circle.now = 90 * SECOND;
            let (_, context) = circle.life();
            circle.lure(&[2], 91 * SECOND, |tickets| {
                let (operation, roster, evicted) = (Operation::Create, &[1, 2][..], &[][..]);
                Event { epoch, operation, roster, tickets, evicted }.announced(context)
            });
            assert!(circle.peers[&2].0.counts_as_member(THREE), "{scheme} {epoch}");
            circle.run_until(600 * SECOND);
            circle.assert_agreed();
            let events = circle.events[&2].iter().filter_map(|event| match event {
                MemberEvent::Rekeyed(epoch) => Some(epoch.0),
                _ => None,
            });
            let epochs: Vec<_> = events.collect();
            assert!(epochs.windows(2).all(|pair| pair[0] < pair[1]), "{scheme} {epochs:?}");
            assert!(epochs.iter().all(|&epoch| epoch < 1 << 20), "{scheme} {epochs:?}");
        }
    }
}

/// The second peer restarts, so that it knows no members. It remembers who was evicted, and the first
/// peer tells it otherwise.
#[test]
fn one_member_deceives_nobody_that_restarts() {
    let taken_in: (&[u64], &[u64], &[(u64, u64)]) = (&[1, 2, 4], &[42], &[]);
    let barred: (&[u64], &[u64], &[(u64, u64)]) = (&[1, 2], &[], &[(3, 4)]);
    for (scheme, lie) in SCHEMES.into_iter().flat_map(|id| [(id, taken_in), (id, barred)]) {
        let mut circle = Circle::without_fourth(scheme);
        let (instance, context) = circle.life();
        circle.peers.remove(&1);
        circle.arrive(2);
        let (roster, rest, evicted) = lie;
        let (mut lies, mut is_told) = (0, false);
        circle.run_against(70 * SECOND, |last| {
            if is_greeting(last) && is_question(last) && last.payload[1] == 2 && lies < 4 {
                lies += 1;
                let evicted = evicted.iter().map(|&(id, since)| (id as u32, since)).collect();
                return vec![reported_by(1, scheme, instance, last, 3, evicted)];
            }
            if !last.topic.ends_with("/all") || last.payload[4..7] != [ORDER, 0, 2 + 1] || is_told {
                return Vec::new();
            }
            is_told = true;
            let tickets = &[&[ticket_of(last)], rest].concat()[..];
            let operation = Operation::Create;
            vec![Event { epoch: 4, operation, roster, tickets, evicted }.announced(context)]
        });
        assert!(lies > 0 && is_told, "{scheme}");
        assert_eq!(circle.evicted_in(2), [4], "{scheme}");
        let (topic, payload) = settings(scheme, 1).will().unwrap();
        circle.on_the_way.push_back(Publish { topic, ..to_all(payload) });
        circle.run_until(600 * SECOND);
        circle.assert_agreed();
        assert_eq!((circle.evicted_in(2), circle.evicted_in(3)), (vec![4], vec![4]), "{scheme}");
    }
}

/// It asks who was evicted. The first peer keeps silent about that, and the second one has an
/// operator's word.
#[test]
fn one_honest_member_with_an_operators_word_tells_who_was_not_there() {
    for scheme in SCHEMES {
        for restarts in [false, true] {
            let mut circle = Circle::without_fourth(scheme);
            if restarts {
                circle.restart_all(200 * SECOND);
                circle.assert_agreed();
                circle.now = 200 * SECOND;
            }
            let ((instance, _), start) = (circle.life(), circle.now);
            circle.peers.remove(&1);
            circle.memories.remove(&3);
            circle.arrive(3);
            circle.run_against(start + 5 * SECOND, |last| {
                if !(is_greeting(last) && is_question(last)) {
                    return Vec::new();
                }
                vec![reported_by(1, scheme, instance, last, 3, Vec::new())]
            });
            assert_eq!(circle.evicted_in(3), [4], "{scheme}");
        }
    }
}

/// One founder remembers an eviction, of which the other one has not heard.
#[test]
fn founders_begin_without_one_that_is_away_and_was_evicted() {
    for scheme in SCHEMES {
        for informed in [1, 2] {
            let mut circle = Circle::ruled(scheme, BY_OPERATORS, |_, _| false);
            circle.peers.clear();
            let evicted = vec![(THREE, Epoch(5))];
            let decisions = Decisions { evicted, latest: Epoch(5), words: Vec::new() };
            *circle.memories[&informed].0.lock().unwrap() = decisions;
            [1, 2].into_iter().for_each(|number| circle.arrive(number));
            circle.run_until(120 * SECOND);
            circle.assert_agreed();
        }
    }
}

/// The first peer announces what the group decided, and does not say that it was an eviction.
#[test]
fn one_member_turns_no_eviction_into_a_leave() {
    for scheme in SCHEMES {
        let mut circle = Circle::founded(scheme, BY_OPERATORS);
        circle.arrive(4);
        circle.run_until(40 * SECOND);
        circle.assert_agreed();
        circle.now = 40 * SECOND;
        let (_, context) = circle.life();
        circle.tell_eviction(2, FOUR);
        let (operation, roster) = (Operation::Remove, &[1, 2, 3][..]);
        let event = Event { epoch: 3, operation, roster, tickets: &[], evicted: &[] };
        circle.on_the_way.push_back(event.announced(context));
        circle.run_until(60 * SECOND);
        circle.now = 60 * SECOND;
        circle.memories.remove(&4);
        circle.arrive(4);
        circle.run_until(200 * SECOND);
        let mut keys = circle.keys();
        assert_eq!(keys.pop(), Some(None), "{scheme}");
        assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "{scheme}: {keys:?}");
        assert!((1..=3).all(|peer| circle.evicted_in(peer) == [4]), "{scheme}");
    }
}

/// An operator has evicted the fourth peer and readmitted it. The group is founded anew, and somebody
/// repeats the word that evicted, in the epoch that it names.
#[test]
fn an_old_word_evicts_nobody_after_a_new_founding() {
    for scheme in SCHEMES {
        let mut circle = Circle::without_fourth(scheme);
        let ticket = word(scheme, |cx| event_order::ticket(cx, Epoch(3), FOUR, &[]));
        circle.words.insert(4, vec![ticket]);
        circle.arrive(4);
        circle.run_until(100 * SECOND);
        circle.assert_agreed();
        circle.restart_all(300 * SECOND);
        circle.assert_agreed();
        assert_eq!(circle.epochs(), [2; 4], "{scheme}");
        circle.now = 300 * SECOND;
        circle.tell_eviction(2, FOUR);
        circle.run_until(400 * SECOND);
        circle.assert_agreed();
        assert!((1..=4).all(|peer| circle.evicted_in(peer).is_empty()), "{scheme}");
    }
}

/// The ticket names a late epoch. Then the group is founded anew, and its chair is a newcomer that
/// has not seen the ticket.
#[test]
fn an_old_ticket_undoes_no_later_eviction() {
    for scheme in SCHEMES {
        let mut circle = Circle::founded(scheme, Rules::default());
        let ticket = word(scheme, |cx| event_order::ticket(cx, Epoch(50), THREE, &[]));
        circle.on_the_way.push_back(to_all(ticket.clone()));
        circle.run_until(20 * SECOND);
        circle.restart_all(160 * SECOND);
        for (at, number) in [(160, 4), (200, 1), (260, 2), (320, 3)] {
            circle.now = at * SECOND;
            circle.arrive(number);
            circle.run_until((at + 40) * SECOND);
            circle.assert_agreed();
        }
        circle.now = 400 * SECOND;
        let (now, rng) = (circle.now, &mut circle.rng);
        circle.peers.get_mut(&1).unwrap().0.remove(THREE, now, rng).unwrap();
        circle.run_until(440 * SECOND);
        let is_late = |decisions: &Decisions| decisions.evicted == [(THREE, Epoch(51))];
        assert!([1, 2, 4].iter().all(|peer| is_late(&circle.memories[peer].0.lock().unwrap())));
        circle.peers.remove(&3);
        circle.memories.remove(&3);
        circle.words.insert(3, vec![ticket]);
        circle.now = 440 * SECOND;
        circle.arrive(3);
        circle.run_until(600 * SECOND);
        assert_eq!(circle.keys()[2], None, "{scheme}");
        circle.peers.remove(&3);
        circle.assert_agreed();
        assert!(circle.peers.values().all(|(peer, _)| peer.is_settled()), "{scheme}");
    }
}

/// The fourth device is listed, and was never a member.
#[test]
fn a_listed_peer_that_is_no_member_is_not_believed() {
    for scheme in SCHEMES {
        let mut circle = Circle::founded(scheme, Rules::default());
        let (keys, (instance, _)) = (circle.keys(), circle.life());
        let (peer, _) = circle.peers.get_mut(&1).unwrap();
        peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
        let mut answers = 0;
        circle.run_against(100 * SECOND, |last| {
            if !(is_greeting(last) && is_question(last)) {
                return Vec::new();
            }
            answers += 1;
            vec![reported_by(4, scheme, instance, last, 1_000, vec![(2, 5), (3, 5)])]
        });
        assert!(answers > 0);
        assert_eq!(circle.peers[&1].0.counters().refused, answers, "{scheme}");
        assert_eq!(circle.keys(), keys, "{scheme}");
    }
}

/// One peer is away while others come by operators' tickets, and checks them when it gets back.
#[test]
fn who_was_away_hears_by_which_tickets_others_came() {
    for scheme in SCHEMES {
        for forgets in [false, true] {
            let ticket = |named, party| {
                word(scheme, |cx| event_order::ticket(cx, Epoch(named), MemberId(party), &[]))
            };
            let mut circle = Circle::founded(scheme, BY_TICKET);
            // Who is taken for dead needs a ticket to come back.
            circle.words.insert(2, vec![ticket(0, 2)]);
            circle.words.insert(4, vec![ticket(0, 4)]);
            circle.arrive(2);
            circle.run_until(60 * SECOND);
            circle.assert_agreed();
            circle.now = 60 * SECOND;
            circle.loses = |to, _| to == 2;
            circle.lossy_until = 160 * SECOND;
            circle.arrive(4);
            circle.run_until(159 * SECOND);
            circle.now = 160 * SECOND;
            if forgets {
                circle.arrive(2);
            } else {
                let (peer, _) = circle.peers.get_mut(&2).unwrap();
                peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
            }
            circle.run_until(600 * SECOND);
            circle.assert_agreed();
            // It is evicted, and let in again while the second one is away, which remembers.
            circle.now = 600 * SECOND;
            circle.tell_eviction(circle.epochs()[0], FOUR);
            circle.run_until(620 * SECOND);
            circle.peers.remove(&4);
            circle.assert_agreed();
            circle.now = 620 * SECOND;
            let since = circle.memories[&2].0.lock().unwrap().evicted[0].1;
            circle.words.insert(4, vec![ticket(since.0, 4)]);
            let away = circle.peers.remove(&2);
            circle.memories.remove(&4);
            circle.arrive(4);
            circle.run_until(700 * SECOND);
            circle.assert_agreed();
            circle.now = 700 * SECOND;
            if forgets {
                circle.arrive(2);
            } else {
                circle.peers.extend(away.map(|away| (2, away)));
                let (peer, _) = circle.peers.get_mut(&2).unwrap();
                peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
            }
            circle.run_until(1_500 * SECOND);
            circle.assert_agreed();
            assert!((1..=4).all(|peer| circle.evicted_in(peer).is_empty()), "{scheme}");
        }
    }
}
