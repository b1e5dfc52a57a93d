//! Rules that a broker can break on request: each check of the probe must be able to fail.

/// The rule that is broken.
#[cfg_attr(not(test), expect(dead_code, reason = "only the tests of the probe break rules"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    AnyFirstPacket,
    AnyLength,
    BothConnectionsKept,
    ClosesOnUnknownPubrel,
    DeliversTwice,
    DropsQueued,
    EmptyRetained,
    ForgetsReceived,
    ForgetsSessions,
    ForwardsRepeats,
    IdentifierKept,
    LargeCutShort,
    MessagesNeverExpire,
    OldSessionKept,
    PacketMaximumIgnored,
    PublishAfterPubrec,
    ReceiveMaximumIgnored,
    Reorders,
    RepeatsUnmarked,
    SecondConnect,
    SessionsNeverExpire,
    SubscriptionsQos,
    WillAfterDisconnect,
    WillNever,
}
