//! Devices with other features than their gateway's take its messages, and have its keys.

use groupkey::Suite;
use groupkey::error::Misbehaviour;
use groupkey_feature_sets::RECORDED;
use groupkey_feature_sets::exchange::{SCHEMES, exchange};

/// Nobody hears anything but what a device of the other build said.
#[test]
fn devices_of_two_builds_make_one_group() {
    assert!(Suite::ALL.len() > 1, "this build has all of them");
    let mut recorded = RECORDED.lines();
    for scheme in SCHEMES {
        let mut other = || recorded.next().expect("it says as much").to_owned();
        let keys = exchange(scheme, Suite::Constrained, |_| bytes(&other())).expect(scheme);
        assert!(keys.iter().filter(|key| key.starts_with("3 ")).count() >= 3, "{keys:?}");
        for key in keys {
            assert_eq!(key, other(), "{scheme}");
        }
    }
    assert_eq!(recorded.next(), None);
}

/// So the first test can fail: the same messages count for nothing under another suite.
#[test]
fn devices_of_another_suite_refuse_them() {
    let mut recorded = RECORDED.lines();
    let outcome = exchange(SCHEMES[0], Suite::Standard, |_| {
        bytes(recorded.next().expect("it says something"))
    });
    assert_eq!(outcome, Err(Misbehaviour::Forged.into()));
}

fn bytes(line: &str) -> Vec<u8> {
    let digits = line.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).expect("ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}
