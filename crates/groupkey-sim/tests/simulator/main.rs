//! The simulator as its callers see it: the network, what travels over it, and groups on it.

mod ahead;
mod delivery;
mod group;
mod network;
mod reconnection;
mod table;
