//! The life of a small group of devices.

use std::collections::VecDeque;

use groupkey::catalogue::{self, Profile};
use groupkey::device::{Device, Group, Keys};
use groupkey::{Command, Error, GroupId, Instance, MemberId, PartyId, Suite};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

/// The schemes: a star, and a tree.
pub const SCHEMES: [&str; 2] = ["skdc", "lkh-group"];

/// Three members join and one of them is evicted. Every message passes through `carry`, which says
/// what arrives in its place. Returns the keys that the devices have in the end, in hexadecimal
/// digits.
pub fn exchange(
    scheme: &str,
    suite: Suite,
    mut carry: impl FnMut(Vec<u8>) -> Vec<u8>,
) -> Result<Vec<String>, Error> {
    let scheme = catalogue::scheme(scheme).expect("its family was compiled in");
    let configuration = scheme.configuration(Profile::Sound);
    let group = Group { configuration, suite, id: GroupId(1), instance: Instance([5; 16]) };
    let (keys, rng) = (|| Keys::mac([7; 32]), |seed| ChaCha20Rng::from_seed([seed; 32]));
    let gateway = Device::controller(&group, keys(), rng(9)).expect("the class has one");
    let ids = [0, 1, 2].map(MemberId);
    let members = ids.map(|id| Device::member(&group, id, keys(), rng(id.0 as u8)));
    let mut devices: Vec<_> = [gateway].into_iter().chain(members).collect();
    devices[0].command(Command::Enroll(&ids), 0)?;
    let enrolments: Vec<_> = devices[0].confidential().collect();
    for (to, bytes) in enrolments {
        let bytes = carry(bytes.to_vec());
        for device in devices.iter_mut().filter(|device| to.includes(device.me(), |_| true)) {
            device.receive_confidential(&bytes, 0)?;
        }
    }
    for command in [Command::Create(&ids[..2]), Command::Add(ids[2]), Command::Remove(ids[0])] {
        devices[0].command(command, 0)?;
        let mut sent: VecDeque<_> = devices[0].outgoing().collect();
        while let Some((to, bytes)) = sent.pop_front() {
            let bytes = carry(bytes);
            let members = devices.iter_mut().filter(|device| device.me() != PartyId::Controller);
            for device in members.filter(|device| to.includes(device.me(), |_| true)) {
                // Who has not joined yet, or was evicted, hears what is not for it.
                let heard = device.receive(&bytes, 0);
                if device.me() == ids[1].into() {
                    heard?;
                }
            }
        }
    }
    Ok(devices
        .iter()
        .map(|device| match device.group_key() {
            Some((epoch, key)) => format!("{epoch} {}", hexadecimal(key.as_bytes())),
            None => String::from("none"),
        })
        .collect())
}

/// Returns two digits for each byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
