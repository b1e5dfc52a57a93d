//! The energy that an operation takes of members, at the prices at which `choose` compares candidates.

use groupkey::{MemberId, PartyId};
use groupkey_choose::device::{DevicePrices, OnAir, RadioPrices};
use groupkey_sim::PacketLoad;
use groupkey_sim::group::{Carrier, PartyLoad, SimulatedGroup};

use crate::choose::prices;
use crate::plan::Plan;

/// What the members' devices take. `None` stands for a device whose power is not known.
pub(super) struct MemberPrices<'a> {
    plan: &'a Plan,
    usual: Option<DevicePrices>,
    /// In the order of the plan's exceptions.
    exceptions: Vec<Option<DevicePrices>>,
}

impl<'a> MemberPrices<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        Self {
            plan,
            usual: prices(&plan.device),
            exceptions: plan.exceptions.iter().map(|one| prices(&one.device)).collect(),
        }
    }

    /// Returns the mean energy of a member in the group's last operation (J): of its computation and
    /// of its radio, which wakes once, retransmissions included. Waiting is idling, which is not
    /// counted. `None` if the power of a member is not known, or the network does not count by
    /// members.
    pub(super) fn mean_joule<C: Carrier>(&self, group: &SimulatedGroup<C>) -> Option<f64> {
        let (mut members, mut joule) = (0_u32, 0.0);
        for load in group.loads() {
            if let PartyId::Member(member) = load.party {
                members += 1;
                joule += energy(self.device_of(member)?, &load)?;
            }
        }
        (members > 0).then(|| joule / f64::from(members))
    }

    fn device_of(&self, MemberId(number): MemberId) -> Option<&DevicePrices> {
        let mut exceptions = self.plan.exceptions.iter().zip(&self.exceptions).rev();
        let exception = exceptions.find(|(exception, _)| exception.numbers.contains(&number));
        exception.map_or(&self.usual, |(_, prices)| prices).as_ref()
    }
}

/// Returns the energy of one party (J), if the power of its device is known.
fn energy(device: &DevicePrices, load: &PartyLoad) -> Option<f64> {
    let (watt, _) = device.active?;
    let computation = load.computation_ns as f64 * 1e-9 * watt;
    let on_air = device.radio.as_ref().map_or(0.0, |radio| {
        let is_silent = load.sent.packets + load.received.packets == 0;
        let waking = if is_silent { 0.0 } else { radio.waking(0.0).0 };
        waking + air(load.sent, radio.send, radio) + air(load.received, radio.receive, radio)
    });
    Some(computation + on_air)
}

/// Returns the energy of packets on the air (J), each as long as their mean.
fn air(count: PacketLoad, price: OnAir, radio: &RadioPrices) -> f64 {
    if count.packets == 0 {
        return 0.0;
    }
    let (packets, bytes) = (count.packets as f64, count.bytes as f64);
    let of_radio = packets * (bytes / packets / radio.packet).ceil();
    price.energy(of_radio, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computing_and_packets_cost_what_the_device_says() {
        let device = DevicePrices {
            name: "a test".to_owned(),
            prices: std::collections::BTreeMap::new(),
            packets: (0.0, 0.0),
            active: Some((0.02, 0.0)),
            radio: Some(RadioPrices {
                name: "a test".to_owned(),
                packet: 100.0,
                send: OnAir { per_packet: 1e-5, per_byte: 1e-6, error: 0.0 },
                receive: OnAir { per_packet: 2e-5, per_byte: 0.0, error: 0.0 },
                wake: Some((1e-3, 0.0)),
                tail: Some((2.0, 0.5, 0.0)),
                is_assumed: true,
            }),
            counts: None,
            capacity: None,
            source: "assumed: a test".to_owned(),
        };
        let load = PartyLoad {
            party: PartyId::Controller,
            computation_ns: 5_000_000,
            sent: PacketLoad { packets: 2, bytes: 150 },
            received: PacketLoad { packets: 1, bytes: 250 },
        };
        // 5 ms at 20 mW; two packets of 75 bytes; one of 250 bytes, which takes three of the radio;
        // the radio wakes, and stays awake for 2 s.
        let expected = 1e-4 + (2e-5 + 1.5e-4) + 6e-5 + (1e-3 + 1.0);
        assert!((energy(&device, &load).unwrap() - expected).abs() < 1e-12);
        let silent =
            PartyLoad { sent: PacketLoad::default(), received: PacketLoad::default(), ..load };
        assert_eq!(energy(&device, &silent), Some(1e-4));
        assert_eq!(energy(&DevicePrices { active: None, ..device }, &silent), None);
    }
}
