//! A campaign that never ran: plausible rows in the study's settings, from a fixed seed.

use groupkey_lab::report::{Calibration, PublishedValue, Report, Reproduction, TimeQuantity};
use groupkey_lab::results::{FileHeader, NetworkRow, ResultsHeader, RowSetting, RunSample};
use groupkey_lab::verdict::{Compared, Outcome, Ruling, Share, Statement, Verdict, VerdictGround};

/// Settings: (4 schemes x 3 sizes + 1 scheme x 3 sizes) x 3 operations x 3 losses x 2 delays.
pub(crate) const ROWS: usize = 15 * 3 * 3 * 2;

/// A whole report over [`ROWS`] rows.
pub(crate) fn report() -> Report {
    let rows = rows();
    let header = ResultsHeader {
        format: ResultsHeader::FORMAT.to_owned(),
        version: ResultsHeader::VERSION,
        study: "network impact".to_owned(),
        seed: 2024,
        runs: RUNS,
        commit: "0123456789ab".to_owned(),
        machine: "Example processor at 3.2 GHz, 4 cores".to_owned(),
        suite: "published".to_owned(),
        assumptions: vec![
            "The network does not change during an operation.".to_owned(),
            "All members run on the same device.".to_owned(),
        ],
    };
    let study = Reproduction {
        title: "What delay and loss cost a group key".to_owned(),
        source: "A study in a journal".to_owned(),
        published_times: published(&rows),
        verdicts: verdicts(),
        calibration: vec![
            calibration("Least retransmission time", "200 ms"),
            calibration("Broker", "0.1 ms a packet"),
        ],
        method: vec![
            "Every party runs the scheme's own code; the network between them is simulated."
                .to_owned(),
            "Markup such as <script>alert('no')</script> & \"quotes\" stays text.".to_owned(),
        ],
        command: "groupkey reproduce network-impact --seed 2024 --runs 30".to_owned(),
        replay: "groupkey net --scheme {scheme} --operation {operation} --members {members} \
                 --loss {loss} --delay {delay} --qos {qos} --runs {runs} --seed {seed}"
            .to_owned(),
        ..Reproduction::default()
    };
    let mut report = Report { reproduction: Some(study), ..Report::default() };
    report.add_network(header, rows);
    report
}

const RUNS: u32 = 30;

fn rows() -> Vec<NetworkRow> {
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let mut rows = Vec::new();
    for scheme in ["skdc", "lkh-group", "lkh-user", "lkh-key", "gdh2-relay"] {
        let sizes = if scheme == "gdh2-relay" { [5, 10, 20] } else { [50, 100, 200] };
        for operation in ["create", "add", "remove"] {
            for members in sizes {
                for delay_ms in [0.0, 100.0] {
                    for loss_percent in [0.0, 5.0, 10.0] {
                        let samples = (0..RUNS)
                            .map(|_| {
                                let cost = Cost::of(scheme, operation, members);
                                cost.run(loss_percent, delay_ms, &mut noise)
                            })
                            .collect();
                        let setting = RowSetting {
                            scheme: scheme.to_owned(),
                            profile: "published".to_owned(),
                            suite: "published".to_owned(),
                            protection: "mac".to_owned(),
                            provenance: "specified".to_owned(),
                            operation: operation.to_owned(),
                            members,
                            loss_percent,
                            delay_ms,
                            qos: 2,
                            device: "esp32".to_owned(),
                            seed: 1000 + rows.len() as u64,
                            ..RowSetting::default()
                        };
                        rows.push(NetworkRow::from_samples(setting, samples));
                    }
                }
            }
        }
    }
    rows
}

/// What an operation costs in a perfect network, and how often it crosses the network in a row.
struct Cost {
    transmission_ms: f64,
    computation_ms: f64,
    hops: f64,
    messages: f64,
}

impl Cost {
    fn of(scheme: &str, operation: &str, members: u32) -> Self {
        let n = f64::from(members);
        if scheme == "gdh2-relay" {
            let (hops, exponentiations) = match operation {
                "create" => (n, n * (n + 3.0) / 2.0 - 1.0),
                "add" => (2.0, 2.0 * n),
                _ => (1.0, n),
            };
            let (transmission_ms, messages) = (27.0 * hops, hops);
            return Self {
                transmission_ms,
                computation_ms: 65.0 * exponentiations,
                hops,
                messages,
            };
        }

        let all = match operation {
            "add" if scheme != "skdc" => 2.0,
            _ if scheme == "lkh-group" => 1.0,
            _ => n,
        };
        let heavier = if scheme == "lkh-key" { 1.25 } else { 1.0 };
        Self {
            transmission_ms: 18.0 + 0.6 * all * heavier,
            computation_ms: 1.4 + if scheme == "skdc" { 0.0 } else { 0.3 * n.log2() },
            hops: 3.0,
            messages: all,
        }
    }

