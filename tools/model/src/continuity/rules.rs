//! What a service does with its store, as the library does it. Each function names its original in
//! `crates/groupkey-mqtt/src/service`.

/// A number that is drawn at random, and never again.
pub type Drawn = u8;

/// An entry of the log: `LogEntry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelEntry {
    /// The group was founded, in epoch 1.
    Founded,
    /// A service began to act.
    Opened(Drawn),
    /// The group came to its next epoch, with this key.
    Changed(Drawn),
    /// The service stopped by itself.
    Stopped,
}

/// What a service says of its state: `Notice`. The log stands for its hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelNotice {
    /// The epoch.
    pub epoch: u8,
    /// All entries that there ever were.
    pub log: Vec<ModelEntry>,
}

/// A topic on which the broker retains the last notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoticeTopic {
    /// For members, after a change.
    Epoch,
    /// For the service alone, before a change.
    State,
}

/// What a service publishes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelPublish {
    /// A retained notice.
    Notice(NoticeTopic, ModelNotice),
    /// The key of an epoch, wrapped for each member under that member's own key.
    Wrap(u8, Drawn),
}

/// Which mends there are. Each can be taken away alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreMends {
    /// A store is compared with the notice: `Continuity::compare`.
    pub compares: bool,
    /// Each opening is an entry: `LogEntry::Opened` in `Service::confirm`.
    pub openings: bool,
    /// The notice is a change's first message: `Publisher::queue_first`.
    pub notice_first: bool,
    /// A service that begins again publishes no earlier notice: `Publisher::give_up` in
    /// `Service::confirm`.
    pub gives_up: bool,
    /// A wrap's nonce depends on the key in it: `crypto/wrap.rs`, `Binding::tag`.
    pub synthetic: bool,
}

impl StoreMends {
    /// The rules of now.
    pub const ALL: Self = Self {
        compares: true,
        openings: true,
        notice_first: true,
        gives_up: true,
        synthetic: true,
    };
}

/// A file: `Store`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelStore {
    /// The entries since the founding. A checkpoint keeps their hash.
    pub log: Vec<ModelEntry>,
    /// What the broker has not acknowledged.
    pub queue: Vec<ModelPublish>,
}

/// A running service: `Service`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoringService {
    /// Its store.
    pub store: usize,
    /// Whether it acts: `Continuity::is_confirmed`.
    pub is_confirmed: bool,
    /// What it has from the broker and has not read.
    pub inbox: Vec<(NoticeTopic, ModelNotice)>,
    /// What it publishes next: `Publisher::outputs`.
    pub outputs: Vec<ModelPublish>,
    /// What the store had, until it acts: `Unconfirmed::publishes`.
    pub waiting: Vec<ModelPublish>,
}

/// What follows from a notice: `Conclusion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelConclusion {
    /// The service begins to act.
    Confirmed,
    /// The service ends.
    End,
    /// Nothing.
    Nothing,
}

impl ModelStore {
    /// `LiveGroup::epoch`, after the log was replayed.
    pub fn epoch(&self) -> u8 {
        1 + self.log.iter().filter(|entry| matches!(entry, ModelEntry::Changed(_))).count() as u8
    }

    /// Whether another store has all entries of this one's last opening.
    pub fn last_opening_is_in(&self, other: &Self) -> bool {
        let is_opening = |entry: &&ModelEntry| matches!(entry, ModelEntry::Opened(_));
        self.log.iter().rfind(is_opening).is_none_or(|entry| other.log.contains(entry))
    }

    /// `Service::notice`.
    pub fn notice(&self) -> ModelNotice {
        ModelNotice { epoch: self.epoch(), log: self.log.clone() }
    }

    /// `LogChain::has_had`.
    fn has_had(&self, log: &[ModelEntry]) -> bool {
        self.log.starts_with(log)
    }

    /// `Continuity::compare`, for the present founding.
    pub fn compare(
        &self,
        topic: NoticeTopic,
        notice: &ModelNotice,
        is_confirmed: bool,
        mends: StoreMends,
    ) -> ModelConclusion {
        let is_last = topic == NoticeTopic::State && !is_confirmed;
        let had_it = self.has_had(&notice.log);
        if mends.compares && (notice.epoch > self.epoch() || !had_it) {
            return ModelConclusion::End;
        }
        if is_last { ModelConclusion::Confirmed } else { ModelConclusion::Nothing }
    }
}

impl StoringService {
    /// `Service::open`.
    pub fn open(store: usize, file: &ModelStore) -> Self {
        Self {
            store,
            is_confirmed: false,
            inbox: Vec::new(),
            outputs: Vec::new(),
            waiting: file.queue.clone(),
        }
    }

    /// `Service::confirm`.
    pub fn confirm(&mut self, file: &mut ModelStore, incarnation: Drawn, mends: StoreMends) {
        self.is_confirmed = true;
        let mut waiting = std::mem::take(&mut self.waiting);
        if mends.gives_up {
            let is_notice = |publish: &ModelPublish| matches!(publish, ModelPublish::Notice(..));
            waiting.retain(|publish| !is_notice(publish));
            file.queue.retain(|publish| !is_notice(publish));
        } else {
            self.outputs.append(&mut waiting);
        }
        if mends.openings {
            file.log.push(ModelEntry::Opened(incarnation));
            let notice = ModelPublish::Notice(NoticeTopic::State, file.notice());
            self.commit(file, vec![notice]);
        }
        self.outputs.append(&mut waiting);
    }

    /// `Service::change_key`, or any command that leads to the next epoch.
    pub fn change(&mut self, file: &mut ModelStore, key: Drawn, mends: StoreMends) {
        file.log.push(ModelEntry::Changed(key));
        let notice = |topic| ModelPublish::Notice(topic, file.notice());
        let (first, last) = (notice(NoticeTopic::State), notice(NoticeTopic::Epoch));
        let wrap = ModelPublish::Wrap(file.epoch(), key);
        let publishes =
            if mends.notice_first { vec![first, wrap, last] } else { vec![wrap, last, first] };
        self.commit(file, publishes);
    }

    /// `Service::commit`: one transaction for the entries and what is published.
    fn commit(&mut self, file: &mut ModelStore, publishes: Vec<ModelPublish>) {
        file.queue.extend_from_slice(&publishes);
        self.outputs.extend(publishes);
    }
}
