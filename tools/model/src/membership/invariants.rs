//! What must hold in every state.

use stateright::Property;

use super::member::MemberStanding;
use super::model::{DISHONEST, HONEST, ServiceScene, ServiceState};

/// The service counts no device as a member that its operator has evicted, and not readmitted.
pub const BARRED: &str = "an evicted device is out until it is readmitted";

/// If a farewell has ended the device's membership, the operator had ended that one.
pub const ENDED: &str = "a farewell ends its own membership alone";

/// The device enters no founding and epoch from before its attempt to join.
pub const ONWARD: &str = "nobody joins an earlier epoch";

/// A member is removed because of a request from after its admission alone.
pub const STAYS: &str = "no recording removes a member";

/// The device's key is of an epoch of the service in which that counts this membership in.
pub const KEYED: &str = "a member's key is of an epoch that counts it in";

/// A device is a member by a later admission than at first. The honest one has the present key.
pub const AGAIN: &str = "a device is in again";

/// The invariants, and what shows that the search is not empty.
pub fn properties() -> Vec<Property<ServiceScene>> {
    vec![
        Property::always(BARRED, |_, state: &ServiceState| {
            [HONEST, DISHONEST]
                .iter()
                .all(|name| !(state.history.evicted.contains(name) && state.service.counts(*name)))
        }),
        Property::always(ENDED, |_, state: &ServiceState| match state.member.standing {
            MemberStanding::Out(admission) => state.history.ended.contains(&admission),
            _ => true,
        }),
        Property::always(ONWARD, |_, state: &ServiceState| !state.history.was_led_back),
        Property::always(STAYS, |_, state: &ServiceState| !state.history.was_displaced),
        Property::always(KEYED, is_keyed),
        Property::sometimes(AGAIN, is_in_again),
    ]
}

fn is_keyed(_: &ServiceScene, state: &ServiceState) -> bool {
    match state.member.standing {
        MemberStanding::Inside(welcome, epoch) if epoch > 0 => {
            let place = welcome.place;
            let counted = ((place.founding, epoch), place.number, welcome.admission);
            state.history.counted.contains(&counted)
        }
        _ => true,
    }
}

fn is_in_again(_: &ServiceScene, state: &ServiceState) -> bool {
    let is_later = |name| state.service.admission(name).filter(|&admission| admission > 2);
    let has_key = |admission| match state.member.standing {
        MemberStanding::Inside(welcome, epoch) => {
            state.service.now == (welcome.place.founding, epoch) && welcome.admission == admission
        }
        _ => false,
    };
    is_later(DISHONEST).is_some() || is_later(HONEST).is_some_and(has_key)
}
