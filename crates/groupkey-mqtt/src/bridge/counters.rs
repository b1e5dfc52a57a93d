//! What a bridge counts.

/// Messages by what became of them. Counters only grow, and start at zero with the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeCounters {
    /// Left for the group, each counted once.
    pub sent: u64,
    /// Left for the group once more.
    pub repeated: u64,
    /// Acknowledged to the local broker, because the group has them.
    pub confirmed: u64,
    /// Lost at QoS 0, because the window was full.
    pub dropped: u64,
    /// Too long for a group message.
    pub too_long: u64,
    /// Not taken from the local broker, because a bridge had published them.
    pub looped: u64,
    /// Not taken from the local broker, because no rule names their topics.
    pub not_leaving: u64,
    /// Came from the group and were handed to the local broker.
    pub received: u64,
    /// Acknowledged by the local broker.
    pub delivered: u64,
    /// Came from the group once more.
    pub duplicates: u64,
    /// Came from the group after one that is missing, or while there was no room.
    pub out_of_order: u64,
    /// Not published, because no rule lets them in.
    pub denied: u64,
    /// Not published yet, because their sender is not known.
    pub unknown: u64,
    /// Refused by the local broker for good.
    pub refused: u64,
    /// Group messages that no bridge has sent.
    pub foreign: u64,
}

impl BridgeCounters {
    /// Returns the counters with their names.
    pub fn named(&self) -> [(&'static str, u64); 15] {
        self.described().map(|(name, _, count)| (name, count))
    }

    /// Returns the counters with their names and what each counts.
    pub const fn described(&self) -> [(&'static str, &'static str, u64); 15] {
        // The code does not compile until a new counter is named here.
        let &Self {
            sent,
            repeated,
            confirmed,
            dropped,
            too_long,
            looped,
            not_leaving,
            received,
            delivered,
            duplicates,
            out_of_order,
            denied,
            unknown,
            refused,
            foreign,
        } = self;
        [
            ("sent", "Messages that left for the group, each counted once.", sent),
            ("repeated", "Messages that left for the group once more.", repeated),
            ("confirmed", "Messages that were acknowledged to the local broker.", confirmed),
            ("dropped", "Messages at QoS 0 that were lost because the window was full.", dropped),
            (
                "too_long",
                "Messages that were lost because they do not fit into a group message.",
                too_long,
            ),
            ("looped", "Messages that stayed because a bridge had published them.", looped),
            ("not_leaving", "Messages that stayed because no rule lets them out.", not_leaving),
            (
                "received",
                "Messages that came from the group and were handed to the local broker.",
                received,
            ),
            ("delivered", "Messages from the group that the local broker has.", delivered),
            ("duplicates", "Messages that came from the group once more.", duplicates),
            (
                "out_of_order",
                "Messages that came too early, or while there was no room.",
                out_of_order,
            ),
            ("denied", "Messages that no rule lets in.", denied),
            ("unknown", "Messages whose sender had not introduced itself yet.", unknown),
            ("refused", "Messages that were lost because the local broker refused them.", refused),
            ("foreign", "Group messages that no bridge had sent.", foreign),
        ]
    }
}
