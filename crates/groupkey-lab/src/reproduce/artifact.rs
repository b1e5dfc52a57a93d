//! An artifact that others can check: what is in it, where it comes from, and what its claims are.
//!
//! The metadata is an RO-Crate 1.2: one JSON-LD file that describes the folder it is in.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::verdict::Verdict;

/// Name of the metadata file, which RO-Crate fixes.
pub const METADATA: &str = "ro-crate-metadata.json";

/// What a run was, for its metadata.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// Version of groupkey.
    pub version: String,
    /// Commit of the code that ran.
    pub commit: String,
    /// Processor and number of cores.
    pub machine: String,
    /// The command that makes the files again.
    pub command: String,
    /// Seed of the run.
    pub seed: u64,
    /// Begin and end, in seconds since 1970 (UTC).
    pub ran: (u64, u64),
}

/// A file of the artifact.
#[derive(Clone, Debug)]
pub struct ArtifactFile {
    /// Its path within the folder, with `/`.
    pub path: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// A claim of the artifact: what to run, how long it takes, and what comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimEntry {
    /// The study.
    pub study: String,
    /// The finding's name within the study.
    pub finding: String,
    /// The finding.
    pub claim: String,
    /// What decides it.
    pub ground: String,
    /// The smallest effect that counts against it.
    pub margin: String,
    /// The outcome that is expected.
    pub expected: String,
    /// The command that decides it.
    pub command: String,
    /// About how long the command takes (s).
    pub seconds: f64,
}

impl ClaimEntry {
    /// Lists the claims of a study that took so long.
    pub fn of_study(study: &str, verdicts: &[Verdict], seconds: f64, command: &str) -> Vec<Self> {
        let entry = |verdict: &Verdict| Self {
            study: study.to_owned(),
            finding: verdict.id.clone(),
            claim: verdict.claim.clone(),
            ground: verdict.ground.name(),
            margin: verdict.margin.clone(),
            expected: verdict.outcome.name().to_owned(),
            command: command.to_owned(),
            seconds: seconds.round(),
        };
        verdicts.iter().map(entry).collect()
    }
}

/// Returns the outcomes that are expected of `groupkey reproduce all --quick`.
pub fn expected() -> Vec<ClaimEntry> {
    serde_json::from_str(include_str!("expected.json")).expect("a test reads it")
}

/// Returns how the claims differ from those expected, a sentence each.
pub fn differences(found: &[ClaimEntry], expected: &[ClaimEntry]) -> Vec<String> {
    let differs = found.iter().filter_map(|claim| {
        let same =
            |other: &&ClaimEntry| (&other.study, &other.finding) == (&claim.study, &claim.finding);
        let name = format!("{} {}", claim.study, claim.finding);
        match expected.iter().find(same) {
            None => Some(format!("{name}: not expected at all")),
            Some(other) if other.expected != claim.expected => {
                Some(format!("{name}: {}, expected: {}", claim.expected, other.expected))
            }
            Some(_) => None,
        }
    });
    differs.collect()
}

/// Formats the claims as a page.
pub fn claims_page(claims: &[ClaimEntry]) -> String {
    let mut page =
        "# Claims\n\nAfter this page you know which command decides each finding, about how \
                    long it takes, and what is expected.\n"
            .to_owned();
    for of_study in claims.chunk_by(|a, b| a.study == b.study) {
        let first = &of_study[0];
        let _ = write!(
            page,
            "\n## {}\n\n`{}`, about {:.0} s.\n\n| finding | claim | decided by | expected |\n|---|---|---|---|\n",
            first.study, first.command, first.seconds
        );
        for claim in of_study {
            let ClaimEntry { finding, claim, ground, expected, .. } = claim;
            let _ = writeln!(
                page,
                "| `{finding}` | {} | {ground} | {expected} |",
                claim.replace('|', "\\|")
            );
        }
    }
    page
}

