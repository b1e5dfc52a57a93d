//! What the sponsor of a join does grows with the height of the tree, and with nothing else: neither
//! what it computes, nor what it sends, nor the memory that it asks for.

#[path = "../benches/sponsor/mod.rs"]
mod member;

use std::alloc::System;

use groupkey::crypto::meter::Primitive;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::member::Sponsor;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// About as many, seen from the next power of two.
const SIZES: [(u32, u64); 3] = [(55, 6), (860, 10), (55_000, 16)];

#[test]
fn the_sponsor_of_a_join_works_on_its_path_only() {
    for (members, height) in SIZES {
        let mut sponsor = Sponsor::among(members);
        let region = Region::new(ALLOCATOR);
        sponsor.sponsor();
        let allocated = region.change().bytes_allocated as u64;
        let meter = sponsor.meter;
        let sent: Vec<_> = sponsor.outbox.messages().map(|message| message.body_bytes).collect();
        println!("{members} members: {sent:?} bytes sent, {allocated} allocated");
        assert_eq!(meter.exponentiations(), 2 * height, "{members} members");
        // The joining member's once more, when it comes.
        assert_eq!(meter.tally(Primitive::CheckElement).calls, height + 1, "{members} members");
        // The path but for the root, in a byte string; no confirmation.
        let length = 32 * height as usize;
        assert_eq!(sent, [length + if length < 256 { 2 } else { 3 } + 1], "{members} members");
        assert!(allocated < 2_000 * height, "{members} members: {allocated} bytes");
        // A hash for each secret and each node of the path, and the key; each of little.
        let hashes = meter.tally(Primitive::Derive);
        assert_eq!(hashes.calls, (height - 1) + (height + 2) + 1, "{members} members");
        assert!(hashes.amount < 250 * height, "{members} members: {hashes:?}");
    }
}
