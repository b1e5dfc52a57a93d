//! Device profiles: calibrated figures give the published values back, and profiles are read as written.

use std::path::Path;
use std::{env, fs};

use groupkey::Suite;
use groupkey::crypto::meter::{Meter, Primitive, Probe};
use groupkey_lab::device::{Bearing, Board, DeviceError, DeviceProfile};

/// S004 section V.B: an update is equations 4 to 6, an encryption equation 11 with its pairing kept, a
/// decryption equation 12.
#[test]
fn the_esp32_takes_the_published_times_for_nishat() {
    let update = [(Primitive::ExponentiateG1, 3), (Primitive::InvertScalar, 1)];
    let encryption = [(Primitive::ExponentiateG1, 2), (Primitive::ExponentiateGt, 1)];
    let decryption = [(Primitive::MillerLoop, 3), (Primitive::FinalExponentiation, 3)];
    for (primitives, mean, error) in
        [(&update, 0.669, 0.039), (&encryption, 0.569, 0.058), (&decryption, 1.389, 0.004)]
    {
        let seconds =
            device("esp32-pbc").costs(Suite::Published).expect("of S004").time(&of(primitives));
        assert!(
            (seconds.value - mean).abs() < f64::min(error, 0.002),
            "{primitives:?}: {seconds:?}"
        );
        assert!(seconds.error > 0.0);
    }
}

/// S001 figure 6: the second member joins in 3.96 s, the third in 8.14 s after six exponentiations, the
/// fifth in 12.71 s after nine.
#[test]
fn the_esp8266_takes_the_published_times_for_tgdh() {
    let device = device("esp8266");
    let costs = device.costs(Suite::Published2048).expect("of S001");
    for (exponentiations, published) in [(3, 3.96), (6, 8.14), (9, 12.71)] {
        let seconds = costs.time(&of(&[(Primitive::Exponentiate, exponentiations)]));
        assert!((seconds.value - published).abs() <= seconds.error, "{seconds:?}, {published}");
    }
}

