//! How much flash a member takes of a microcontroller, beside what was recorded, and what a member of a
//! centralized scheme does not link. Skipped where a target is not installed, unless
//! `GROUPKEY_REQUIRE_ALL` is set.

use std::env;
use std::path::{Path, PathBuf};

use groupkey::Suite;
use groupkey::catalogue;
use groupkey::protection::Guard;
use groupkey_lab::device::flash::{MemberFlash, Program};
use groupkey_lab::device::{EmulationError, Target};

/// What a member of SKDC with the suite `constrained` may take beside an empty program: 24 KiB.
const SMALLEST: u64 = 24 * 1024;

/// Another compiler makes other instructions.
const TOLERANCE: f64 = 0.05;

#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn a_member_of_skdc_fits_in_24_kib_and_is_what_was_recorded() {
    let skdc = catalogue::scheme("skdc").expect("it is there");
    for target in Target::ALL {
        let now = MemberFlash::weigh(target, skdc, Suite::Constrained, Guard::Mac, &firmware());
        let Some(now) = installed(now) else { return };
        let more = now.beside_empty_bytes;
        eprintln!("skdc, constrained, {}: {more} bytes beside an empty program", now.target);
        assert!(more <= SMALLEST, "{}: {more} bytes beside an empty program", now.target);
        let same = |row: &&MemberFlash| {
            let of = |row: &MemberFlash| [&row.target, &row.scheme, &row.suite].map(Clone::clone);
            of(row) == of(&now) && row.protection == now.protection
        };
        let recorded = MemberFlash::recorded();
        let then = recorded.iter().find(same).expect("it was recorded");
        let pairs =
            [(now.flash_bytes, then.flash_bytes), (now.static_ram_bytes, then.static_ram_bytes)];
        for (now, then) in pairs.map(|(now, then)| (now as f64, then as f64)) {
            assert!(
                (now - then).abs() <= then * TOLERANCE,
                "{now} bytes, and {then} recorded: weigh again, with groupkey \
                 device measure-schemes --flash --target {}",
                target.name()
            );
        }
    }
}

#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn a_centralized_scheme_links_no_curve_and_no_pairing() {
    let absent = ["curve25519", "ed25519", "bls12_381", "crypto_bigint", "dashu"];
    for target in Target::ALL {
        let Some(program) = built("skdc", "centralized,suite-standard", target) else { return };
        let names = program.symbols();
        assert!(names.iter().any(|name| name.contains("skdc")), "the names were stripped");
        for name in names {
            assert!(
                !absent.iter().any(|library| name.contains(library)),
                "{}: {name}",
                target.name()
            );
        }
    }
    let names = built("lkh-group", HYBRID, Target::CortexM4).expect("it was there").symbols();
    let has = |library: &str| names.iter().any(|name| name.contains(library));
    assert!(has("curve25519") && has("ml_dsa"), "the check is blind");
    assert!(!has("ml_kem"), "it encapsulates nothing");
}

const HYBRID: &str = "centralized,signatures,suite-pq";

/// The firmware's program `member`; `None` if the target is not installed.
fn built(scheme: &str, features: &str, target: Target) -> Option<Program> {
    let features: Vec<&str> = features.split(',').collect();
    installed(Program::built("member", scheme, &features, target, &firmware()))
}

/// `None` if a target is not installed that does not have to be.
fn installed<T>(outcome: Result<T, EmulationError>) -> Option<T> {
    match outcome {
        Ok(outcome) => Some(outcome),
        Err(missing @ EmulationError::NoCompiler(_)) => {
            let help = missing.help().expect("it can be installed");
            assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}: {help}");
            eprintln!("SKIPPED: {missing}: {help}; nothing was weighed");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware")
}
