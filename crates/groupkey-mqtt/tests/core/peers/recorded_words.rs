//! Recordings of what operators said.

use super::*;

/// The fourth peer was evicted, and let in again by a ticket. Then all restart, so the group is
/// founded anew and its epochs begin again. The word that evicted the peer counts once more.
#[test]
fn a_recorded_word_evicts_again_once_the_group_is_founded_anew() {
    let rules = Rules { evict: Evict::Operators, join: Join::Listed };
    for scheme in SCHEMES {
        let mut circle = Circle::ruled(scheme, rules, |_, _| false);
        circle.run_until(20 * SECOND);
        circle.now = 20 * SECOND;
        circle.arrive(4);
        circle.run_until(40 * SECOND);
        circle.now = 40 * SECOND;
        let evicts = Publish {
            id: 0,
            topic: "circle/all".into(),
            payload: word(scheme, |cx| event_order::eviction(cx, Epoch(2), FOUR, Epoch(3))),
            retain: false,
            expiry: None,
        };
        circle.on_the_way.push_back(evicts.clone());
        circle.run_until(60 * SECOND);
        assert_eq!(circle.keys()[3], None, "{scheme}");
        let ticket = word(scheme, |cx| event_order::ticket(cx, Epoch(3), FOUR, &[]));
        circle.words.insert(4, vec![ticket]);
        circle.now = 60 * SECOND;
        circle.arrive(4);
        circle.run_until(100 * SECOND);
        circle.assert_agreed();
        circle.on_the_way.push_back(evicts.clone());
        circle.run_until(100 * SECOND);
        circle.assert_agreed();
        circle.peers.clear();
        circle.now = 100 * SECOND;
        (1..=4).for_each(|number| circle.arrive(number));
        circle.run_until(300 * SECOND);
        circle.assert_agreed();
        circle.on_the_way.push_back(evicts);
        circle.run_until(600 * SECOND);
        assert_eq!(circle.keys()[3], None, "{scheme}");
    }
}
