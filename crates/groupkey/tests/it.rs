//! The library's tests of whole groups: one program, so that they share the processors and are linked once.

mod laws;
mod schemes;