    fn run(&self, loss_percent: f64, delay_ms: f64, noise: &mut Noise) -> RunSample {
        let crossings = 4.0 * self.hops;
        let lost = (0..crossings as u32).filter(|_| noise.next() < loss_percent / 100.0).count();
        let late: f64 =
            (0..lost).map(|_| (200.0 + 2.0 * delay_ms) * (0.6 + 0.8 * noise.next())).sum();
        let transmission_ms = self.transmission_ms * (0.96 + 0.08 * noise.next())
            + self.hops * 3.0 * delay_ms * (1.0 + 0.01 * noise.next())
            + late;
        RunSample {
            total_ms: transmission_ms + self.computation_ms,
            transmission_ms,
            computation_ms: self.computation_ms,
            member_mean_ms: 0.7 * transmission_ms + self.computation_ms,
            messages: self.messages as u64,
            payload_bytes: 96 * self.messages as u64,
            wire_bytes: 700 * self.messages as u64 + 90 * lost as u64,
            retransmissions: lost as u64,
            member_joule: Some(3e-6 * self.messages),
            behind: 0,
            catch_ups: 0,
        }
    }
}

/// The few values that the paper prints.
fn published(rows: &[NetworkRow]) -> Vec<PublishedValue> {
    let value = |scheme: &str, members, loss_percent, delay_ms, quantity, published| {
        let row = rows
            .iter()
            .find(|row| {
                (row.setting.scheme.as_str(), row.setting.operation.as_str(), row.setting.members)
                    == (scheme, "create", members)
                    && (row.setting.loss_percent, row.setting.delay_ms) == (loss_percent, delay_ms)
            })
            .expect("the campaign covers the published settings");
        let (ours, unit) = match quantity {
            TimeQuantity::Total => (row.mean_ms, "ms"),
            TimeQuantity::Transmission => (row.transmission_ms, "ms"),
            TimeQuantity::TransmissionShare => (100.0 * row.transmission_ms / row.mean_ms, "%"),
        };
        PublishedValue {
            key: format!("{scheme}_create_n{members}_loss{loss_percent}_delay{delay_ms}"),
            scheme: scheme.to_owned(),
            operation: "create".to_owned(),
            members,
            loss_percent,
            delay_ms,
            quantity,
            published,
            ours,
            unit: unit.to_owned(),
            note: "Mean over 30 runs.".to_owned(),
        }
    };
    vec![
        value("skdc", 200, 0.0, 0.0, TimeQuantity::Total, 142.172),
        value("skdc", 200, 10.0, 0.0, TimeQuantity::Total, 340.881),
        value("skdc", 200, 10.0, 100.0, TimeQuantity::Total, 2377.318),
        value("gdh2-relay", 20, 0.0, 0.0, TimeQuantity::Transmission, 537.113),
        value("gdh2-relay", 20, 10.0, 0.0, TimeQuantity::Transmission, 2942.719),
        value("gdh2-relay", 20, 0.0, 100.0, TimeQuantity::Transmission, 22817.9),
        value("gdh2-relay", 20, 10.0, 0.0, TimeQuantity::Total, 18192.627),
        value("gdh2-relay", 20, 10.0, 0.0, TimeQuantity::TransmissionShare, 16.18),
    ]
}

fn verdicts() -> Vec<Verdict> {
    let verdict = |id: &str, claim: &str, outcome, sentence: &str, ruling| Verdict {
        id: id.to_owned(),
        claim: claim.to_owned(),
        outcome,
        ground: VerdictGround::Network,
        margin: "10 % of the time".to_owned(),
        share: Share { holds: 2, settings: 4 },
        condition: None,
        sentence: sentence.to_owned(),
        dissent: (ruling == Ruling::Fails).then(|| "By times it holds.".to_owned()),
        remark: String::new(),
        statements: vec![Statement {
            claim: "one below another".to_owned(),
            settings: [0.2, 0.9, 1.3]
                .map(|effect| Compared {
                    words: format!("<b>SKDC</b> {effect} ms against LKH 1 ms"),
                    ruling,
                    effect: Some(effect),
                    factors: Vec::new(),
                    void: None,
                })
                .into(),
            not_run: 1,
            note: String::new(),
        }],
    };
    vec![
        verdict(
            "f1",
            "A one-way delay of 100 ms costs more than a packet loss of 10 %.",
            Outcome::HoldsEverywhere,
            "Holds in all 45 settings.",
            Ruling::Holds,
        ),
        verdict(
            "f2",
            "Creation: LKH group-oriented < SKDC < LKH user-oriented <= LKH key-oriented.",
            Outcome::Refuted,
            "Fails in 7 of 18 settings.",
            Ruling::Fails,
        ),
        verdict(
            "f7",
            "The standard deviation grows with packet loss.",
            Outcome::NotDecidable,
            "Open in 3 of 45 settings.",
            Ruling::Open,
        ),
    ]
}

fn calibration(name: &str, value: &str) -> Calibration {
    Calibration {
        name: name.to_owned(),
        value: value.to_owned(),
        source: "Set for this test; nobody measured it.".to_owned(),
    }
}

/// Marsaglia's xorshift, uniform in [0, 1).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
