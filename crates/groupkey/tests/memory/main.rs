//! What parties ask the allocator for. A program of its own, because the allocator that counts is one for
//! all threads, and one test, because a thread that ends gives memory back.

mod fleet;
mod sponsor;

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn parties_ask_for_little_memory() {
    sponsor::the_sponsor_of_a_join_works_on_its_path_only();
    fleet::controllers_hold_little_but_keys();
}
