//! Rules that the broker breaks on request. With them, tests show that each check of the probe can
//! fail.

/// A rule that the broker breaks.
#[cfg_attr(not(test), expect(dead_code, reason = "only the tests of the probe break rules"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    AnnouncesNothingUnderWay,
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
