//! One signature for all messages of a step ([`hash_tree`](crate::protection::hash_tree)).

use crate::context::state::Context;
use crate::crypto::meter::Primitive;
use crate::outbox::{Channel, Savepoint};
use crate::protection::hash_tree::{HashTree, Root, Salt, leaf_blocks};
use crate::protection::{Identity, Protection};
use crate::wire::{head_length, write_bytes_head};

impl Context<'_> {
    /// Gives the messages since `mark` their tags, if one signature protects them together.
    pub(super) fn sign_together(&mut self, mark: &Savepoint) {
        let Protection::Merkle { identity, .. } = self.protection else { return };
        identity.exists();
        // Each channel has its own tree: what is sent in confidence leaves no hash in the open.
        for channel in [Channel::Confidential, Channel::Open] {
            self.sign_on(channel, mark, identity);
        }
    }

    fn sign_on(&mut self, channel: Channel, mark: &Savepoint, identity: &Identity) {
        let lengths = self.outbox.sent_on(channel, mark).map(<[u8]>::len);
        let blocks: usize = lengths.map(leaf_blocks).sum();
        if blocks == 0 {
            return;
        }
        let salt = self.draw_salt();
        let messages = self.outbox.sent_on(channel, mark);
        let tree = HashTree::new(self.setting.suite, salt, messages);
        self.count_hashes(blocks + tree.inner_nodes() as usize);
        self.probe.record(Primitive::Sign, Root::BYTES);
        let signature = identity.sign(&self.setting.signed_root(&tree.root()));
        let length = |index| {
            let tag = tree.tag_length(identity.signing(), index);
            head_length(tag as u64) + tag
        };
        self.outbox.append(channel, mark, length, |index, item| {
            let (head, tag) =
                item.split_at_mut(item.len() - tree.tag_length(identity.signing(), index));
            write_bytes_head(tag.len(), head);
            tree.write_tag(index, signature.as_ref(), tag);
        });
    }

    fn draw_salt(&mut self) -> Salt {
        self.probe.record(Primitive::Random, Salt::BYTES);
        let mut salt = Salt::default();
        self.rng.fill_bytes(&mut salt.0);
        salt
    }

    pub(super) fn count_hashes(&mut self, blocks: usize) {
        for _ in 0..blocks {
            self.probe.record(Primitive::Hash, 1);
        }
    }
}
