//! The header says what the crate says. `GROUPKEY_WRITE_HEADER=1 cargo test header` makes it
//! again.

use std::path::Path;
use std::{env, fs};

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("its settings");
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(folder.join("src/error.rs"))
        .with_src(folder.join("src/types.rs"))
        .with_src(folder.join("src/interface.rs"))
        .generate()
        .expect("the sources are read");
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).expect("a text");
    let path = folder.join("include/groupkey.h");
    if env::var_os("GROUPKEY_WRITE_HEADER").is_some() {
        fs::write(&path, &made).expect("the header can be written");
    }
    let present = fs::read_to_string(&path).unwrap_or_default();
    assert!(present == made, "make it again: GROUPKEY_WRITE_HEADER=1 cargo test header");
}
