//! The one-message table of `docs/network.md`: what a real Linux kernel and a real Mosquitto did,
//! against the model. No constant of the model was fitted to the rows with loss.

use groupkey_sim::{Duration, HandOver, ProbeResult, ProbeSettings, Qos, probe};

const COLUMNS: [(Qos, HandOver); 4] = [
    (Qos::AtMostOnce, HandOver::PubRel),
    (Qos::AtLeastOnce, HandOver::PubRel),
    (Qos::ExactlyOnce, HandOver::Publish),
    (Qos::ExactlyOnce, HandOver::PubRel),
];

fn row(loss: f64, delay_ms: u64, messages: u32) -> [ProbeResult; 4] {
    COLUMNS.map(|(qos, until)| {
        let mut settings = ProbeSettings::new(loss, Duration::from_millis(delay_ms), qos);
        settings.until = until;
        settings.messages = messages;
        let result = probe(&settings);
        assert_eq!(result.latencies.len(), messages as usize);
        result
    })
}

/// Asserts that each mean (ms) is within `share` of the measured one or, where that is wider, within
/// twice the measurement's standard error.
fn assert_means(row: &[ProbeResult; 4], measured: [(f64, f64); 4], share: f64) {
    for ((result, (mean, error)), column) in row.iter().zip(measured).zip(COLUMNS) {
        let model = result.mean() / 1e6;
        let bound = (mean * share).max(2.0 * error);
        assert!((model - mean).abs() <= bound, "{column:?}: {model:.3} ms, measured {mean} ms");
    }
}

#[test]
fn no_loss_and_no_delay() {
    for (result, printed) in row(0.0, 0, 1_000).iter().zip(["0.06", "0.06", "0.09", "0.11"]) {
        assert_eq!(format!("{:.2}", result.mean() / 1e6), printed);
    }
}

#[test]
fn delay_alone() {
    let measured = [(200.5, 0.0), (200.6, 0.0), (400.9, 0.0), (601.3, 0.0)];
    assert_means(&row(0.0, 100, 1_000), measured, 0.02);
}

#[test]
fn loss_alone() {
    let row = row(0.1, 0, 50_000);
    assert_means(&row, [(49.0, 3.0), (41.0, 4.0), (103.0, 4.0), (157.0, 5.0)], 0.1);
    let at = |share| row[3].percentile(share).as_millis_f64();
    assert!((at(0.9) / 433.0 - 1.0).abs() < 0.1, "{}", at(0.9));
    assert!((at(0.99) / 855.0 - 1.0).abs() < 0.1, "{}", at(0.99));
}

#[test]
fn loss_and_delay() {
    let row = row(0.05, 100, 50_000);
    assert_means(&row, [(245.0, 4.0), (247.0, 4.0), (512.0, 10.0), (775.0, 9.0)], 0.1);
    let at = |share| row[3].percentile(share).as_millis_f64();
    for (share, measured) in [(0.5, 601.0), (0.9, 1_095.0), (0.99, 1_860.0)] {
        assert!((at(share) / measured - 1.0).abs() < 0.1, "p{share}: {}", at(share));
    }
}

#[test]
fn without_the_tail_loss_probe_the_table_is_missed() {
    let mut settings = ProbeSettings::new(0.1, Duration::ZERO, Qos::ExactlyOnce);
    settings.network.tcp.tail_loss_probe = false;
    settings.messages = 20_000;
    let mean = probe(&settings).mean() / 1e6;
    assert!((mean - 204.0).abs() < 20.4, "{mean:.1} ms");
}
