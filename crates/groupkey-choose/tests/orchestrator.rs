//! The example in `docs/product.md` runs.

#[path = "../examples/orchestrator.rs"]
mod example;

#[test]
fn the_example_of_the_page_decides() {
    assert_eq!(example::main(), Ok(()));
}
