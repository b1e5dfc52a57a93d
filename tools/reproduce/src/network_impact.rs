//! The network-impact study (Prantl et al. 2024, Discover Data, doi 10.1007/s44248-024-00015-1;
//! S000): the effects of packet loss and delay on five schemes. The module has all settings of the
//! study, every value that it prints, and tests of its findings.

mod findings;
mod rows;

use std::collections::BTreeMap;
use std::sync::Arc;

use groupkey::catalogue::{self, Profile};
use groupkey::crypto::meter::Primitive;
use groupkey::protection::Guard;
use groupkey::{Operation, Suite};
use groupkey_lab::conditions::Conditions;
use groupkey_lab::device::{DeviceProfile, PrimitiveCost};
use groupkey_lab::plan::{Plan, PlanStep};
use groupkey_lab::report::{Calibration, PublishedValue, TimeQuantity};
use groupkey_lab::results::NetworkRow;
use groupkey_lab::statistics::sequential::looks;

use crate::network_impact::findings::open;
use crate::provenance::sets_a_price;
use crate::published::{self, Value};

pub use self::findings::{verdicts, verdicts_by};

/// What the study is about, in a line.
pub const TITLE: &str = "What delay and loss cost a group key";

/// Where it was published.
pub const SOURCE: &str = "T. Prantl, P. Amann, C. Krupitzer, S. Engel, A. Bauer, S. Kounev: Network \
    impact analysis on the performance of Secure Group Communication schemes with focus on IoT, \
    Discover Data (2024), doi 10.1007/s44248-024-00015-1";

/// Returns all settings of the study, each to be run this many times (the study: 30).
pub fn plans(runs: u32, seed: u64) -> Vec<Plan> {
    let setup = published::network_impact().setup;
    let member = Arc::new(built_in(MEMBER));
    let controller = Arc::new(built_in(CONTROLLER));

    let sizes = |scheme| match scheme {
        GDH => &setup.group_sizes_distributed,
        _ => &setup.group_sizes_centralized,
    };
    let mut plans = Vec::new();
    for id in SCHEMES {
        for &members in sizes(id) {
            for &delay_ms in &setup.delay_ms {
                for &loss_percent in &setup.packet_loss_percent {
                    let scheme =
                        catalogue::scheme(id).expect("the catalogue has the study's schemes");
                    let mut plan = Plan {
                        profile: Profile::Published,
                        suite: Suite::Published,
                        protection: Guard::Mac,
                        steps: PlanStep::history(scheme, &Operation::MEASURED),
                        qos: setup.mqtt_qos,
                        device: Arc::clone(&member),
                        controller_device: Arc::clone(&controller),
                        runs,
                        seed,
                        ..Plan::new(scheme, members)
                    };
                    plan.set_conditions(Conditions::of(loss_percent, delay_ms));
                    plans.push(plan);
                }
            }
        }
    }
    plans
}

/// Returns every value that the study prints, beside the rows' value in the same setting.
pub fn compare(rows: &[NetworkRow]) -> Vec<PublishedValue> {
    let values = published::network_impact().values();
    values.into_iter().map(|value| set_beside(value, rows)).collect()
}

/// Returns every number that was set: the costs on the study's two devices.
pub fn calibration() -> Vec<Calibration> {
    let mut all = Vec::new();
    for device in [built_in(CONTROLLER), built_in(MEMBER)] {
        let mut add = |name: &str, value: String, source: &str| {
            let name = format!("{}: {name}", device.name);
            all.push(Calibration { name, value, source: source.to_owned() });
        };
        let processing = &device.processing;
        for (name, time) in [
            ("received PUBLISH", &processing.publish),
            ("received acknowledgement", &processing.acknowledgement),
            ("reading a payload", &processing.payload_handling),
        ] {
            add(name, time_words(time.ns as f64), &time.source);
        }
        let costs = device.costs(Suite::Published).expect("a test runs the study's plans");
        for primitive in Primitive::ALL {
            let cost = costs.of(primitive);
            add(primitive.name(), cost_words(primitive, cost), &cost.source);
        }
    }
    all
}

