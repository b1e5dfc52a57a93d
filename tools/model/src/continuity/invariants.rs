//! What must hold in every state.

use std::collections::BTreeSet;

use stateright::Property;

use super::model::{StoreScene, StoreState};

/// Members were sent one key of each epoch.
pub const ONE_KEY: &str = "one key in each epoch";

/// No two keys are encrypted with one nonce: their exclusive or would be on the wire.
pub const NONCES: &str = "no nonce comes twice";

/// No service begins to act beside another one of whose opening its store does not know, if the
/// broker knew of that opening when it connected.
pub const ALONE: &str = "the second of two copies does not begin";

/// No service begins to act with a store that lacks a key, if a member had been sent that key when it
/// connected.
pub const LATEST: &str = "an old copy does not begin";

/// Members were sent a key that was made after a store was opened again.
pub const CHANGES: &str = "the key changes";

/// The invariants but for those that are known not to hold, and what shows that the search is not
/// empty.
pub fn properties(known: &[&str]) -> Vec<Property<StoreScene>> {
    let mut properties = vec![
        Property::always(ONE_KEY, |_: &StoreScene, state: &StoreState| has_one_key(state)),
        Property::always(NONCES, has_distinct_nonces),
        Property::always(ALONE, |_, state: &StoreState| !state.history.joined_another),
        Property::always(LATEST, |_, state: &StoreState| !state.history.began_behind),
        Property::sometimes(CHANGES, |_, state: &StoreState| !state.wraps.is_empty()),
    ];
    properties.retain(|property| !known.contains(&property.name));
    properties
}

/// A member's own key never changes, so two wraps of one epoch are under one key. With a synthetic
/// nonce two different contents have two different ones.
fn has_distinct_nonces(scene: &StoreScene, state: &StoreState) -> bool {
    scene.mends.synthetic || has_one_key(state)
}

fn has_one_key(state: &StoreState) -> bool {
    let mut epochs = BTreeSet::new();
    state.wraps.iter().all(|(epoch, _)| epochs.insert(epoch))
}
