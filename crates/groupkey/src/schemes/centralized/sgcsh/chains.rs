//! The two chains of SGCSH, generation after generation, and the session keys between them.
//!
//! A generation is a number of sessions in a row, one an epoch. Its forward chain goes with time,
//! `f_(j+1) = H(f_j)`, its backward chain against it, `b_j = H(b_(j+1))`. A forward chain may begin
//! again within a generation. All keys up to there still follow from its previous beginning. The
//! controller knows a backward chain from its last key on, a member from the latest key that it
//! got.
//!
//! Without the forward chain, a session key is made of the backward key alone. Then a party that
//! knows any session of a generation knows all earlier ones.

use crate::context::Context;
use crate::saved_state::{saved, state};
use crate::secret::{Key, List};

/// The keys that a party keeps of the chains of the current generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// All keys of the backward chain.
    Backward,
    /// All keys of both chains.
    Both,
    /// The keys at which the chains begin, and the latest known ones. The others are computed.
    Ends,
}

/// The keys that a party knows of the chains of the current generation and of the previous one.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    sessions: u64,
    keep: Keep,
    /// Whether there is only a backward chain. The forward keys are zeros then, and are not used.
    single: bool,
    previous: Option<Generation>,
    present: Generation,
    /// The current epoch and its forward key.
    now: (u64, Key),
    tables: Tables,
}

/// The keys that are sent to a joining member, or to a member that missed sessions.
pub(super) struct History {
    /// The epoch and, in `session`, its number in its generation, from 1 on.
    pub(super) epoch: u64,
    pub(super) session: u64,
    /// Number of sessions up to the epoch that this is for: the number of missed sessions, or 1 for
    /// a joining member.
    pub(super) sessions: u64,
    /// The last backward key of the previous generation, if sessions of it are covered.
    pub(super) end: Option<Key>,
    pub(super) backward: Key,
    /// Epochs with their forward keys, from which the later ones follow.
    pub(super) starts: List<(u64, Key)>,
}

#[derive(Clone, Debug, Default)]
struct Generation {
    /// The epoch of its last session, 0 if there is no generation.
    last: u64,
    /// Where the forward chain began or the party joined. The first is where its knowledge begins.
    starts: List<(u64, Key)>,
    /// The latest known backward key, and its epoch.
    end: (u64, Key),
}

/// The keys of the current generation from epoch `first` on, as far as they are kept.
#[derive(Clone, Debug, Default)]
struct Tables {
    first: u64,
    forward: List<Key>,
    backward: List<Key>,
}

state!(Chains { previous, present, now, tables });
saved!(Generation { last, starts, end });
saved!(Tables { first, forward, backward });

impl Chains {
    pub(super) fn new(sessions: u32, keep: Keep, single: bool) -> Self {
        Self {
            sessions: u64::from(sessions),
            keep,
            single,
            previous: None,
            present: Generation::default(),
            now: (0, Key::default()),
            tables: Tables::default(),
        }
    }

    pub(super) const fn has_forward(&self) -> bool {
        !self.single
    }

    /// Returns the epoch of the last session of the current generation.
    pub(super) const fn last(&self) -> u64 {
        self.present.last
    }

    /// Returns whether these are chains of a group in this epoch, known to the controller.
    pub(super) fn lead_to(&self, epoch: u64) -> bool {
        let ordered = |generation: &Generation| {
            generation.starts.windows(2).all(|pair| pair[0].0 < pair[1].0)
                && generation.starts.iter().all(|&(at, _)| at <= generation.last)
                && generation.end.0 == generation.last
                && generation.last - generation.first() < self.sessions
        };
        let present = (self.present.first()..=self.present.last).contains(&epoch);
        self.now.0 == epoch
            && ordered(&self.present)
            && self
                .previous
                .as_ref()
                .is_none_or(|previous| ordered(previous) && previous.last < self.present.first())
            && (present || self.present.last == 0)
    }

    /// Returns the first epoch of which this party knows keys.
    pub(super) fn first(&self) -> u64 {
        self.previous.as_ref().unwrap_or(&self.present).first()
    }

