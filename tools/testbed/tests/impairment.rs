//! Real packets through the emulator, in a network namespace of their own. The tests are skipped
//! with a message where the rights, the device or Mosquitto are missing, unless
//! `GROUPKEY_REQUIRE_ALL` is set.
#![cfg(target_os = "linux")]

use std::env;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::process::{self, Command};
use std::time::Duration;

use groupkey_sim::HandOver;
use groupkey_testbed::impairment::{
    Emulator, ImpairedLink, Impairment, LatencySettings, MeasuredLatencies, Mosquitto, Relay,
    measure,
};

/// Runs the test below in a new namespace. A namespace belongs to a process.
#[test]
fn delay_and_loss_are_as_asked() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(error) => {
            let missing = format!("delay_and_loss_are_as_asked is SKIPPED: {error}");
            assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
            eprintln!("{missing}");
            return;
        }
    };
    let tests = env::current_exe().expect("this program is somewhere");
    let status = Command::new("ip")
        .args(["netns", "exec", &namespace.0])
        .arg(tests)
        .args(["--exact", "within_a_namespace", "--nocapture"])
        .env(WITHIN, "1")
        .status()
        .expect("ip has just worked");
    assert!(status.success());
}

/// A relay stands behind the device for a broker elsewhere.
fn assert_relay_is_behind_the_device(emulator: &Emulator) {
    let status = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(status.expect("ip has just worked").success());
    let elsewhere = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 18830);
    let _mosquitto = Mosquitto::start(elsewhere, elsewhere).expect("it has just started");
    let addresses = emulator.addresses();
    let _relay = Relay::start(addresses.broker, elsewhere.into()).expect("nobody else listens");
    let settings = LatencySettings::new(SocketAddr::V4(addresses.clients), 1, 5);
    let measured = measure(&settings, || ()).expect("it works");
    assert_eq!(measured.latencies.len(), 5);
    assert!(measured.latencies.iter().all(|latency| *latency >= Duration::from_millis(40)));
}

/// Set where the network is a namespace of our own.
const WITHIN: &str = "GROUPKEY_WITHIN_A_NAMESPACE";

/// [`delay_and_loss_are_as_asked`] runs it; anywhere else there is nothing to do.
#[test]
fn within_a_namespace() {
    if env::var_os(WITHIN).is_none() {
        return;
    }
    let emulator = Emulator::start(1883, ImpairedLink::default(), 1, "cubic");
    let require = env::var_os("GROUPKEY_REQUIRE_ALL").is_some();
    let emulator = match emulator {
        Ok(emulator) => emulator,
        Err(error) if !require => return eprintln!("SKIPPED: {error}"),
        Err(error) => panic!("{error}"),
    };
    let addresses = emulator.addresses();
    let mosquitto = match Mosquitto::start(addresses.broker, addresses.clients) {
        Ok(mosquitto) => mosquitto,
        Err(error) if !require => return eprintln!("SKIPPED: {error}"),
        Err(error) => panic!("{error}"),
    };
    let delay = Duration::from_millis(20);
    let impair = |up, down| {
        let impairment = |loss| Impairment { delay, loss };
        emulator.set_all(ImpairedLink { up: impairment(up), down: impairment(down) });
    };
    let run = |qos, until, messages| {
        emulator.take_lateness();
        let settings = LatencySettings::new(SocketAddr::V4(addresses.clients), qos, messages);
        let measured = measure(&LatencySettings { until, ..settings }, || ()).expect("it works");
        assert_eq!(measured.latencies.len(), messages as usize);
        assert_eq!(measured.congestion, "cubic");
        measured
    };

    // Without loss, latency is the sum of the exchange's one-way delays, and of the machine's own.
    impair(0.0, 0.0);
    for (qos, until, delays) in [
        (0, HandOver::PubRel, 2),
        (1, HandOver::PubRel, 2),
        (2, HandOver::Publish, 4),
        (2, HandOver::PubRel, 6),
    ] {
        let measured = run(qos, until, 20);
        let lateness = emulator.take_lateness();
        let least = measured.latencies.iter().min().expect("there are some");
        assert!(*least >= delay * delays, "QoS {qos}: {least:?} is too fast");
        let typical = median(&measured);
        let most = (delay + lateness.percentile(0.99)) * delays + Duration::from_millis(20);
        assert!(typical <= most, "QoS {qos}: {typical:?}, late by {lateness:?}");
        println!(
            "QoS {qos}, {until:?}: {typical:?} for {delays} x {delay:?}, mean lateness {:?}",
            lateness.mean()
        );
    }
    assert_eq!((emulator.counts().dropped, emulator.counts().overflow), (0, 0));
    assert!(emulator.counts().bytes > 40 * emulator.counts().held);

    // With loss, packets are dropped, and everything arrives later.
    impair(0.1, 0.1);
    let before = emulator.counts();
    let measured = run(2, HandOver::PubRel, 40);
    let after = emulator.counts();
    let dropped = after.dropped - before.dropped;
    let share = dropped as f64 / (after.held - before.held + dropped) as f64;
    assert!((0.03..0.2).contains(&share), "{share} of the packets were dropped");
    assert!(measured.latencies.iter().max() > Some(&(delay * 6 + Duration::from_millis(100))));
    assert_eq!(after.overflow, 0);
    assert!(after.resent > before.resent);

    drop(mosquitto);
    impair(0.0, 0.0);
    assert_relay_is_behind_the_device(&emulator);
}

fn median(measured: &MeasuredLatencies) -> Duration {
    let mut latencies = measured.latencies.clone();
    latencies.sort();
    latencies[latencies.len() / 2]
}

/// A network namespace that exists as long as this value.
struct Namespace(String);

impl Namespace {
    fn new() -> Result<Self, String> {
        let name = format!("groupkey-test-{}", process::id());
        let output = Command::new("ip").args(["netns", "add", &name]).output();
        let output = output.map_err(|error| format!("ip does not start: {error}"))?;
        match output.status.success() {
            true => Ok(Self(name)),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // A namespace that remains is harmless.
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}
