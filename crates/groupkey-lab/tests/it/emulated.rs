//! The firmware in the emulators: it counts what the profiles say, and every scheme sends there what it
//! sends here. Skipped where an emulator or a target is not installed, unless `GROUPKEY_REQUIRE_ALL` is set.

use std::env;
use std::path::{Path, PathBuf};

use groupkey::catalogue::SCHEMES;
use groupkey::crypto::meter::Primitive;
use groupkey_lab::device::{DeviceProfile, EmulationError, Target};
use groupkey_testkit::rig::{self, Settings};
use groupkey_testkit::workbench::Handling;

#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn every_scheme_sends_on_a_cortex_m4_what_it_sends_here() {
    runs_every_scheme(Target::CortexM4);
}

#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn every_scheme_sends_on_an_rv32imac_what_it_sends_here() {
    runs_every_scheme(Target::Rv32imac);
}

#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn a_cortex_m4_executes_so_many_instructions() {
    executes_what_its_profile_says(Target::CortexM4);
}

#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn an_rv32imac_executes_so_many_instructions() {
    executes_what_its_profile_says(Target::Rv32imac);
}

/// The emulator counts exactly. But another compiler makes other instructions, and what else is in the library
/// changes what the compiler inlines: a module that no primitive uses has moved figures by 3 %.
const TOLERANCE: f64 = 0.05;

fn executes_what_its_profile_says(target: Target) {
    let name = target.name();
    let counted = DeviceProfile::emulated(target, &firmware(), &mut |_, _| {});
    let Some(counted) = installed(counted) else { return };

    let profile = DeviceProfile::named(name).expect("built in");
    let described = |device: &DeviceProfile| {
        (device.description.clone(), device.clock.clone(), device.processing.clone())
    };
    assert_eq!(described(&counted), described(&profile));
    let mut differences = Vec::new();
    for handling in Handling::ALL {
        let [now, then] = [&counted, &profile].map(|device| {
            let cost = device.messages.as_ref().expect("it has them").of(handling);
            cost.instructions.expect("they were counted")
        });
        for (now, then) in [(now.per_call, then.per_call), (now.per_unit, then.per_unit)] {
            if (now - then).abs() > then * TOLERANCE + 100.0 {
                differences.push(format!("{}: {now}, in the profile {then}", handling.name()));
            }
        }
    }
    for suite in counted.suites() {
        for primitive in Primitive::ALL {
            let [now, then] = [&counted, &profile].map(|device| {
                let cost = device.costs(suite).expect("it has all suites").of(primitive);
                cost.instructions.expect("they were counted")
            });
            let figures = [(now.per_call, then.per_call), (now.per_unit, then.per_unit)];
            for (now, then) in figures {
                // What is left of a call beside its units may be next to nothing.
                if (now - then).abs() > then * TOLERANCE + 1.0 {
                    let (suite, primitive) = (suite.name(), primitive.name());
                    differences.push(format!("{suite} {primitive}: {now}, in the profile {then}"));
                }
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{differences:#?}\nIf the compiler or the library changed, count again: \
         groupkey device measure --target {name} > crates/groupkey-lab/src/devices/{name}.toml"
    );
}

fn runs_every_scheme(target: Target) {
    let mut there = Vec::new();
    let ran = target.run(&firmware(), "groups", &mut |line| there.push(line.to_owned()));
    let Some(()) = installed(ran) else { return };
    let here: Vec<String> = SCHEMES
        .iter()
        .map(|scheme| {
            let hash = rig::transcript(scheme, Settings::default()).expect("its members agree");
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} {hash}", scheme.id)
        })
        .collect();
    assert_eq!(there, here);
}

fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware")
}

/// `None` if something is not installed that does not have to be.
fn installed<T>(outcome: Result<T, EmulationError>) -> Option<T> {
    match outcome {
        Ok(outcome) => Some(outcome),
        Err(missing @ (EmulationError::NoEmulator(_) | EmulationError::NoCompiler(_))) => {
            let help = missing.help().expect("it can be installed");
            assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}: {help}");
            eprintln!("SKIPPED: {missing}: {help}; the firmware was not run");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
