//! The example in `docs/product.md` runs.

mod example {
    include!("../examples/orchestrator.rs");

    pub(super) fn run() -> Result<(), ChooseError> {
        main()
    }
}

#[test]
fn the_example_of_the_page_decides() {
    assert_eq!(example::run(), Ok(()));
}
