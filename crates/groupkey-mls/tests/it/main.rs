//! Groups of both libraries, held against what the crate's header and the contract say.

mod costs;
mod histories;
