//! The example does what it says.

#[path = "../examples/member.rs"]
mod member;

#[test]
fn the_example_runs_to_its_end() {
    member::main().unwrap();
}
