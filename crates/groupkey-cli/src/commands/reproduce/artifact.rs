//! `groupkey reproduce all --artifact`: what a folder of results needs so that others can check it.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use groupkey_lab::reproduce::artifact::{
    ArtifactFile, ClaimEntry, METADATA, Provenance, claims_page, metadata,
};

use super::folder::Folder;
use crate::failure::Failure;
use crate::provenance;

/// How to cite groupkey and the studies.
const CITATION: &str = include_str!("../../../../../CITATION.cff");

/// Writes claims, citation and metadata beside the results.
pub(super) fn write(
    folder: &Folder,
    claims: &[ClaimEntry],
    command: String,
    seed: u64,
    begun: u64,
) -> Result<(), Failure> {
    let json = serde_json::to_vec_pretty(claims).expect("it is plain data");
    folder.write_whole("claims.json", &json)?;
    folder.write_whole("claims.md", claims_page(claims).as_bytes())?;
    folder.write_whole("CITATION.cff", CITATION.as_bytes())?;
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: provenance::COMMIT.to_owned(),
        machine: provenance::machine(),
        command,
        seed,
        ran: (begun, now()),
    };
    let files = files(&folder.file("."), "")?;
    folder.write_whole(METADATA, metadata(&provenance, &files).as_bytes())?;
    Ok(())
}

/// Returns the seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}

/// Reads all files of a folder, in the order of their names. The metadata does not describe itself.
fn files(folder: &Path, prefix: &str) -> Result<Vec<ArtifactFile>, Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::running(format!("cannot read {}: {error}", path.display()))
    };
    let entries = fs::read_dir(folder).map_err(|error| failed(folder, error))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|error| failed(folder, error))?.path());
    }
    paths.sort_unstable();
    let mut found = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(files(&path, &format!("{prefix}{name}/"))?);
        } else if name != METADATA {
            let content = fs::read(&path).map_err(|error| failed(&path, error))?;
            found.push(ArtifactFile { path: format!("{prefix}{name}"), content });
        }
    }
    Ok(found)
}
