//! What each scheme costs, in real runs against the formulas of its header, and what it alone claims:
//! a file for each scheme, or for a few of one kind. What holds of all is in `tests/laws`.
//!
//! `cargo test -p groupkey --test it schemes::lnt` runs those of one file.

mod alohali_r;
mod batch;
mod bd;
mod boneh;
mod cfkm;
mod cka;
mod ckd;
mod confirmation;
mod d_lkh;
mod d_oft;
mod dep;
mod dh_tree;
mod elk;
mod fame;
mod gdh;
mod igkmp;
mod iolus;
mod key_servers;
mod key_store;
mod key_tree;
mod kronos;
mod lkh_plus;
mod lnt;
mod marks;
mod nishat;
mod ofct;
mod oft;
mod periods;
mod riseg;
mod s2rp;
mod segcom;
mod sender_keys;
mod sgcsh;
mod stars;
mod subset_cover;
mod tkh;
mod tree_creation;
mod treekem;

// What several of these files say alike.
mod counts;
mod distributed;
mod handing_on;
mod slots;
mod subgroups;
mod table;