    /// Returns the number of the current session in its generation, from 1 on.
    pub(super) const fn session(&self) -> u64 {
        self.sessions + self.now.0 - self.present.last
    }

    /// Returns the latest known key of the current generation's backward chain.
    pub(super) const fn end(&self) -> &Key {
        &self.present.end.1
    }

    /// Returns the epoch of the last session of a generation that begins with this epoch.
    pub(super) const fn last_from(&self, first: u64) -> u64 {
        first.saturating_add(self.sessions - 1)
    }

    /// Begins a new generation with this epoch. Its backward chain is known down from `end`.
    pub(super) fn open(&mut self, cx: &mut Context<'_>, epoch: u64, forward: Key, end: (u64, Key)) {
        let last = self.last_from(epoch);
        let starts = List::filled((epoch, forward.clone()), 1);
        let closed = core::mem::replace(&mut self.present, Generation { last, starts, end });
        self.previous = (closed.last > 0).then_some(closed);
        self.now = (epoch, forward);
        self.fill_tables(cx);
    }

    pub(super) fn begin_forward(&mut self, cx: &mut Context<'_>, epoch: u64, forward: Key) {
        self.present.starts.push((epoch, forward.clone()));
        self.now = (epoch, forward);
        self.fill_forward(cx, epoch);
    }

    /// Goes on to a later epoch of the current generation.
    pub(super) fn advance(&mut self, cx: &mut Context<'_>, epoch: u64) {
        self.now = (epoch, self.present_forward(cx, epoch));
    }

    /// Checks a backward key of an epoch from the latest known one on: the chain must lead from the
    /// key to the latest known key. Returns the keys on the way, latest first, if they are to be
    /// kept. Returns `None` if the chain does not lead there.
    pub(super) fn link(&self, cx: &mut Context<'_>, epoch: u64, key: &Key) -> Option<List<Key>> {
        let (known, end) = &self.present.end;
        let mut passed = List::new();
        let mut key = key.clone();
        for _ in 0..epoch.checked_sub(*known)? {
            let before = cx.hash(&key, BACKWARD);
            let later = core::mem::replace(&mut key, before);
            if self.keep == Keep::Both {
                passed.push(later);
            }
        }
        (key == *end).then_some(passed)
    }

    /// Takes a backward key that [`Self::link`] found to be genuine.
    pub(super) fn reach(&mut self, epoch: u64, key: Key, passed: &[Key]) {
        for (at, key) in (0..=epoch).rev().zip(passed) {
            self.tables.set_backward(at, key.clone());
        }
        self.present.end = (epoch, key);
    }

    pub(super) fn backward(&self, cx: &mut Context<'_>) -> Key {
        self.present_backward(cx, self.now.0)
    }

    /// Returns the session key of the current epoch, whose backward key the caller knows.
    pub(super) fn present_key(&self, cx: &mut Context<'_>, backward: &Key) -> Key {
        self.combine(cx, &self.now.1, backward, self.now.0)
    }

    /// Returns the session key of an epoch up to the current one, if the chains lead there.
    pub(super) fn session_key(&self, cx: &mut Context<'_>, epoch: u64) -> Option<Key> {
        let (forward, backward) = match &self.previous {
            _ if (self.present.first()..=self.now.0).contains(&epoch) => {
                (self.present_forward(cx, epoch), self.present_backward(cx, epoch))
            }
            Some(previous) if (previous.first()..=previous.end.0).contains(&epoch) => {
                (self.forward(cx, previous, epoch), previous.backward(cx, epoch))
            }
            _ => return None,
        };
        Some(self.combine(cx, &forward, &backward, epoch))
    }

