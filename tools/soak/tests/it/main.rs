//! Soaks: what a dishonest member must not achieve, and processes that die anywhere.

mod dishonest;
mod kills;
