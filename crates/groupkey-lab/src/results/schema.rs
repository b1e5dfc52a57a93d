//! The JSON Schema of the results files, `docs/results.schema.json`, generated from the types that
//! write the files.

use std::path::PathBuf;
use std::{env, fs};

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::{NetworkRow, ResultsHeader, RunHeader};
use crate::audit::Finding;
use crate::bench::trace::ReplayRow;
use crate::bench::{BenchHeader, BenchRow};
use crate::choose::ChoiceRow;

/// The file must match the types, so that no field can be missing from it.
#[test]
fn the_schema_file_says_what_the_types_say() {
    if env::var_os("GROUPKEY_WRITE_SCHEMA").is_some() {
        fs::write(path(), format!("{:#}\n", schema())).expect("the file can be written");
    }
    let found = fs::read_to_string(path()).unwrap_or_default();
    assert!(
        serde_json::from_str::<Value>(&found).ok() == Some(schema()),
        "docs/results.schema.json is out of date; write it again with\n    \
         GROUPKEY_WRITE_SCHEMA=1 cargo test -p groupkey-lab --lib the_schema_file"
    );
}

fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let lines = [
        generator.subschema_for::<BenchHeader>(),
        generator.subschema_for::<BenchRow>(),
        generator.subschema_for::<ResultsHeader>(),
        generator.subschema_for::<NetworkRow>(),
        generator.subschema_for::<RunHeader<Finding>>(),
        generator.subschema_for::<Finding>(),
        generator.subschema_for::<RunHeader<ReplayRow>>(),
        generator.subschema_for::<ReplayRow>(),
        generator.subschema_for::<RunHeader<ChoiceRow>>(),
        generator.subschema_for::<ChoiceRow>(),
    ];
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a results file of groupkey",
        "description": "Results are JSON Lines. The first line is a header: BenchHeader, and BenchRow \
            in all others; ResultsHeader, and NetworkRow in all others; or RunHeader of an audit, a \
            trace or a choice, and its rows.",
        "anyOf": lines,
        "$defs": generator.take_definitions(true),
    })
}

fn path() -> PathBuf {
    let lab = env::var("CARGO_MANIFEST_DIR").expect("cargo runs the test");
    PathBuf::from(lab).join("../../docs/results.schema.json")
}
