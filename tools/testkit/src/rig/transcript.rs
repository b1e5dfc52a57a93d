//! The short life of a group as a few bytes, which are the same on every platform.

use groupkey::Operation;
use groupkey::catalogue::Scheme;
use sha2::{Digest, Sha256};

use crate::rig::report::{OperationReport, RigError};
use crate::rig::state::{Rig, Settings};

/// Returns the hash of all messages and keys of a small group of this scheme. The group is created,
/// adds a member, evicts one, renews its key and sends, as far as the scheme supports it.
pub fn transcript(scheme: &'static Scheme, settings: Settings) -> Result<[u8; 32], RigError> {
    const MEMBERS: u32 = 4;
    let mut rig = Rig::new(scheme, settings);
    let mut hash = Sha256::new();
    for operation in
        [Operation::Create, Operation::Add, Operation::Remove, Operation::Rekey, Operation::Send]
    {
        if !scheme.operations.contains(&operation) {
            continue;
        }
        let OperationReport { messages, deployment, .. } = match operation {
            Operation::Create => rig.create(MEMBERS)?,
            Operation::Add => rig.add(MEMBERS)?,
            Operation::Remove => rig.remove(1)?,
            Operation::Rekey => rig.rekey()?,
            _ => rig.send(0)?,
        };
        for message in deployment.iter().chain(&messages) {
            hash.update((message.bytes.len() as u64).to_be_bytes());
            hash.update(&message.bytes);
        }
        // Some schemes have a key only after a member has sent.
        if let Ok(key) = rig.agreed_key() {
            hash.update(key.as_bytes());
        }
    }
    rig.agreed_key()?;
    Ok(hash.finalize().into())
}
