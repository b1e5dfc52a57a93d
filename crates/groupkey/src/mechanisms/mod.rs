//! The mechanisms that schemes are built of: one per module, under the name that the field uses.
//!
//! | module | what it is | used by |
//! |---|---|---|
//! | `key_server` | enrolment, individual keys, epochs and catching up under a controller | centralized, hybrid |
//! | `key_tree` | a tree of key-encryption keys in flat arrays, and the update of a path | LKH and its kin |
//! | `masking` | a key masked by hashes instead of wrapped | SBSA-R, XFKS-R |
//! | `subset_cover` | disjoint subsets of slots, each with a key, for members that miss messages | CS, SD, LSD |
//! | `star` | the group key sent to each member in a message of its own | SKDC, SBSA-R |
//! | `sorted_records` | records of a message, found by binary search | key trees, DEP, Iolus |
//! | `subgroup` | domains, subgroups and their controllers | hybrid |
//! | `membership` | the ordered roster, its changes, rounds of messages | distributed |
//! | `gdh` | partial keys of group Diffie-Hellman | GDH.2, GDH.3 |
//! | `confirmation` | 16 bytes under the new group key | Boneh+, SGCSH, GDH |
//! | `dh_tree` | a tree of Diffie-Hellman keys | TGDH, STR, DH-LKH |
//! | `member_tree` | a tree whose inner nodes members manage | D-LKH, D-OFT |
//! | `ratchet_tree` | the tree of MLS, with blank nodes and unmerged leaves | TreeKEM |
//! | [`sponsored`] | changes that one member makes for all: who sponsors, joins and stays, what joining members announce | TreeKEM, the MLS libraries |
//! | [`event_order`] | one order of joins and leaves without a controller | distributed |

#[cfg(any(feature = "centralized", feature = "distributed"))]
pub(crate) mod confirmation;
#[cfg(feature = "distributed")]
pub(crate) mod dh_tree;
#[cfg(feature = "distributed")]
pub mod event_order;
#[cfg(feature = "distributed")]
pub(crate) mod gdh;
#[cfg(any(feature = "centralized", feature = "hybrid"))]
pub(crate) mod key_server;
#[cfg(feature = "centralized")]
pub(crate) mod key_tree;
#[cfg(feature = "centralized")]
#[cfg(feature = "research")]
pub(crate) mod masking;
#[cfg(feature = "distributed")]
pub(crate) mod member_tree;
#[cfg(feature = "distributed")]
pub(crate) mod membership;
#[cfg(feature = "distributed")]
pub(crate) mod ratchet_tree;
#[cfg(any(feature = "centralized", feature = "hybrid"))]
pub(crate) mod sorted_records;
#[cfg(feature = "distributed")]
pub mod sponsored;
#[cfg(feature = "centralized")]
pub(crate) mod star;
#[cfg(feature = "hybrid")]
pub(crate) mod subgroup;
#[cfg(feature = "centralized")]
pub(crate) mod subset_cover;
