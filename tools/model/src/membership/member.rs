//! What the device does with what it hears, as the library does it. Each function names its original in
//! `crates/groupkey-mqtt/src`.

use std::collections::BTreeSet;

use super::MembershipMends;
use super::messages::{Count, DeviceName, ModelMessage, ModelPlace, ModelRequest, ModelWelcome};

/// A device's membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberStanding {
    /// It asks to join, or will do so.
    Outside,
    /// By this welcome. It has the key of this epoch; of none if that is zero.
    Inside(ModelWelcome, Count),
    /// A farewell ended this admission.
    Out(Count),
}

/// A device: `Member`, with `Joining`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelMember {
    name: DeviceName,
    /// Whether it is a member.
    pub standing: MemberStanding,
    /// The requests of this attempt.
    pub asked: BTreeSet<ModelRequest>,
    attempt: Count,
    stamp: Count,
    place: Option<ModelPlace>,
}

impl ModelMember {
    /// A device that has not asked yet.
    pub const fn new(name: DeviceName) -> Self {
        let standing = MemberStanding::Outside;
        Self { name, standing, asked: BTreeSet::new(), attempt: 1, stamp: 0, place: None }
    }

    /// `Member::request`. The eighth request in vain begins another attempt: `Joining::next`.
    pub fn ask(&mut self, is_in_vain: bool) -> Option<ModelRequest> {
        (self.standing == MemberStanding::Outside).then_some(())?;
        if is_in_vain {
            self.begin_attempt();
        }
        self.stamp += 1;
        let Self { name, stamp, attempt, place, .. } = *self;
        let request = ModelRequest { name, stamp, attempt, place };
        self.asked.insert(request);
        Some(request)
    }

    /// The same device after a restart, or `Member::join_again`, which forgets no place.
    pub fn begin_again(&mut self, restarts: bool) {
        self.standing = MemberStanding::Outside;
        self.place.take_if(|_| restarts);
        self.begin_attempt();
    }

    fn begin_attempt(&mut self) {
        self.attempt += 1;
        self.asked.clear();
    }

    /// `Member::answered`, and `Member::receive` of the scheme's messages. Returns nothing if it
    /// changes nothing.
    pub fn hear(&mut self, message: &ModelMessage, mends: MembershipMends) -> Option<()> {
        match (self.standing, message) {
            (MemberStanding::Outside, ModelMessage::Offer(place, answers)) => {
                let is_new = self.place != Some(*place);
                (self.is_answer(answers, mends) && is_new).then_some(())?;
                self.place = Some(*place);
            }
            (MemberStanding::Outside, ModelMessage::Welcome(welcome)) => {
                let is_ours = self.place.is_some_and(|ours| ours.number == welcome.place.number);
                (self.is_answer(&welcome.answers, mends) && is_ours).then_some(())?;
                self.standing = MemberStanding::Inside(*welcome, 0);
            }
            (MemberStanding::Inside(welcome, epoch), &ModelMessage::Farewell(place, ended)) => {
                let after = if mends.farewells { epoch.max(welcome.epoch) } else { epoch };
                (place == welcome.place && ended > after).then_some(())?;
                self.standing = MemberStanding::Out(welcome.admission);
            }
            (MemberStanding::Inside(welcome, epoch), ModelMessage::Rekey((founding, next), to)) => {
                let opens = to.get(&welcome.place.number) == Some(&welcome.admission);
                let is_next = *founding == welcome.place.founding && *next > epoch;
                (opens && is_next).then_some(())?;
                self.standing = MemberStanding::Inside(welcome, *next);
            }
            _ => return None,
        }
        Some(())
    }

    fn is_answer(&self, request: &ModelRequest, mends: MembershipMends) -> bool {
        self.asked.contains(request) || (!mends.answers && request.name == self.name)
    }
}