/// Returns the metadata of a folder with these files.
pub fn metadata(provenance: &Provenance, files: &[ArtifactFile]) -> String {
    let Provenance { version, commit, machine, command, seed, ran } = provenance;
    let [begun, ended] = [ran.0, ran.1].map(timestamp);
    let reference = |id: &str| json!({ "@id": id });
    let parts: Vec<Value> = files.iter().map(|file| reference(&file.path)).collect();
    let mut graph = vec![
        json!({
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": reference("./"),
            "conformsTo": reference("https://w3id.org/ro/crate/1.2"),
        }),
        json!({
            "@id": "./",
            "@type": "Dataset",
            "name": "Published findings about group key schemes, run again",
            "description": "Rows, findings and pages of five published studies, as groupkey's code decides them.",
            "datePublished": ended,
            "license": reference("https://spdx.org/licenses/MIT"),
            "hasPart": parts,
            "mentions": reference("#run"),
        }),
        json!({
            "@id": "https://spdx.org/licenses/MIT",
            "@type": "CreativeWork",
            "name": "MIT License",
            "description": "groupkey is under MIT or Apache-2.0, at your choice.",
        }),
        json!({
            "@id": "#run",
            "@type": "CreateAction",
            "name": command,
            "description": format!("seed {seed}, on {machine}"),
            "instrument": [reference("#groupkey"), reference("#machine")],
            "startTime": begun,
            "endTime": ended,
            "object": reference("#seed"),
            "result": parts,
        }),
        json!({
            "@id": "#groupkey",
            "@type": "SoftwareApplication",
            "name": "groupkey",
            "version": format!("{version}, commit {commit}"),
        }),
        json!({ "@id": "#machine", "@type": "Thing", "name": machine }),
        json!({ "@id": "#seed", "@type": "PropertyValue", "name": "seed", "value": seed }),
    ];
    graph.extend(files.iter().map(|file| {
        json!({
            "@id": file.path,
            "@type": "File",
            "name": file.path,
            "encodingFormat": encoding(&file.path),
            "contentSize": file.content.len().to_string(),
            "sha256": hash(&file.content),
        })
    }));
    let crate_ = json!({ "@context": "https://w3id.org/ro/crate/1.2/context", "@graph": graph });
    format!("{crate_:#}\n")
}

fn hash(content: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(content) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn encoding(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "cff" => "application/yaml",
        "csv" => "text/csv",
        "html" => "text/html",
        "json" => "application/json",
        "jsonl" => "application/jsonl",
        "md" => "text/markdown",
        "parquet" => "application/vnd.apache.parquet",
        "tex" => "application/x-tex",
        _ => "application/octet-stream",
    }
}

/// Formats seconds since 1970 as a time of RFC 3339 (days to dates: the civil calendar in 400
/// years, which begins in March).
fn timestamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + 400 * era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        // The leap day of 2000, and the last second of 2024: from `date -u`.
        assert_eq!(timestamp(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(timestamp(1_735_689_599), "2024-12-31T23:59:59Z");
    }

    #[test]
    fn the_metadata_names_every_file_with_its_hash() {
        let provenance = Provenance {
            version: "1".to_owned(),
            commit: "c".to_owned(),
            machine: "m".to_owned(),
            command: "groupkey reproduce all".to_owned(),
            seed: 7,
            ran: (0, 60),
        };
        let file = ArtifactFile { path: "nishat/summary.csv".to_owned(), content: b"abc".to_vec() };
        let found: Value =
            serde_json::from_str(&metadata(&provenance, &[file])).expect("it is JSON");
        let graph = found["@graph"].as_array().expect("a graph");
        let of = |id: &str| graph.iter().find(|entity| entity["@id"] == id).expect(id);
        assert_eq!(of(METADATA)["conformsTo"]["@id"], "https://w3id.org/ro/crate/1.2");
        for property in ["name", "description", "datePublished", "license"] {
            assert!(!of("./")[property].is_null(), "RO-Crate asks for {property}");
        }
        assert_eq!(of("./")["hasPart"][0]["@id"], "nishat/summary.csv");
        // FIPS 180-4, appendix B.1.
        assert_eq!(
            of("nishat/summary.csv")["sha256"],
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(of("#run")["endTime"], "1970-01-01T00:01:00Z");
    }

    #[test]
    fn every_finding_is_expected_once() {
        let expected = expected();
        assert_eq!(expected.len(), 57);
        assert_eq!(differences(&expected, &expected), Vec::<String>::new());
        let mut other = expected.clone();
        other[0].expected = "something else".to_owned();
        assert_eq!(differences(&other, &expected).len(), 1);
    }
}
