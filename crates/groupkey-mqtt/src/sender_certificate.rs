//! Certificates of senders: the service says which public key a member's messages are signed with.
//!
//! Members of a group with a service do not know each other. Each gets a certificate with its
//! welcome, and shows it in its messages ([`Messenger::introduce`]).
//!
//! ```text
//! certificate:  public key (32 bytes), signature (64 bytes)
//! ```
//!
//! The service signs the group's context, the member's number and the key. The context is that of one
//! founding, in which a number never belongs to two keys. So a certificate needs no date: new hardware
//! under an old name has another number, and an evicted member has no group key.
//!
//! [`Messenger::introduce`]: groupkey::messages::Messenger::introduce

use alloc::vec::Vec;

use groupkey::{GroupContext, MemberId};

use crate::keyring::{self, Secret};

/// Signs the certificate of a member's key, in the group of this context.
pub(crate) fn certify(
    group: &GroupContext,
    member: MemberId,
    public: &[u8; 32],
    service: &Secret,
) -> [u8; 64] {
    service.sign(SENDER, &[group.as_bytes(), &member.0.to_be_bytes(), public])
}

pub(crate) fn certificate(public: &[u8; 32], signature: &[u8; 64]) -> Vec<u8> {
    [&public[..], signature].concat()
}

/// Returns the key that the service certified for a member, if this is its certificate.
pub(crate) fn certified(
    certificate: &[u8],
    group: &GroupContext,
    member: MemberId,
    service: &[u8; 32],
) -> Option<[u8; 32]> {
    let (public, signature) = certificate.split_first_chunk()?;
    let parts: [&[u8]; 3] = [group.as_bytes(), &member.0.to_be_bytes(), public];
    keyring::verifies(service, SENDER, &parts, signature.try_into().ok()?).then_some(*public)
}

const SENDER: &str = "groupkey sender 1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_for_one_member_and_key_in_one_founding() {
        let [service, other] = [1, 2].map(|byte| Secret::from_bytes([byte; 32]));
        let (group, elsewhere) = (GroupContext::of(&[b"a"]), GroupContext::of(&[b"b"]));
        let signature = certify(&group, MemberId(5), &[3; 32], &service);
        let genuine = certificate(&[3; 32], &signature);
        let read = |bytes: &[u8], group, member, service: &Secret| {
            certified(bytes, group, MemberId(member), &service.public())
        };
        assert_eq!(read(&genuine, &group, 5, &service), Some([3; 32]));
        assert_eq!(read(&genuine, &elsewhere, 5, &service), None);
        assert_eq!(read(&genuine, &group, 6, &service), None);
        assert_eq!(read(&genuine, &group, 5, &other), None);
        for place in 0..genuine.len() {
            let mut changed = genuine.clone();
            changed[place] ^= 1;
            assert_eq!(read(&changed, &group, 5, &service), None);
            assert_eq!(read(&genuine[..place], &group, 5, &service), None);
        }
    }
}