    /// Returns the keys for a member since epoch `joined`, for the sessions from `wanted` on.
    pub(super) fn history(
        &self,
        cx: &mut Context<'_>,
        backward: Key,
        joined: u64,
        wanted: u64,
    ) -> History {
        let previous = self.previous.as_ref().filter(|previous| wanted <= previous.last);
        let generations = previous.into_iter().chain([&self.present]);
        let begun = generations.flat_map(|generation| &generation.starts);
        let begun = begun.filter(|&&(at, _)| self.has_forward() && at >= wanted);
        let mut starts: List<_> = begun.cloned().collect();
        // A joining member gets the forward key of the epoch in which it joins, not an earlier one.
        let comes = wanted == joined && self.has_forward();
        if comes && starts.first().is_none_or(|&(at, _)| at > joined) {
            let forward = match previous {
                Some(previous) => previous.forward(cx, joined),
                None => self.present_forward(cx, joined),
            };
            starts.insert(0, (joined, forward));
        }
        History {
            epoch: self.now.0,
            session: self.session(),
            sessions: self.now.0.saturating_add(1).saturating_sub(wanted),
            end: previous.map(|previous| previous.end.1.clone()),
            backward,
            starts,
        }
    }

    /// Returns the chains of a member that takes in the keys that it was sent. Returns `None` if
    /// these do not fit together.
    pub(super) fn with(&self, cx: &mut Context<'_>, history: History) -> Option<Self> {
        let History { epoch, session, end, backward, starts, .. } = history;
        let first = epoch.checked_sub(session.checked_sub(1)?).filter(|&first| first > 0)?;
        let last = self.last_from(first);
        if session > self.sessions {
            return None;
        }
        let starts = match self.single {
            true if starts.is_empty() => self.whole_generations(first, end.is_some())?,
            true => return None,
            false => starts,
        };
        let (starts, newer) = starts.split_at(starts.partition_point(|&(at, _)| at < first));
        let known = |last| {
            let mut generations = [Some(&self.present), self.previous.as_ref()].into_iter();
            generations.find_map(|known| known.filter(|known| known.last == last).cloned())
        };
        // Of a single chain only the end needs to be known.
        let extensible = |last| known(last).filter(|_| !self.single).unwrap_or_default();
        let previous = match end {
            None if starts.is_empty() => known(first - 1).filter(|previous| previous.last > 0),
            None => return None,
            Some(end) => {
                let end = (first - 1, end);
                let earliest = first.saturating_sub(self.sessions);
                let known = extensible(first - 1);
                Some(known.extended(first - 1, starts, earliest, end)?)
            }
        };
        let present = extensible(last);
        let present = present.extended(last, newer, first, (epoch, backward))?;
        let (now, tables) = ((epoch, Key::default()), Tables::default());
        let mut chains = Self { previous, present, now, tables, ..*self };
        chains.fill_tables(cx);
        chains.now.1 = match chains.tables.get(&chains.tables.forward, epoch) {
            Some(key) => key.clone(),
            None => chains.forward(cx, &chains.present, epoch),
        };
        Some(chains)
    }

    pub(super) fn key_count(&self) -> usize {
        let generations = self.previous.iter().chain([&self.present]);
        let starts = |known: &Generation| if self.single { 0 } else { known.starts.len() };
        let ends = generations.filter(|known| known.last > 0).map(|known| starts(known) + 1);
        let now = usize::from(self.present.last > 0 && !self.single);
        ends.sum::<usize>() + now + self.tables.forward.len() + self.tables.backward.len()
    }

    /// Returns where the knowledge of generations without a forward chain begins: at their first
    /// epochs.
    fn whole_generations(&self, first: u64, and_previous: bool) -> Option<List<(u64, Key)>> {
        let mut starts = List::with_capacity(2);
        if and_previous {
            let first = first.checked_sub(self.sessions).filter(|&first| first > 0)?;
            starts.push((first, Key::default()));
        }
        starts.push((first, Key::default()));
        Some(starts)
    }

    fn forward(&self, cx: &mut Context<'_>, of: &Generation, epoch: u64) -> Key {
        if self.single { Key::default() } else { of.forward(cx, epoch) }
    }

    fn present_forward(&self, cx: &mut Context<'_>, epoch: u64) -> Key {
        match self.tables.get(&self.tables.forward, epoch) {
            Some(key) => key.clone(),
            None if epoch >= self.now.0 && self.has_forward() => {
                steps(cx, &self.now.1, FORWARD, epoch - self.now.0)
            }
            None => self.forward(cx, &self.present, epoch),
        }
    }

    fn present_backward(&self, cx: &mut Context<'_>, epoch: u64) -> Key {
        match self.tables.get(&self.tables.backward, epoch) {
            Some(key) => key.clone(),
            None => self.present.backward(cx, epoch),
        }
    }

