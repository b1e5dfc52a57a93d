//! A bridge between programs that speak MQTT in clear and a group.
//!
//! Programs publish and subscribe at a **local** broker as ever. The bridge is a member of a group
//! at the group's broker. It protects what leaves, with its topic, and opens what comes in
//! ([`bridge_message`]). [`TopicRules`] say what may pass. A message is acknowledged to the local
//! broker when the other side has it ([`sending`]), so a kill of any process loses none. ADR 38 gives
//! the reasons.

pub mod bridge_message;
pub mod counters;
pub mod introductions;
mod local_broker;
pub mod party;
pub mod reading;
pub mod receiving;
pub mod rules;
pub mod sending;
pub mod station;
pub mod topic_filter;

pub use self::counters::BridgeCounters;
pub use self::reading::{SideReading, StationProbe, StationQuestions, StationReading};
pub use self::rules::{AllowedSenders, InwardRule, InwardRuling, TopicRules};
pub use self::station::{StationEnd, StationEvent, StationSettings, serve};
pub use self::topic_filter::TopicFilter;
