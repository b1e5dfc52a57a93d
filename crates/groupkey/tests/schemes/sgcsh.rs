//! SGCSH costs what the header of its file says: messages, wraps, derivations and hashes, at the
//! controller and at the members, in either profile, stored and lazy; and it heals as it says.

use std::collections::{BTreeMap, BTreeSet};

use groupkey::PartyId::Controller;
use groupkey::catalogue::{ParameterError, Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::{Error, Misbehaviour};
use groupkey::{Epoch, Key, MemberId, PartyId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use crate::schemes::slots::{Node, Slots, count_above, key_nodes, lowest_free};

const SIZES: [u32; 12] = [2, 3, 4, 5, 8, 9, 16, 17, 33, 64, 65, 100];

#[test]
fn operations_cost_what_the_formulas_say() {
    for form in forms() {
        for n in SIZES {
            let mut group = Group::new(form, 40);
            group.create(n);
            for round in 0..24 {
                match round % 6 {
                    0 | 3 => group.rekey(),
                    1 | 4 => group.add(n + round),
                    _ if group.slots.len() > 2 => {
                        let place = (round as usize * 7 + 3) % group.slots.len();
                        group.remove(*group.slots.keys().nth(place).unwrap());
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Generations of every length from the smallest on, each operation being the first of one.
#[test]
fn a_generation_ends_and_the_next_begins() {
    for form in forms() {
        for sessions in [4, 5, 6, 7, 9, 10_000] {
            let mut group = Group::new(form, sessions);
            group.create(6);
            for round in 0..40 {
                match round % 3 {
                    0 => group.rekey(),
                    1 => group.add(100 + round),
                    _ => group.remove(*group.slots.keys().nth(round as usize % 5).unwrap()),
                }
            }
        }
    }
}

#[test]
fn a_default_member_keeps_what_s002_measured_or_next_to_nothing() {
    let scheme = scheme("sgcsh").unwrap();
    for n in [2, 100] {
        let path = u32::BITS - (n - 1u32).leading_zeros();
        for (profile, kept) in [(Profile::Sound, 0), (Profile::Published, 2 * 3250)] {
            let mut rig = Rig::new(scheme, Settings { profile, ..Settings::default() });
            rig.create(n).unwrap();
            let permanent = rig.party(MemberId(0).into()).footprint().permanent as u32;
            assert_eq!(permanent, 16 * (path + 5 + kept), "{n} members");
        }
    }
}

/// A member that sleeps through anything but a removal wakes up for the next message, whatever it
/// is of, and has all keys.
#[test]
fn a_member_heals_itself() {
    for form in forms() {
        for sessions in [6, 9, 50] {
            for missed in 1..8 {
                for last in ["rekey", "add", "remove"] {
                    let mut group = Group::new(form, sessions);
                    group.create(5);
                    group.rekey();
                    group.rig.sleep(2);
                    for step in 0..missed {
                        match (step + missed) % 3 {
                            0 => group.rig.rekey().unwrap(),
                            _ => group.rig.add(10 + step).unwrap(),
                        };
                    }
                    let report = match last {
                        "rekey" => group.rig.rekey(),
                        "add" => group.rig.add(99),
                        _ => group.rig.remove(4),
                    };
                    let report = report.unwrap();
                    let mut sent = report.messages.iter();
                    let broadcast = sent.find(|sent| sent.to == Recipient::Group).unwrap();
                    let taken = take(&mut group.rig, 2, &broadcast.bytes);
                    // It was in epoch 2, and so in the first generation; the message that opens the
                    // second one still tells it how the first ended.
                    let now = u64::from(missed) + 3;
                    if now <= u64::from(sessions) + 1 {
                        assert_eq!(taken, Ok(()), "{missed} missed of {sessions}");
                    } else {
                        assert!(is_skipped(taken));
                        group.rig.catch_up(2).unwrap();
                    }
                    group.check_keys_since(2, 1);
                }
            }
        }
    }
}

#[test]
fn after_a_missed_removal_or_too_many_joins_one_answer_heals() {
    for form in forms() {
        for sessions in [7, 12, 100] {
            for (joins, removals) in [(9, 0), (0, 1), (2, 3), (12, 2), (1, 60)] {
                let mut group = Group::new(form, sessions);
                group.create(70);
                group.rig.rekey().unwrap();
                group.epoch = 2;
                group.rig.sleep(2);
                let mut begun = BTreeSet::new();
                for step in 0..joins.max(removals) {
                    if step < joins {
                        group.rig.add(100 + step).unwrap();
                        group.seat(100 + step);
                    }
                    if step < removals {
                        group.rig.remove(3 + step).unwrap();
                        group.slots.remove(&(3 + step));
                        group.epoch += 1;
                        begun.extend((form.profile == Profile::Sound).then_some(group.epoch));
                    }
                }
                let report = group.rig.rekey().unwrap();
                group.epoch += 1;
                assert!(is_skipped(take(&mut group.rig, 2, &report.messages[0].bytes)));
                let report = group.rig.catch_up(2).unwrap();
                group.rig.agreed_key().unwrap();
                let first = group.epoch + 1 - group.session();
                let remembered = first.saturating_sub(group.sessions).max(1);
                group.check_keys_since(2, remembered);

                // It asks for what comes after epoch 2.
                assert_eq!(report.open_messages().count(), 2);
                let wanted = remembered.max(3);
                begun.extend((1..=group.epoch).step_by(sessions as usize));
                let begun = (form.chains as usize - 1) * begun.range(wanted..).count();
                let reaches_back = usize::from(wanted < first);
                let keys = (group.path(2).len() + 1 + begun + reaches_back) as u64;
                let calls = keys.div_ceil(40);
                assert_eq!(tally(&report, Controller, Primitive::Wrap), (calls, keys));
                assert_eq!(tally(&report, id_of(2), Primitive::Unwrap), (calls, keys));
                let derived = 1 + u64::from(form.profile == Profile::Sound);
                assert_eq!(tally(&report, id_of(2), Primitive::Derive).0, derived);
                let hashes = tally(&report, id_of(2), Primitive::Hash).0;
                assert!(hashes <= if form.stored { 2 } else { 1 } * group.sessions);
                // And it goes on from there like everybody else.
                group.rig.remove(69).unwrap();
                group.rig.agreed_key().unwrap();
            }
        }
    }
}

#[test]
fn a_newcomer_has_no_key_of_before_it_came_but_with_a_single_chain() {
    for form in forms() {
        for asks in [false, true] {
            let mut group = Group::new(form, 20);
            group.create(5);
            group.rig.rekey().unwrap();
            group.rig.add(50).unwrap();
            group.rig.rekey().unwrap();
            let came = group.rig.key_of(Controller).unwrap().0.0 - 1;
            if asks {
                group.rig.sleep(50);
                group.rig.remove(1).unwrap();
                group.rig.catch_up(50).unwrap();
            }
            let now = group.rig.key_of(Controller).unwrap().0.0;
            for epoch in 0..=now + 1 {
                let known = group.rig.past_key_of(id_of(50), Epoch(epoch));
                let from = if form.chains == 1 { 1 } else { came };
                let expected = (from..=now).contains(&epoch);
                assert_eq!(known.is_some(), expected, "{form:?}, epoch {epoch} of {now}");
                assert!(
                    known.is_none() || known == group.rig.past_key_of(Controller, Epoch(epoch))
                );
            }
        }
    }
}

/// There are two chains unless somebody wants one.
#[test]
fn there_are_one_or_two_chains() {
    for profile in Profile::ALL {
        let scheme = scheme("sgcsh").unwrap();
        let parameter =
            scheme.parameters.iter().find(|parameter| parameter.name == "single").unwrap();
        let mut configuration = scheme.configuration(profile);
        assert_eq!(configuration.value(parameter), 0);
        let refused = configuration.set(parameter.name, 2);
        assert_eq!(refused, Err(ParameterError::OutOfRange { range: (0, 1) }));
    }
}

/// Which of the scheme's forms a group has.
#[derive(Clone, Copy, Debug)]
struct Form {
    profile: Profile,
    stored: bool,
    chains: u64,
}

/// A group whose every operation's costs are held against the formulas.
struct Group {
    rig: Rig,
    form: Form,
    sessions: u64,
    epoch: u64,
    slots: Slots,
    /// Epochs of coming.
    came: BTreeMap<u32, u64>,
    /// Where forward chains began.
    starts: Vec<u64>,
    keys: BTreeMap<u64, Key>,
}

#[derive(Default)]
struct Cost {
    derivations: u64,
    hashes: u64,
}

impl Group {
    fn new(form: Form, sessions: u32) -> Self {
        let Form { profile, stored, chains } = form;
        let (chain, single) = (u32::from(!stored), u32::from(chains == 1));
        let parameters = vec![("sessions", sessions), ("chain", chain), ("single", single)];
        let settings = Settings { profile, parameters, ..Settings::default() };
        Self {
            rig: Rig::new(scheme("sgcsh").unwrap(), settings),
            form,
            sessions: sessions.into(),
            epoch: 0,
            slots: Slots::new(),
            came: BTreeMap::new(),
            starts: vec![1],
            keys: BTreeMap::new(),
        }
    }

    fn create(&mut self, n: u32) {
        self.slots = (0..n).map(|member| (member, member)).collect();
        self.came = (0..n).map(|member| (member, 1)).collect();
        let report = self.rig.create(n).unwrap();
        self.epoch = 1;
        assert_eq!(messages(&report), (n, 0));
        let keys =
            self.slots.values().map(|&slot| self.form.chains + self.path(slot).len() as u64).sum();
        assert_eq!(tally(&report, Controller, Primitive::Wrap), (n.into(), keys));
        let derivations = 1 + u64::from(self.form.profile == Profile::Sound);
        let cost = Cost { derivations, hashes: self.sessions - 1 };
        self.check_cost(&report, Controller, cost);
        self.slots
            .clone()
            .into_iter()
            .for_each(|(id, slot)| self.check_newcomer(&report, id, slot));
        self.check_footprints();
        self.check_keys();
    }

    /// Notes who sits where after a join whose costs are another test's matter.
    fn seat(&mut self, newcomer: u32) {
        self.slots.insert(newcomer, lowest_free(&self.slots));
        self.epoch += 1;
    }

    fn rekey(&mut self) {
        let report = self.rig.rekey().unwrap();
        let (controller, member) = self.next_session(false);
        assert_eq!(messages(&report), (0, 1));
        assert_eq!(tally(&report, Controller, Primitive::Wrap), (0, 0));
        self.check_cost(&report, Controller, controller);
        for &id in self.slots.keys() {
            self.check_cost(&report, id_of(id), Cost { ..member });
        }
        self.check_footprints();
        self.check_keys();
    }

    fn add(&mut self, newcomer: u32) {
        let slot = lowest_free(&self.slots);
        let before = self.path(slot);
        let report = self.rig.add(newcomer).unwrap();
        let (mut controller, member) = self.next_session(false);
        self.slots.insert(newcomer, slot);
        self.came.insert(newcomer, self.epoch);
        let path = self.path(slot);
        assert_eq!(path.len(), before.len() + 1, "one node gets its first key");
        assert_eq!(messages(&report), (1, 1));
        let broadcast = report.messages.iter().find(|sent| sent.to == Recipient::Group).unwrap();
        assert!(
            broadcast.body_bytes <= 3 + 1 + 8 * 4 + 2 + 3 * 16 + 17,
            "it carries no key of the tree"
        );
        let wrapped = (1, path.len() as u64 + self.form.chains);
        assert_eq!(tally(&report, Controller, Primitive::Wrap), wrapped);
        controller.derivations += 1;
        controller.hashes += path.len() as u64 - 1;
        self.check_cost(&report, Controller, controller);
        for (&id, &own) in self.slots.iter().filter(|&(&id, _)| id != newcomer) {
            let shared = u64::from(count_above(&before, own));
            let derived = u64::from(count_above(&path, own)) - shared;
            let cost =
                Cost { derivations: member.derivations + derived, hashes: member.hashes + shared };
            self.check_cost(&report, id_of(id), cost);
        }
        self.check_newcomer(&report, newcomer, slot);
        self.check_footprints();
        self.check_keys();
    }

    fn remove(&mut self, leaver: u32) {
        let report = self.rig.remove(leaver).unwrap();
        let (mut controller, member) = self.next_session(true);
        let freed = self.slots.remove(&leaver).unwrap();
        let path = self.path(freed);
        assert_eq!(messages(&report), (0, 1));
        assert_eq!(tally(&report, Controller, Primitive::Wrap), (0, 0));
        controller.derivations += 2 * path.len() as u64;
        self.check_cost(&report, Controller, controller);
        for (&id, &own) in &self.slots {
            let derivations = member.derivations + u64::from(count_above(&path, own));
            let cost = Cost { derivations, ..member };
            self.check_cost(&report, id_of(id), cost);
        }
        assert!(!self.rig.outsider_knows_key());
        self.check_footprints();
        self.check_keys();
    }

    /// What the chains of the next session cost the controller and each member.
    fn next_session(&mut self, is_removal: bool) -> (Cost, Cost) {
        self.epoch += 1;
        let left = self.sessions - self.session();
        let Form { profile, stored, chains } = self.form;
        let lazy = |hashes| if stored { 0 } else { hashes };
        let stored = |hashes| if stored { hashes } else { 0 };
        let (masks, controller, member) = if self.session() == 1 {
            self.starts.push(self.epoch);
            (1 + chains, left, (chains - 1) * stored(left))
        } else if is_removal && profile == Profile::Sound && chains == 2 {
            self.starts.push(self.epoch);
            (2, lazy(left), 1 + stored(left))
        } else {
            (1, chains - 1 + lazy(left), 1 + lazy(chains - 1))
        };
        // In `sound` one of them confirms the key.
        let derivations = masks + 1 + u64::from(profile == Profile::Sound);
        (Cost { derivations, hashes: controller }, Cost { derivations, hashes: member })
    }

    fn check_newcomer(&self, report: &OperationReport, id: u32, slot: u32) {
        let keys = self.form.chains + self.path(slot).len() as u64;
        assert_eq!(tally(report, id_of(id), Primitive::Unwrap), (1, keys));
        // It computes the forward chain to its end, or a single one to its beginning.
        let hashes = match self.form {
            Form { stored: false, .. } => 0,
            Form { chains: 1, .. } => self.session() - 1,
            Form { .. } => self.sessions - self.session(),
        };
        let derivations = 1 + u64::from(self.form.profile == Profile::Sound);
        self.check_cost(report, id_of(id), Cost { derivations, hashes });
    }

    fn check_cost(&self, report: &OperationReport, party: PartyId, cost: Cost) {
        let context = || format!("{party} in epoch {}, {:?}", self.epoch, self.form);
        let derivations = tally(report, party, Primitive::Derive).0;
        assert_eq!(derivations, cost.derivations, "derivations of {}", context());
        let hashes = tally(report, party, Primitive::Hash).0;
        assert_eq!(hashes, cost.hashes, "hashes of {}", context());
    }

    fn check_footprints(&self) {
        let first = self.epoch + 1 - self.session();
        let begun = |from: u64, to: u64| {
            self.starts.iter().filter(|&&at| from < at && at <= to).count() as u64
        };
        // Of a generation: where it began or one came, where it began anew since, and the last b.
        let chains = |came: u64| {
            if self.form.chains == 1 {
                return 1 + u64::from(first > self.sessions && came < first);
            }
            let present = 2 + begun(came.max(first), self.epoch);
            let previous = first.saturating_sub(self.sessions);
            let kept = if previous > 0 && came < first {
                2 + begun(came.max(previous), first - 1)
            } else {
                0
            };
            present + kept + 1
        };
        let n = self.slots.len() as u64;
        let table = if self.form.stored { self.sessions } else { 0 };
        let permanent = |party| self.rig.party(party).footprint().permanent as u64;
        assert_eq!(permanent(Controller), 16 * (n + (n - 1) + 1 + chains(1) + table));
        for (id, &slot) in &self.slots {
            let came = self.came[id];
            let left = first + self.sessions - came.max(first);
            let tables = match self.form {
                Form { stored: false, .. } => 0,
                Form { chains: 1, .. } => self.sessions,
                Form { .. } => 2 * left,
            };
            let keys = 2 + self.path(slot).len() as u64 + chains(came) + tables;
            assert_eq!(permanent(id_of(*id)), 16 * keys, "member {id}, epoch {}", self.epoch);
        }
    }

    /// The key is new, and everybody has those of all epochs since it came, in this generation and
    /// the one before. With a single chain it also has those of the generation in which it came.
    fn check_keys(&mut self) {
        let key = self.rig.agreed_key().unwrap().clone();
        assert!(self.keys.values().all(|old| *old != key));
        self.keys.insert(self.epoch, key);
        let first = (self.epoch + 1 - self.session()).saturating_sub(self.sessions).max(1);
        for (&id, &came) in &self.came {
            if !self.slots.contains_key(&id) || !(id + self.epoch as u32).is_multiple_of(3) {
                continue;
            }
            let since = match self.form.chains {
                1 => (came - 1) / self.sessions * self.sessions + 1,
                _ => came,
            };
            for (&epoch, key) in &self.keys {
                let known = self.rig.past_key_of(id_of(id), Epoch(epoch));
                let expected = (epoch >= since.max(first)).then_some(key);
                assert_eq!(known.as_ref(), expected, "member {id}, epoch {epoch}");
            }
        }
    }

    /// A member has all keys since an epoch that the controller remembers.
    fn check_keys_since(&mut self, id: u32, from: u64) {
        let (now, key) = self.rig.key_of(Controller).unwrap();
        assert_eq!(self.rig.key_of(id_of(id)), Some((now, key)));
        for epoch in from..=now.0 {
            let known = self.rig.past_key_of(Controller, Epoch(epoch));
            assert!(known.is_some(), "epoch {epoch} of {now}");
            assert_eq!(self.rig.past_key_of(id_of(id), Epoch(epoch)), known, "epoch {epoch}");
        }
    }

    const fn session(&self) -> u64 {
        (self.epoch - 1) % self.sessions + 1
    }

    fn path(&self, slot: u32) -> Vec<Node> {
        key_nodes(&self.slots, 2, slot)
    }
}

/// Both profiles, stored and lazy, with two chains and with one.
fn forms() -> impl Iterator<Item = Form> {
    let kinds = [(true, 2), (false, 2), (true, 1), (false, 1)];
    Profile::ALL
        .into_iter()
        .flat_map(move |profile| kinds.map(|(stored, chains)| Form { profile, stored, chains }))
}

fn take(rig: &mut Rig, id: u32, bytes: &[u8]) -> Result<(), Error> {
    rig.inject(id_of(id), bytes)
}

fn id_of(id: u32) -> PartyId {
    MemberId(id).into()
}

fn is_skipped(result: Result<(), Error>) -> bool {
    matches!(result, Err(Error::Misbehaved(Misbehaviour::SkippedEpoch { .. })))
}

/// Unicasts and broadcasts.
fn messages(report: &OperationReport) -> (u32, u32) {
    let broadcast = report.open_messages().filter(|sent| sent.to == Recipient::Group).count();
    (report.open_messages().count() as u32 - broadcast as u32, broadcast as u32)
}

/// Calls and amount.
fn tally(report: &OperationReport, party: PartyId, primitive: Primitive) -> (u64, u64) {
    let tally = report.meter(party).tally(primitive);
    (tally.calls, tally.amount)
}