    /// Makes the tables of a generation that begins, or of which more keys became known.
    fn fill_tables(&mut self, cx: &mut Context<'_>) {
        let first = self.present.first();
        let length = match self.keep {
            Keep::Ends => 0,
            Keep::Backward | Keep::Both => (self.present.last - first + 1) as usize,
        };
        self.tables = Tables { first, forward: List::new(), backward: List::zeros(length) };
        if length == 0 {
            return;
        }
        let (mut at, mut key) = self.present.end.clone();
        while at > first {
            let before = cx.hash(&key, BACKWARD);
            self.tables.set_backward(at, core::mem::replace(&mut key, before));
            at -= 1;
        }
        self.tables.set_backward(at, key);
        if self.keep == Keep::Both && self.has_forward() {
            self.tables.forward.reserve_exact(length);
            self.fill_forward(cx, first);
        }
    }

    /// Rebuilds the table of forward keys from an epoch on. The chain must begin at that epoch.
    fn fill_forward(&mut self, cx: &mut Context<'_>, from: u64) {
        if self.keep != Keep::Both || self.single {
            return;
        }
        let kept = from.saturating_sub(self.tables.first) as usize;
        self.tables.forward.truncate(kept);
        let mut begun = self.present.starts.iter().skip_while(|&&(at, _)| at < from).peekable();
        let mut key = Key::default();
        for epoch in from..=self.present.last {
            key = match begun.next_if(|&&(at, _)| at == epoch) {
                Some((_, start)) => start.clone(),
                None => cx.hash(&key, FORWARD),
            };
            self.tables.forward.push(key.clone());
        }
    }

    fn combine(&self, cx: &mut Context<'_>, forward: &Key, backward: &Key, epoch: u64) -> Key {
        let key = if self.single { backward.clone() } else { cx.xor(forward, backward) };
        let context = [cx.group().0.to_be_bytes(), epoch.to_be_bytes()];
        cx.derive(&key, "groupkey sgcsh session", context.as_flattened())
    }
}

impl Generation {
    fn first(&self) -> u64 {
        self.starts.first().map_or(0, |&(at, _)| at)
    }

    /// Returns the forward key of an epoch from the first known one on.
    fn forward(&self, cx: &mut Context<'_>, epoch: u64) -> Key {
        let latest = self.starts.iter().rfind(|&&(at, _)| at <= epoch);
        latest.map_or_else(Key::default, |(at, key)| steps(cx, key, FORWARD, epoch - at))
    }

    /// Returns the backward key of an epoch up to the latest known one.
    fn backward(&self, cx: &mut Context<'_>, epoch: u64) -> Key {
        let (at, key) = &self.end;
        steps(cx, key, BACKWARD, at.saturating_sub(epoch))
    }

    /// Returns this generation with more starts. It ends with epoch `last`, and is known from
    /// `first` at the earliest up to `end`. Returns `None` if the starts do not fit.
    fn extended(
        mut self,
        last: u64,
        starts: &[(u64, Key)],
        first: u64,
        end: (u64, Key),
    ) -> Option<Self> {
        self.starts.append(starts);
        let ascending = self.starts.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let within = |&(at, _): &(u64, Key)| (first..=end.0).contains(&at);
        let known = !self.starts.is_empty() && ascending && self.starts.iter().all(within);
        known.then_some(Self { last, starts: self.starts, end })
    }
}

impl Tables {
    fn get<'t>(&self, table: &'t [Key], epoch: u64) -> Option<&'t Key> {
        table.get(usize::try_from(epoch.checked_sub(self.first)?).ok()?)
    }

    fn set_backward(&mut self, epoch: u64, key: Key) {
        let place = epoch.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(known) = place.and_then(|place| self.backward.get_mut(place)) {
            *known = key;
        }
    }
}

fn steps(cx: &mut Context<'_>, key: &Key, label: &'static str, count: u64) -> Key {
    (0..count).fold(key.clone(), |key, _| cx.hash(&key, label))
}

const FORWARD: &str = "groupkey sgcsh chain f";
const BACKWARD: &str = "groupkey sgcsh chain b";
