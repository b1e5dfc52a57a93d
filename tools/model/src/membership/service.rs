//! What the service does with what it hears, as the library does it. Each function names its original
//! in `crates/groupkey-mqtt/src`.

use std::collections::BTreeMap;

use super::MembershipMends;
use super::messages::{Count, DeviceName, ModelMessage, ModelPlace, ModelRequest, ModelWelcome};

/// A device as the service knows it: `DeviceRecord`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ModelRecord {
    number: Count,
    admission: Count,
    stamp: Count,
    attempt: Count,
    is_barred: bool,
    is_member: bool,
}

/// The service: `Service`, with `DeviceRoster` and `Admission`. Its group has another member
/// throughout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelService {
    /// The founding, and the epoch of the last key.
    pub now: (Count, Count),
    records: BTreeMap<DeviceName, ModelRecord>,
    offers: BTreeMap<DeviceName, Count>,
    /// The requests that wait for an admission.
    pub waiting: BTreeMap<DeviceName, ModelRequest>,
    welcomes: BTreeMap<Count, ModelWelcome>,
    /// How many admissions there were so far, in whichever copy of the store.
    admissions: Count,
}

impl ModelService {
    /// A service that has founded its group.
    pub const fn new(founding: Count, admissions: Count) -> Self {
        Self {
            now: (founding, 1),
            records: BTreeMap::new(),
            offers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            welcomes: BTreeMap::new(),
            admissions,
        }
    }

    /// Whether it counts a device as a member.
    pub fn counts(&self, name: DeviceName) -> bool {
        self.admission(name).is_some()
    }

    /// Whether a member's request waits that is from before its admission.
    pub fn waits_in_vain(&self, name: DeviceName) -> bool {
        let record = self.records.get(&name).filter(|record| record.is_member);
        let waiting = self.waiting.get(&name).map(|request| request.stamp);
        record.is_some_and(|record| waiting.is_some_and(|stamp| stamp <= record.stamp))
    }

    /// A device's last admission, if it is a member.
    pub fn admission(&self, name: DeviceName) -> Option<Count> {
        self.records.get(&name).filter(|record| record.is_member).map(|record| record.admission)
    }

    /// The members with their admissions, by number.
    pub fn members(&self) -> BTreeMap<Count, Count> {
        let members = self.records.values().filter(|record| record.is_member);
        members.map(|record| (record.number, record.admission)).collect()
    }

    /// `Service::apply`, with `Service::place`. Returns the answer, if there is one.
    pub fn apply(
        &mut self,
        request: ModelRequest,
        mends: MembershipMends,
    ) -> Option<Option<ModelMessage>> {
        let ModelRequest { name, stamp, attempt, place } = request;
        let record = self.records.get(&name).copied();
        let waits = self.waiting.get(&name).map(|waiting| waiting.stamp);
        let last = record.map(|record| record.stamp).max(waits);
        let is_replayed = mends.stamps && last.is_some_and(|last| stamp <= last);
        if record.is_some_and(|record| record.is_barred) || is_replayed {
            return None;
        }
        let own = ModelPlace { number: self.number_for(name), founding: self.now.0 };
        if place != Some(own) {
            return Some(Some(ModelMessage::Offer(own, request)));
        }
        if let Some(record) = record.filter(|record| record.is_member && record.attempt == attempt)
        {
            self.records.insert(name, ModelRecord { stamp, ..record });
            return Some(self.welcomes.get(&own.number).copied().map(ModelMessage::Welcome));
        }
        self.waiting.insert(name, request);
        Some(None)
    }

    /// `Admission::number_for`.
    fn number_for(&mut self, name: DeviceName) -> Count {
        if let Some(record) = self.records.get(&name) {
            return record.number;
        }
        let used = self.records.values().map(|record| record.number);
        let next = used.chain(self.offers.values().copied()).max().unwrap_or_default() + 1;
        *self.offers.entry(name).or_insert(next)
    }

    /// `Service::admit`: who is no member comes first. Members have lost their state, and leave before
    /// they join again.
    pub fn admit(&mut self) -> Vec<ModelMessage> {
        let (waiting, mut said) = (std::mem::take(&mut self.waiting), Vec::new());
        let (returning, fresh): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|&(name, _)| self.counts(name));
        for (name, request) in fresh {
            said.extend(self.take_in(name, request));
        }
        for (name, request) in returning {
            said.extend(self.remove(name));
            said.extend(self.take_in(name, request));
        }
        said
    }

    /// `Service::take_in`.
    fn take_in(&mut self, name: DeviceName, request: ModelRequest) -> [ModelMessage; 2] {
        let number = self.number_for(name);
        self.offers.remove(&name);
        self.admissions += 1;
        let ModelRequest { stamp, attempt, .. } = request;
        let (admission, is_barred, is_member) = (self.admissions, false, true);
        let record = ModelRecord { number, admission, stamp, attempt, is_barred, is_member };
        self.records.insert(name, record);
        let (founding, epoch) = self.now;
        let place = ModelPlace { number, founding };
        let welcome = ModelWelcome { place, epoch, admission, answers: request };
        self.welcomes.insert(number, welcome);
        [ModelMessage::Welcome(welcome), self.rekey()]
    }

    /// The command `Remove`, without the farewell.
    fn remove(&mut self, name: DeviceName) -> Option<ModelMessage> {
        let record = self.records.get_mut(&name).filter(|record| record.is_member)?;
        record.is_member = false;
        Some(self.rekey())
    }

    /// `Service::rekey`, and what every change of the members does.
    pub fn rekey(&mut self) -> ModelMessage {
        self.now.1 += 1;
        ModelMessage::Rekey(self.now, self.members())
    }

    /// `Service::evict`. Returns what it says, and the admission that it ends.
    pub fn evict(&mut self, name: DeviceName) -> Option<(Vec<ModelMessage>, Option<Count>)> {
        let record = self.records.get_mut(&name).filter(|record| !record.is_barred)?;
        record.is_barred = true;
        let (number, admission) = (record.number, record.admission);
        self.waiting.remove(&name);
        let Some(rekey) = self.remove(name) else { return Some((Vec::new(), None)) };
        let (founding, epoch) = self.now;
        let farewell = ModelMessage::Farewell(ModelPlace { number, founding }, epoch);
        Some((vec![farewell, rekey], Some(admission)))
    }

    /// `Service::readmit`.
    pub fn readmit(&mut self, name: DeviceName) -> Option<()> {
        let record = self.records.get_mut(&name).filter(|record| record.is_barred)?;
        record.is_barred = false;
        Some(())
    }

    /// The service after `Service::open` with its store, or with an old copy of it, or with an empty
    /// one on the operator's word.
    #[must_use]
    pub fn opened(&self, store: &Self) -> Self {
        let Self { now, records, .. } = store.clone();
        Self { now, records, ..Self::new(0, self.admissions) }
    }

    /// An empty store: another founding.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self::new(self.now.0 + 1, self.admissions)
    }
}
