//! How much flash and static memory a member's program takes: the firmware's program `member`, built for
//! one scheme and weighed.

use std::fs;
use std::path::Path;

use groupkey::Suite;
use groupkey::catalogue::{Class, Scheme};
use groupkey::protection::Guard;
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionFlags, elf};
use serde::{Deserialize, Serialize};

use super::emulated::{EmulationError, Target, check_firmware};
use crate::results::{FileHeader, FileRow, Origin, ResultColumn, fields};

/// What the program of one member takes of a chip, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberFlash {
    /// Processor: `cortex-m4` or `rv32imac`.
    pub target: String,
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// `centralized`, `hybrid` or `distributed`.
    pub class: String,
    /// `specified`, `reconstructed`, `stand-in` or `foreign`.
    pub provenance: String,
    /// Suite of algorithms: the only one that is linked.
    pub suite: String,
    /// Protection of messages: `mac` or `signature`.
    pub protection: String,
    /// Code, constants and first values of variables, with start-up code and an allocator.
    pub flash_bytes: u64,
    /// The same without what an empty program takes: start-up code and an allocator.
    pub beside_empty_bytes: u64,
    /// Static variables, without the heap.
    pub static_ram_bytes: u64,
}

/// First line of a file of what members' programs take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberFlashHeader {
    /// Always `groupkey-member-flash`.
    pub format: String,
    /// Version of the format; readers refuse any other.
    pub version: u32,
    /// Commit of the code that was weighed.
    pub commit: String,
    /// The compiler, with its version.
    pub machine: String,
}

impl MemberFlashHeader {
    /// Returns the header of a run.
    pub fn new(commit: String, machine: String) -> Self {
        Self { format: Self::FORMAT.to_owned(), version: Self::VERSION, commit, machine }
    }
}

impl FileHeader for MemberFlashHeader {
    type Row = MemberFlash;
    const FORMAT: &'static str = "groupkey-member-flash";
    const VERSION: u32 = 1;

    fn origin(&self) -> Origin<'_> {
        Origin { commit: &self.commit, machine: &self.machine, seed: 0 }
    }
}

impl FileRow for MemberFlash {
    fn columns() -> Vec<ResultColumn<Self>> {
        let mut columns = Vec::new();
        columns.extend(fields![text: target, scheme, class, provenance, suite, protection]);
        columns.extend(fields![integer: flash_bytes, beside_empty_bytes, static_ram_bytes]);
        columns
    }
}

/// A program of the firmware: what the linker made.
#[derive(Debug)]
pub struct Program(Vec<u8>);

impl MemberFlash {
    /// Returns the rows that were recorded, of all schemes on all processors.
    pub fn recorded() -> Vec<Self> {
        let rows = include_str!("../../data/flash.jsonl").lines().skip(1).map(serde_json::from_str);
        rows.collect::<Result<_, _>>().expect("a test reads it")
    }

    /// Builds and weighs the program of a member with the suite `standard`, `constrained` or `pq`, and
    /// with a MAC or signatures. `firmware` is the folder of the firmware.
    pub fn weigh(
        target: Target,
        scheme: &'static Scheme,
        suite: Suite,
        guard: Guard,
        firmware: &Path,
    ) -> Result<Self, EmulationError> {
        let mut features = vec![family(scheme), suite_feature(suite)];
        if guard.signs() {
            features.push("signatures");
        }
        let program = Program::built("member", scheme.id, &features, target, firmware)?;
        let empty = Program::built("empty", scheme.id, &features, target, firmware)?;
        Ok(Self {
            target: target.name().to_owned(),
            scheme: scheme.id.to_owned(),
            class: scheme.class().name().to_owned(),
            provenance: scheme.provenance.name().to_owned(),
            suite: suite.name().to_owned(),
            protection: guard.name().to_owned(),
            flash_bytes: program.flash_bytes(),
            beside_empty_bytes: program.flash_bytes().saturating_sub(empty.flash_bytes()),
            static_ram_bytes: program.static_ram_bytes(),
        })
    }
}

