//! What must hold in every state.

use stateright::Property;

use crate::model::{Scene, SceneHistory, State};

/// Nobody is out at an honest device without a decision by the rule, which is later than the last
/// ticket when the device took it in. Who only needs to show a ticket again is not out.
pub const DECIDED: &str = "nobody is out without a decision";

/// No honest device counts a device as a member of whose eviction it knew, and that no ticket has
/// undone since.
pub const OUT: &str = "nobody evicted is in";

/// The epochs of one founding only grow at an honest application.
pub const GROWS: &str = "epochs only grow";

/// An honest device that has not restarted has part in one key of each epoch.
pub const ONE_KEY: &str = "one key in each epoch";

/// An honest member has evicted one that was there at first.
pub const EVICTS: &str = "a decision is carried out";

/// All honest members of the beginning agree on a later event.
pub const AGREES: &str = "the honest members agree";

/// The invariants, and what shows that the search is not empty.
pub fn properties() -> Vec<Property<Scene>> {
    vec![
        Property::always(DECIDED, is_decided),
        Property::always(OUT, is_out),
        Property::always(GROWS, |_, state: &State| state.history.went_back.is_empty()),
        Property::always(ONE_KEY, has_one_key),
        Property::sometimes(EVICTS, evicts),
        Property::sometimes(AGREES, agrees),
    ]
}

fn is_decided(scene: &Scene, state: &State) -> bool {
    let SceneHistory { decided, took_in, .. } = &state.history;
    scene.honest().all(|me| {
        state.device(me).evicted.iter().all(|(&member, &since)| {
            let made = decided.get(&member).copied().unwrap_or_default();
            let before = took_in.get(&(me, member)).copied().unwrap_or_default();
            made > before || state.is_undone(member, since)
        })
    })
}

fn is_out(_: &Scene, state: &State) -> bool {
    let history = &state.history;
    history.knew.iter().all(|(&(me, member), &number)| {
        let pardoned = history.pardoned.get(&member).copied().unwrap_or_default();
        pardoned >= number || !state.device(me).roster.contains(&member)
    })
}

/// A key exists if all honest members of an announcement follow it: dishonest ones can always do
/// their part, and the others wait for a confirmation of everybody.
fn has_one_key(scene: &Scene, state: &State) -> bool {
    let followed = &state.history.followed;
    let has_key = |roster: &[u8], at: &dyn Fn(u8) -> bool| {
        roster.iter().all(|&id| scene.dishonest.contains(&id) || at(id))
    };
    let keys: Vec<_> = followed
        .iter()
        .map(|(event, _)| event)
        .filter(|event| has_key(&event.roster, &|id| followed.contains(&((*event).clone(), id))))
        .collect();
    keys.iter().all(|one| {
        keys.iter().all(|other| {
            let is_same = (one.life, one.epoch) == (other.life, other.epoch) && one != other;
            let share = |id: &u8| {
                !scene.dishonest.contains(id)
                    && !state.history.restarted.contains(id)
                    && other.roster.contains(id)
            };
            !(is_same && one.roster.iter().any(share))
        })
    })
}

fn evicts(scene: &Scene, state: &State) -> bool {
    let has_evicted = |me| state.device(me).evicted.keys().any(|&member| member <= scene.members);
    scene.honest().any(|me| state.device(me).is_member() && has_evicted(me))
}

fn agrees(scene: &Scene, state: &State) -> bool {
    let mut honest = scene.honest().filter(|&id| id <= scene.members).map(|id| state.device(id));
    let Some(first) = honest.next() else { return false };
    let is_later = state.history.followed.iter().any(|(event, _)| event.epoch == first.epoch);
    is_later
        && first.is_member()
        && honest.all(|other| {
            (other.life, other.epoch, &other.roster) == (first.life, first.epoch, &first.roster)
        })
}