/// Returns what the reproduction assumes, one paragraph each.
pub fn assumptions() -> Vec<String> {
    [
        "Loss and delay act on the link of every client, the controller's too, in both directions, \
         on every packet independently: pure acknowledgements included (S000 section 5.1 says that \
         they act on each client, not on which packets).",
        "A QoS 2 message is handed over at PUBREL, by the broker and by the subscriber: six one-way \
         delays from publisher to subscriber, which is what the published G-DH figures fit.",
        "A client reads a payload beside the rest of the QoS 2 exchange, so that a delay of 100 ms \
         hides the time that reading takes. Were it not so, G-DH creation with 20 members would take \
         2.3 % longer at 100 ms than published.",
        "The time of a join or leave begins when the controller, or in G-DH the last member, acts. \
         S000 section 4 has a member send a request before that but does not say whether its time \
         counts; that SKDC joins are reported as very similar to creation, and G-DH leaves as half of \
         joins, speaks against it. Counted (net --request 48), it adds one message time to the joins \
         and leaves of every centralized scheme: 600 ms at 100 ms delay.",
        "A removed member is one in the middle, and a group is first created, then joined, then \
         left, with a minute's rest in between, after which TCP starts again with its initial window.",
        "There is no limit of messages in flight: a window of 20 would alone take 4 s for 200 \
         messages at 100 ms, more than the 2.4 s published for SKDC with loss.",
        "The G-DH of S000 is GDH.2 whose last member hands the partial keys back from member to \
         member: the only variant that fits 38 messages one after the other and joins and leaves \
         that do not depend on the group's size.",
        "Times of symmetric operations are assumed, because S000 prints none. They matter little: \
         without any on the controller, the calibrated time of a packet would be 0.23 ms instead of \
         0.20 ms. S000 section 5.2.3 reports up to just over 1 s of a key server's time for a leave, \
         which these times do not reach.",
        "TCP is that of a present Linux with its defaults; what S000 ran on, it does not say.",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Describes the method, one paragraph each.
pub fn method() -> Vec<String> {
    [
        "Every party runs the library's own code with real keys; what it sends is what would go over \
         the wire. The network between the parties is simulated: links, TCP, MQTT sessions and one \
         broker, in virtual time. A step of a party takes as long as its counted primitive \
         operations take on the device, as a pause, which is how ComBench does it (S000 section 4).",
        "The time of an operation runs from the command to act until the last current member has the \
         new key. The part of it spent computing on the way to that \
         member is told apart; the rest is transmission. The mean over members of the time at which \
         each had the key stands beside it: S000 does not say which of the two it reports, and under \
         loss the last of many members is far later than most.",
        "Three constants were solved so that published values come out: the time of a packet at \
         broker and controller (SKDC creation, 200 members, no loss, no delay), the time to read a \
         payload (transmission of G-DH creation, 20 members, no loss, no delay), and the time of an \
         exponentiation on a member (computation of G-DH creation, 20 members). Everything else is \
         a prediction; the values that come out by construction are marked.",
        "A comparison of two settings is decided by Welch's test. Its error of 5 % is spent over \
         up to four looks (Lan and DeMets 1983, as Pocock): where a comparison is open and the outcome \
         depends on it, both settings are run twice as often, up to eight times the runs, and at most twice \
         as many runs again as the study has in all. Spreads are compared by distances from the median (Brown \
         and Forsythe). An effect within the finding's margin does not count against it. A good network \
         has no loss and no delay, a poor one 10 % and 100 ms.",
        "Every run has a seed of its own, derived from the campaign's seed, the setting and the run's \
         number, so that each row can be run again alone. Without loss the simulated network has no \
         randomness: all runs of such a row are equal."
    ]
    .map(str::to_owned)
    .to_vec()
}

const MEMBER: &str = "esp32-micropython";
const CONTROLLER: &str = "i5-6500-python";

fn built_in(name: &str) -> DeviceProfile {
    DeviceProfile::named(name).expect("the study's devices are built in")
}

fn set_beside(value: Value, rows: &[NetworkRow]) -> PublishedValue {
    let scheme = if value.scheme == "gdh" { GDH } else { &value.scheme };
    let row_at = |loss_percent: f64| {
        rows.iter().find(|row| {
            (row.setting.scheme.as_str(), row.setting.operation.as_str())
                == (scheme, value.operation.as_str())
                && (row.setting.members, row.setting.delay_ms) == (value.members, value.delay_ms)
                && row.setting.loss_percent == loss_percent
        })
    };
    let ours = |row: &NetworkRow| match value.quantity {
        TimeQuantity::Total => row.mean_ms,
        TimeQuantity::Transmission => row.transmission_ms,
        TimeQuantity::TransmissionShare => 100.0 * row.transmission_ms / row.mean_ms,
    };
    let unit = if value.quantity == TimeQuantity::TransmissionShare { "%" } else { "ms" };

    let row = row_at(value.loss_percent);
    let mut notes = Vec::new();
    if sets_a_price(&format!("network.mean_ms.{}", value.key)) {
        notes.push("Comes out by construction: a constant was calibrated with it.".to_owned());
    }
    if let (Some(row), TimeQuantity::Total, true) = (row, value.quantity, value.scheme == "skdc") {
        notes.push(format!("Mean over members: {:.1} ms.", row.member_mean_ms));
    }
    // Half the loss is the nearest setting of the study with less loss.
    if let (true, Some(less)) = (value.loss_percent > 0.0, row_at(value.loss_percent / 2.0)) {
        let percent = value.loss_percent / 2.0;
        notes.push(format!("At {percent} % loss ours is {:.1} {unit}.", ours(less)));
    }
    PublishedValue {
        scheme: scheme.to_owned(),
        ours: row.map_or(f64::NAN, ours),
        unit: unit.to_owned(),
        note: notes.join(" "),
        key: value.key,
        operation: value.operation,
        members: value.members,
        loss_percent: value.loss_percent,
        delay_ms: value.delay_ms,
        quantity: value.quantity,
        published: value.value,
    }
}

fn cost_words(primitive: Primitive, cost: &PrimitiveCost) -> String {
    let unit = match primitive {
        Primitive::Wrap | Primitive::Unwrap => "key",
        _ => "byte",
    };
    match cost.per_unit_ns {
        0.0 => format!("{} a call", time_words(cost.per_call_ns)),
        per_unit => {
            format!("{} a call and {} a {unit}", time_words(cost.per_call_ns), time_words(per_unit))
        }
    }
}

fn time_words(ns: f64) -> String {
    match ns {
        0.0 => "0".to_owned(),
        ..1e3 => format!("{ns} ns"),
        ..1e6 => format!("{} µs", ns / 1e3),
        _ => format!("{} ms", ns / 1e6),
    }
}

/// G-DH, which is GDH.2 with the partial keys handed back.
pub(super) const GDH: &str = "gdh2-relay";
/// LKH in its three strategies.
pub(super) const LKH: [&str; 3] = ["lkh-group", "lkh-user", "lkh-key"];
pub(super) const SCHEMES: [&str; 5] = ["skdc", "lkh-user", "lkh-key", "lkh-group", GDH];

/// Returns the plans to run more often, each with its new number of runs; none if more runs decide
/// nothing, or if all plans together have had twice as many runs again.
///
/// `plans` are those of the study, each with `runs`, and `rows` are the rows of them so far. The
/// answer depends on these alone, so that a campaign in pieces runs as often as one without a
/// break.
pub fn more_runs(plans: &[Plan], rows: &[NetworkRow], runs: u32) -> Vec<Plan> {
    let is_of = |plan: &Plan, row: &NetworkRow| {
        (plan.scheme.id, plan.members) == (row.setting.scheme.as_str(), row.setting.members)
            && plan.link.initial.loss_percent == row.setting.loss_percent
            && plan.link.initial.delay_ms == row.setting.delay_ms
    };
    let done = plans.iter().map(|plan| {
        let row = rows.iter().find(|row| is_of(plan, row));
        row.map_or(0, |row| row.runs.saturating_sub(runs))
    });
    let mut left = (BUDGET * plans.len() as u32 * runs).saturating_sub(done.sum());

    let most = looks(runs as usize).last().unwrap_or(0) as u32;
    let mut wanted: BTreeMap<usize, u32> = BTreeMap::new();
    for place in open(rows, runs) {
        let row = &rows[place];
        // Without loss all runs are equal.
        if row.setting.loss_percent > 0.0
            && row.runs < most
            && let Some(plan) = plans.iter().position(|plan| is_of(plan, row))
        {
            wanted.insert(plan, row.runs);
        }
    }
    let mut more = Vec::new();
    for (place, done) in wanted {
        let total = (2 * done).min(most);
        if let Some(rest) = left.checked_sub(total - done) {
            left = rest;
            more.push(Plan { runs: total, ..plans[place].clone() });
        }
    }
    more
}

/// How many times the runs of the study may be added to it.
const BUDGET: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_study_has_ninety_settings_that_can_all_be_run() {
        let plans = plans(30, 1);
        assert_eq!(plans.len(), 90);
        for plan in &plans {
            assert_eq!(plan.validate(), Ok(()), "{}", plan.key());
            assert_eq!(plan.reported().count(), 3);
        }
        let runs: u32 = plans.iter().map(|plan| plan.runs).sum();
        assert_eq!(runs, 2_700);
    }

    #[test]
    fn every_published_value_has_its_place_even_without_rows() {
        let compared = compare(&[]);
        assert_eq!(compared.len(), 13);
        assert!(compared.iter().all(|value| value.ours.is_nan()));
        let marked = compared.iter().filter(|value| value.note.contains("by construction"));
        let marked: Vec<&str> = marked.map(|value| value.key.as_str()).collect();
        let expected =
            ["gdh_create_transmission_n20_loss0_delay0", "skdc_create_n200_loss0_delay0"];
        assert_eq!(marked, expected);
    }

    #[test]
    fn every_figure_of_both_devices_is_declared() {
        let calibration = calibration();
        assert_eq!(calibration.len(), 2 * (3 + Primitive::ALL.len()));
        let of = |name| calibration.iter().find(|c| c.name == name).map(|c| c.value.as_str());
        assert_eq!(of("i5-6500-python: wrap"), Some("100 µs a call and 1 µs a key"));
        assert_eq!(of("esp32-micropython: check-element"), Some("0 a call"));
    }
}
