//! BD (Burmester and Desmedt): members in a circle. Each sends two broadcasts of one element, and
//! all do the same work.
//!
//! Source: Burmester and Desmedt, EUROCRYPT 1994; authentication after Katz and Yung, CRYPTO 2003.
//! Class: distributed. Provenance: reconstructed: the originals could not be read; elements and key
//! are the published ones, layouts are ours.
//!
//! Members `M_1 .. M_n` form a circle, indices are modulo n, `r_i` is a secret exponent. The key
//! is derived from `K = g^(r_1 r_2 + r_2 r_3 + .. + r_n r_1)`, which `M_i` computes without small
//! exponents: `T_0 = Z_i-1^r_i`, `T_j = T_j-1 X_i+j-1`, `K = T_0 T_1 .. T_n-1`.
//!
//! | create, or any other event that leads to n members | messages | elements sent | each member: exponentiations; products; quotients; checks |
//! |---|---|---|---|
//! | sound, n > 2 | 4n broadcasts in 4 rounds | 2n | 3; 2n - 1; 1; n + 1 |
//! | published, n > 2 | 2n broadcasts in 2 rounds | 2n | 3; 2n - 2; 1; n + 1 |
//! | sound, n = 2 | 6 broadcasts in 3 rounds | 2 | 2; 1; 0; 1 |
//! | published, n = 2 | 2 broadcasts in 1 round | 2 | 2; 1; 0; 1 |
//!
//! Every event is a new run among the members after it, and all of them draw again. The source has
//! no other operation, and Kim, Perrig and Tsudik 2004 (table 1) count it like this. Keys held: 1,
//! the group key. The exponent is wiped when the run ends. Profiles: in `published` there are no
//! nonces and no confirmation, the product of all `X_i` is not checked, and elements are not
//! checked to be in the subgroup.
//!
//! ```text
//! NONCE,   M_i to all, sound:   [roster,] N_i, 16 bytes
//! SHARE,   M_i to all:          [roster or session,] Z_i = g^r_i
//! RATIO,   M_i to all, n > 2:   [session,] X_i = (Z_i+1 / Z_i-1)^r_i
//! CONFIRM, M_i to all, sound:   a MAC of M_i's id under a key derived from K, 16 bytes
//! ```
//!
//! When a member joins, the first message of each member carries the roster. The new member learns
//! the roster from the first of these messages, and only then sends its own. In a merger the
//! members are ordered by ascending id. `session` is in the sound profile only: a digest of group,
//! epoch, members and all nonces. With it a signed message says for which run it was signed, as
//! Katz and Yung have it, and not only for which epoch. Every group begins with epoch 1, even a
//! group that is created again under an old name. The group key is taken once every member has
//! confirmed it. So a member that cheats cannot leave the others with different keys.
//!
//! Deviations: with two members `X_i` would be the identity, so it is not sent. A member looks only
//! at the shares of its two neighbours. Equal shares of the neighbours are refused. The group key
//! is derived from `K`. Signatures are the messages' protection, not part of the body. A member
//! that misses a run cannot catch up, and a run needs every member awake.

mod run;

use alloc::boxed::Box;

use self::run::Run;
use crate::mechanisms::membership::agreement;
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Claims, Provenance, Recovery, Scheme};

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "bd",
    "BD, Burmester-Desmedt in a circle",
    Provenance::Reconstructed,
    "Burmester and Desmedt 1994; Katz and Yung 2003",
    Recovery::Rejoin,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(CONTRIBUTORY)
.with_claims(Claims::ALL)
.with_published_claims(Claims { agreement: false, ..Claims::ALL })
.with_growth(&[
    Growth::of(Role::Member, Form::Linear, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &Operation::MEASURED),
]);

pub(crate) type Member = agreement::AgreementMember<Run>;
