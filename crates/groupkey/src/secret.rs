//! Secret keys: wiped when dropped, compared in constant time, never printed.

mod key;
mod list;

pub use self::key::Key;
pub(crate) use self::list::List;