/// S002 section 5.1.2: with 55,000 members SKDC's controller takes less than 20 s for a join, which wraps
/// the key for each.
#[test]
fn the_laptop_stays_below_the_published_bound() {
    let mut meter = Meter::new();
    (0..55_000).for_each(|_| meter.record(Primitive::Wrap, 1));
    let seconds =
        device("i3-5005u-python").costs(Suite::Published).expect("of S002").time(&meter).value;
    assert!((1.0..20.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_basis_gives_what_a_profile_does_not_say() {
    let (basis, device) = (device("i5-6500-python"), device("i3-5005u-python"));
    assert_eq!(device.suites().collect::<Vec<_>>(), [Suite::Published]);
    for primitive in Primitive::ALL {
        let [there, here] = [&basis, &device]
            .map(|device| device.costs(Suite::Published).expect("of the papers").of(primitive));
        assert_eq!(here.per_call_ns, 1.6 * there.per_call_ns);
        assert!(here.source.starts_with("assumed: 1.6 times i5-6500-python"), "{}", here.source);
        assert!(here.source.ends_with(&there.source));
    }
}

#[test]
fn every_profile_is_written_as_it_is_read() {
    for name in DeviceProfile::names() {
        let mut device = device(name);
        let text = device.to_toml();
        let read = DeviceProfile::from_toml(&text)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        // A board has a file of its own kind.
        device.board = None;
        assert_eq!(read, device);
    }
}

#[test]
fn a_profile_is_read_from_a_file_and_mistakes_are_found_there() {
    let folder = tempfile::tempdir().expect("a place for a file");
    let path = folder.path().join("device.toml");
    let text = device("esp32-pbc").to_toml();
    fs::write(&path, &text).expect("a place for a file");
    assert_eq!(DeviceProfile::load(&path).expect("a profile"), device("esp32-pbc"));
    fs::write(&path, text.replace("watt = 0.20504", "wat = 0.20504")).expect("a place for a file");
    let error = DeviceProfile::load(&path).expect_err("a mistake");
    assert!(error.position.is_some() && error.problem.contains("wat"), "{error}");
    assert!(
        DeviceProfile::load(Path::new("no-such-device.toml")).is_err_and(|e| e.position.is_none())
    );
}

#[test]
fn figures_that_cannot_be_are_refused() {
    let text = device("esp32-pbc").to_toml();
    let told = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in the profile");
        DeviceProfile::from_toml(&text.replacen(from, to, 1)).expect_err("a mistake").to_string()
    };
    assert!(told("watt = 0.20504", "watt = -1").contains("not negative"));
    assert!(told("watt = 0.20504", "watt = 0.3").contains("active at least idle"));
    assert!(told("watt = 0.20504", "watt = nan").contains("not negative"));
    assert!(told("error_watt = 0.00028", "error_watt = inf").contains("not negative"));
    assert!(told("error_percent = 5.8", "error_percent = -5.8").contains("error_percent"));
    assert!(told("per_call_ns = 20000", "per_call_ns = nan").contains("nanoseconds"));
    assert!(
        told("source = \"published: S004", "source = \"heard: S004").contains("must begin with")
    );
    let energy = "per_call_ns = 20000, energy = { per_call_joule = -1, error_percent = 1 }";
    assert!(told("per_call_ns = 20000", energy).contains("energies"));

    let basis = |name: &str, factor: &str| {
        let processing = text.split("[published]").next().expect("the part before the tables");
        let basis =
            format!("[basis]\ndevice = '{name}'\nfactor = {factor}\nsource = 'assumed: x'\n");
        DeviceProfile::from_toml(&format!("{processing}{basis}"))
    };
    assert_eq!(basis("esp32-pbc", "2").map(|device| device.suites().count()), Ok(1));
    assert_eq!(basis("esp32-pbc", "0"), Err(DeviceError::InvalidFactor { key: "factor" }));
    assert_eq!(basis("esp32-pbc", "nan"), Err(DeviceError::InvalidFactor { key: "factor" }));
    assert!(basis("toaster", "2").is_err_and(|error| error.to_string().contains("esp32-pbc")));
}

#[test]
fn instructions_take_the_time_that_the_clock_gives_them() {
    let device = device("cortex-m4");
    let clock = device.clock.as_ref().expect("it has one");
    assert!(clock.source.starts_with("assumed:"), "{}", clock.source);
    for suite in Suite::ALL {
        for primitive in Primitive::ALL {
            let cost = device.costs(suite).expect("it has all").of(primitive);
            let instructions = cost.instructions.expect("they were counted");
            assert!(cost.source.starts_with("counted:"), "{}", cost.source);
            assert_eq!(cost.per_call_ns, instructions.per_call * 1e9 / 64e6);
            assert_eq!(cost.per_unit_ns, instructions.per_unit * 1e9 / 64e6);
        }
    }

    let text = device.to_toml();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in the profile");
        DeviceProfile::from_toml(&text.replacen(from, to, 1))
    };
    let told = |from: &str, to: &str| changed(from, to).expect_err("a mistake").to_string();
    let faster = changed("instructions_per_cycle = 1", "instructions_per_cycle = 2");
    let faster = faster.expect("a clock that can be");
    let sign = |device: &DeviceProfile| {
        device.costs(Suite::Standard).expect("it has all").of(Primitive::Sign).per_call_ns
    };
    assert_eq!(2.0 * sign(&faster), sign(&device));
    assert!(told("hertz = 64000000", "hertz = 0").contains("more than 0"));
    assert!(told("instructions_per_cycle = 1", "instructions_per_cycle = nan").contains("clock"));
    assert!(told("per_call_instructions = ", "per_call_instructions = -").contains("not negative"));
    // A count never passes for a time, nor a time for a count.
    assert!(told("per_call_instructions", "per_call_ns").contains("with a source that begins"));
    assert!(told("\"counted: ", "\"measured: ").contains("with a source that begins"));
    let (before, after) = (text.find("[clock]"), text.find("[standard]"));
    let [Some(before), Some(after)] = [before, after] else { panic!("it has both") };
    let without = [&text[..before], &text[after..]].concat();
    assert_eq!(DeviceProfile::from_toml(&without), Err(DeviceError::WithoutClock));
}

/// What `docs/devices.md` says of software AES.
#[test]
fn ascon_wraps_a_key_in_about_a_quarter_of_the_instructions() {
    for name in ["cortex-m4", "rv32imac"] {
        let device = device(name);
        let [aes, ascon] = [Suite::Standard, Suite::Constrained].map(|suite| {
            device.costs(suite).expect("it has all").time(&of(&[(Primitive::Wrap, 1)])).value
        });
        assert!((3.5..5.0).contains(&(aes / ascon)), "{name}: {}", aes / ascon);
    }
}

fn device(name: &str) -> DeviceProfile {
    DeviceProfile::named(name).expect("built in")
}

fn of(primitives: &[(Primitive, usize)]) -> Meter {
    let mut meter = Meter::new();
    for &(primitive, count) in primitives {
        (0..count).for_each(|_| meter.record(primitive, 1));
    }
    meter
}

/// The table of `docs/devices.md` has what the boards' files say.
#[test]
fn the_documented_boards_are_the_built_in_ones() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/devices.md");
    let page = fs::read_to_string(page).expect("the page is there");
    for name in Board::names() {
        let board = Board::named(name).expect("built in");
        let line = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let line = line.unwrap_or_else(|| panic!("docs/devices.md lacks {name}")).replace(',', "");
        let bearing = match board.counts.bearing {
            Bearing::Own => "its own",
            Bearing::LowerBound => "a lower bound",
            Bearing::StandIn => "a stand-in",
        };
        let (ram, flash) = (board.ram.available(), board.flash.available());
        let expected = format!("| {ram} | {flash} | `{}` {bearing} |", board.counts.device);
        assert!(line.contains(&expected), "docs/devices.md: {line} lacks {expected}");
    }
}
