//! Prints the one-message table of `docs/network.md`.
//!
//! `cargo run --release -p groupkey-sim --example probe_table [messages]`

use groupkey_sim::{Duration, HandOver, ProbeSettings, Qos, probe};

fn main() {
    let messages = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    println!(
        "{:>14} {:>22} {:>22} {:>22} {:>22}",
        "loss / delay", "QoS 0", "QoS 1", "QoS 2 at PUBLISH", "QoS 2 at PUBREL"
    );
    for (loss, delay) in [(0.0, 0), (0.1, 0), (0.0, 100), (0.05, 100)] {
        print!("{:>7} % / {delay:>3}", loss * 100.0);
        for (qos, until) in [
            (Qos::AtMostOnce, HandOver::PubRel),
            (Qos::AtLeastOnce, HandOver::PubRel),
            (Qos::ExactlyOnce, HandOver::Publish),
            (Qos::ExactlyOnce, HandOver::PubRel),
        ] {
            let mut settings = ProbeSettings::new(loss, Duration::from_millis(delay), qos);
            settings.until = until;
            settings.messages = messages;
            let result = probe(&settings);
            let at = |share| result.percentile(share).as_millis_f64();
            print!(
                " {:8.3} ({:.3}) {:.0}/{:.0}/{:.0}",
                result.mean() / 1e6,
                result.standard_error() / 1e6,
                at(0.5),
                at(0.9),
                at(0.99)
            );
        }
        println!();
    }
}
