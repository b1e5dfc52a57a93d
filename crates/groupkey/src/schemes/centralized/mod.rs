//! Schemes with one controller that hands out keys.

pub mod boneh;
pub mod cfkm;
pub(crate) mod enrolment;
pub mod gkmp;
pub(crate) mod hash_chains;
pub(crate) mod individual_keys;
pub(crate) mod key_server;
pub(crate) mod key_tree;
pub mod lkh;
pub mod lkh_plus;
pub(crate) mod masking;
pub mod nishat;
pub mod ofct;
pub mod oft;
pub(crate) mod path_update;
pub mod s2rp;
pub mod sbsa_r;
pub mod sgcsh;
pub mod skdc;
pub(crate) mod slot_index;
pub(crate) mod sorted_records;
pub(crate) mod whole_tree;
pub mod xfks_r;

/// Room for this many members at once, and for some who come after them one by one: else everything
/// moves for the first of those. A controller's memory is mostly this, so it is little more.
const fn room_for(members: usize) -> usize {
    members + members / 64 + 1
}