impl Program {
    /// Builds a program of the firmware for size, with these features.
    pub fn built(
        name: &str,
        scheme: &str,
        features: &[&str],
        target: Target,
        firmware: &Path,
    ) -> Result<Self, EmulationError> {
        check_firmware(firmware)?;
        target.check_compiler()?;
        // A folder for each set of features, so that builds at the same time do not wait, and the
        // next scheme of a family finds the library built.
        let folder = Path::new("../target/firmware/flash").join(features.join("-"));
        let mut cargo = target.cargo("build", firmware, &folder);
        cargo
            .args(["--config", "small.toml", "--profile", "flash", "--bin", name])
            .args(["--no-default-features", "--features", "member"])
            .args(["--features", &features.join(",")])
            .env("GROUPKEY_SCHEME", scheme);
        target.build(&mut cargo)?;
        let path = firmware.join(folder).join(target.triple()).join("flash").join(name);
        fs::read(path).map(Self).map_err(EmulationError::Io)
    }

    /// Returns what the chip keeps of the program: code, constants, and the first values of variables
    /// (bytes).
    pub fn flash_bytes(&self) -> u64 {
        self.sum(|has_bytes, _| has_bytes)
    }

    /// Returns what static variables take (bytes), without the memory that the program gives to the
    /// heap.
    pub fn static_ram_bytes(&self) -> u64 {
        let file = self.file();
        let heap = file
            .symbols()
            .filter(|symbol| symbol.name().is_ok_and(|name| name.contains("HEAP_MEM")));
        let heap: u64 = heap.map(|symbol| symbol.size()).sum();
        // The linker's script gives what is left to sections of its own, which no variable is in.
        self.sum(|_, name| matches!(name, ".data" | ".bss" | ".uninit")).saturating_sub(heap)
    }

    /// Returns the names of the program's functions and variables.
    pub fn symbols(&self) -> Vec<String> {
        let file = self.file();
        file.symbols().filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
    }

    /// Adds up the sections that are in the chip's memory.
    fn sum(&self, wanted: impl Fn(bool, &str) -> bool) -> u64 {
        let file = self.file();
        let kept = file.sections().filter(|section| {
            let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
            let kind = section.elf_section_header().sh_type.get(file.endian());
            let is_there = sh_flags & u64::from(elf::SHF_ALLOC) != 0;
            is_there && wanted(kind != elf::SHT_NOBITS, section.name().unwrap_or_default())
        });
        kept.map(|section| section.size()).sum()
    }

    fn file(&self) -> ElfFile32<'_, Endianness> {
        ElfFile32::parse(&*self.0).expect("the linker makes ELF files")
    }
}

pub(super) fn family(scheme: &Scheme) -> &'static str {
    match scheme.class() {
        _ if scheme.computes_pairings() => "pairing",
        Class::Centralized => "centralized",
        Class::Hybrid => "hybrid",
        Class::Distributed => "distributed",
    }
}

/// The feature of the firmware for a suite. Others than these are for reproducing papers only.
const fn suite_feature(suite: Suite) -> &'static str {
    match suite {
        Suite::Constrained => "suite-constrained",
        Suite::Pq => "suite-pq",
        _ => "suite-standard",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_was_weighed_on_every_processor() {
        let rows = MemberFlash::recorded();
        for target in Target::ALL {
            for scheme in groupkey::catalogue::SCHEMES {
                for suite in [Suite::Standard, Suite::Constrained] {
                    let is_there = rows.iter().any(|row| {
                        let of = (row.target.as_str(), row.scheme.as_str(), row.suite.as_str());
                        of == (target.name(), scheme.id, suite.name()) && row.protection == "mac"
                    });
                    let (target, suite) = (target.name(), suite.name());
                    assert!(is_there, "{} on {target}, {suite}: tools/record flash", scheme.id);
                }
            }
        }
    }
}
