//! What one signature for all messages of a step adds to counts without protection: `merkle`.
//!
//! The counts say how many messages an operation has, and not which of them one step sends. They
//! do say so where a controller sends all of them at once and nobody answers: that is one step. So
//! this protection is known of such operations alone.
//!
//! Lengths and hashes are those of the wire format (`docs/wire.md`): a tag has 16 bytes for each
//! level of its path and 88 besides, and a hash takes blocks of 64 bytes.

use super::{DeviceRole, Load, PrimitiveCount, Sample, Stage, Uses};

impl Sample {
    /// Returns how many messages the one step of the operation sends; `None` if there are several
    /// steps, or none.
    pub(super) fn messages_of_its_step(&self) -> Option<f64> {
        let [Stage { repeats, senders, messages, sender, .. }] = self.stages[..] else {
            return None;
        };
        let is_alone = repeats == 1.0 && senders == 1.0 && sender == DeviceRole::Controller;
        let others = [&self.busiest, &self.gateway];
        let is_unanswered = others.into_iter().all(|load| load.sent.messages == 0.0);
        (is_alone && is_unanswered && messages >= 1.0).then_some(messages)
    }

    /// Protects the messages of the operation's one step together, by a signature that is so many bytes
    /// longer than one of Ed25519. `None` if there are several steps.
    pub(super) fn protect_together(&mut self, longer: f64) -> Option<()> {
        let tree = StepTree::of(self.messages_of_its_step()?, longer);
        let Self { member, busiest, controller, gateway, stages, finish, largest, .. } = self;
        for load in [member, busiest, controller, gateway] {
            load.protect_together(&tree);
        }
        for stage in stages {
            stage.uses.protect_together(&tree);
            stage.bytes += tree.tag;
        }
        finish.protect_together(&tree);
        if *largest > 0 {
            *largest += tree.longest_tag as u32;
        }
        Some(())
    }
}

impl Load {
    fn protect_together(&mut self, tree: &StepTree) {
        for (open, traffic) in [(Uses::SEND, self.sent), (Uses::RECEIVE, self.received)] {
            if traffic.messages > 0.0 && !self.uses.0.contains_key(open) {
                let count = PrimitiveCount { calls: traffic.messages, amount: traffic.bytes };
                self.uses.0.insert(open.to_owned(), count);
            }
        }
        self.uses.protect_together(tree);
        for traffic in [&mut self.sent, &mut self.received, &mut self.copies] {
            traffic.bytes += tree.tag * traffic.messages;
        }
    }
}

impl Uses {
    fn protect_together(&mut self, tree: &StepTree) {
        let [sent, received] = [Self::SEND, Self::RECEIVE].map(|open| self.0.remove(open));
        let mut add = |primitive: &str, calls: f64, each: f64| {
            let sum = self.0.entry(primitive.to_owned()).or_default();
            sum.calls += calls;
            sum.amount += calls * each;
        };
        if let Some(sent) = sent.filter(|sent| sent.calls > 0.0) {
            add("random", 1.0, SALT);
            add("hash", leaf_blocks(sent) + (sent.calls - 1.0).max(0.0), 1.0);
            add("sign", 1.0, SIGNED);
        }
        if let Some(received) = received.filter(|received| received.calls > 0.0) {
            add("hash", leaf_blocks(received) + received.calls * tree.depth, 1.0);
            add("verify", received.calls, SIGNED);
        }
    }
}

fn leaf_blocks(messages: PrimitiveCount) -> f64 {
    messages.calls * ((messages.amount / messages.calls + LEAF) / 64.0).ceil()
}

/// What is drawn for each tree (bytes).
const SALT: f64 = 16.0;
/// What a signature covers beside the group's context (bytes): salt, number of leaves, root.
const SIGNED: f64 = 36.0;
/// What is hashed beside the message of a leaf (bytes): salt, level and index, and the padding.
const LEAF: f64 = 30.0;
/// A tag without its path: salt, signature of Ed25519, index and number of leaves (bytes).
const WITHOUT_PATH: f64 = 88.0;

/// The hash tree over the messages of a step, and the tags that it gives.
struct StepTree {
    /// Levels between a leaf and the root, on average.
    depth: f64,
    /// Bytes of a tag with its head, on average and at most.
    tag: f64,
    longest_tag: f64,
}

impl StepTree {
    fn of(messages: f64, longer: f64) -> Self {
        let leaves = messages.round().max(1.0) as u64;
        let (mut nodes, mut width, mut passed) = (leaves, 1, 0);
        while nodes > 1 {
            // A node without a sibling moves up as it is: its leaves have one level less.
            let alone = (nodes % 2) * (leaves - (nodes - 1) * width).min(width);
            passed += leaves - alone;
            (nodes, width) = (nodes.div_ceil(2), 2 * width);
        }
        let depth = passed as f64 / leaves as f64;
        let tag = |levels: f64| {
            let bytes = WITHOUT_PATH + longer + 16.0 * levels;
            bytes + if bytes < 256.0 { 2.0 } else { 3.0 }
        };
        let deepest = f64::from(leaves.next_power_of_two().ilog2());
        Self { depth, tag: tag(depth), longest_tag: tag(deepest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_levels_of_its_leaf() {
        let of = |messages: f64| {
            let tree = StepTree::of(messages, 0.0);
            (tree.depth, tree.tag, tree.longest_tag)
        };
        assert_eq!(of(1.0), (0.0, 90.0, 90.0));
        assert_eq!(of(2.0), (1.0, 106.0, 106.0));
        // Of three the last moves up once; of five it does so twice.
        assert_eq!(of(3.0).0, 5.0 / 3.0);
        assert_eq!(of(5.0).0, 13.0 / 5.0);
        assert_eq!(of(8.0), (3.0, 138.0, 138.0));
        // ADR 33: 16 bytes more a level, 14 levels with 10,000 messages.
        assert_eq!(of(10_000.0).2, 88.0 + 16.0 * 14.0 + 3.0);
    }
}
