//! Gives the linker the chip's script.

fn main() {
    println!("cargo::rustc-link-arg-bins=-Tlinkall.x");
    for name in ["GROUPKEY_WIFI", "GROUPKEY_WIFI_PASSWORD"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
}
