//! A scenario whose scheme changes: members come and go for months, and a policy decides.

use std::path::{Path, PathBuf};

use groupkey_choose::Requirements;
use groupkey_choose::adapt::AdaptationPolicy;
use groupkey_choose::input::{InputError, Mistake};
use groupkey_choose::requirements::{RequirementsDraft, RequirementsError};
use serde::Deserialize;
use toml::Spanned;

use super::ScenarioError;
use super::name::Named;
use crate::bench::trace::{ArrivalPattern, Trace, TraceGenerator};
use crate::choose::LaboratoryFiles;

/// A scenario with `scheme = "auto"`, read and checked.
#[derive(Clone, Debug)]
pub struct AdaptiveScenario {
    /// What the scenario is about.
    pub description: String,
    /// Who joins and leaves, and when.
    pub trace: Trace,
    /// The time between two looks at the group (s).
    pub observe: f64,
    /// How readily the group changes its scheme.
    pub policy: AdaptationPolicy,
    /// What does not change: network, devices, limits, security and weights.
    pub requirements: Requirements,
    /// How often each change is simulated.
    pub runs: u32,
    /// Seed of all randomness.
    pub seed: u64,
}

impl AdaptiveScenario {
    /// Reads a scenario file. `None` if it names a scheme, so that it is an ordinary
    /// [`Scenario`](super::Scenario).
    pub fn load(path: &Path) -> Result<Option<Self>, ScenarioError> {
        let text = InputError::read(path)?;
        let mistake = |mistake| InputError::in_text(path, &text, mistake);
        // Whatever else is wrong with it is told by whoever reads all of it.
        let is_auto =
            toml::from_str::<Outline>(&text).is_ok_and(|file| file.group.scheme == "auto");
        if !is_auto {
            return Ok(None);
        }
        let file: AdaptiveFile = toml::from_str(&text).map_err(|error| mistake(error.into()))?;
        let policy = file.adapt.policy().map_err(mistake)?;
        let observe = file.adapt.observe().map_err(mistake)?;
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        let trace = match &file.life {
            Life {
                trace: Some(trace),
                kind: None,
                members: None,
                stay_minutes: None,
                days: None,
            } => Trace::load(&folder.join(trace.get_ref()))?,
            life => life
                .generator(file.seed)
                .and_then(|generator| {
                    let trace = generator.get_ref().trace();
                    trace.map_err(|error| Mistake::at(generator.span().start, error))
                })
                .map_err(mistake)?,
        };
        if trace.duration_ms() as f64 / 1e3 / observe > MOST_LOOKS {
            let start = file.adapt.observe_s.as_ref().map_or(0, |observe| observe.span().start);
            let problem = format!("more than {MOST_LOOKS} looks at the group; look less often");
            return Err(mistake(Mistake::at(start, problem)));
        }
        let requirements = match &file.adapt.requirements {
            Some(name) => {
                let path = folder.join(name);
                let read = RequirementsDraft::load(&path, &LaboratoryFiles)
                    .and_then(|draft| draft.finish_for_policy());
                read.map_err(|error| in_file(path, error))?
            }
            None => Requirements::default(),
        };
        let runs = file.runs.map_or(Ok(RUNS), |runs| match runs.get_ref() {
            1..=MOST_RUNS => Ok(*runs.get_ref()),
            _ => Err(Mistake::at(runs.span().start, format!("runs can be 1 to {MOST_RUNS}"))),
        });
        let runs = runs.map_err(mistake)?;
        let AdaptiveFile { description, seed, .. } = file;
        Ok(Some(Self { description, trace, observe, policy, requirements, runs, seed }))
    }
}

fn in_file(path: PathBuf, error: RequirementsError) -> InputError {
    match error {
        RequirementsError::File(error) => error,
        error @ RequirementsError::Setting { .. } => {
            InputError { path, position: None, problem: error.to_string() }
        }
    }
}

/// Runs of each change without a key `runs`, and the most.
const RUNS: u32 = 20;
const MOST_RUNS: u32 = 1_000_000;
/// The most looks at the group: a year, twice a minute.
const MOST_LOOKS: f64 = 1_100_000.0;

/// As much of a file as says what kind it is.
#[derive(Deserialize)]
struct Outline {
    group: OutlineGroup,
}

#[derive(Deserialize)]
struct OutlineGroup {
    scheme: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AdaptiveFile {
    description: String,
    runs: Option<Spanned<u32>>,
    #[serde(default)]
    seed: u64,
    #[expect(dead_code, reason = "the outline has its only key")]
    group: AdaptiveGroup,
    life: Life,
    #[serde(default)]
    adapt: Adapt,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AdaptiveGroup {
    #[expect(dead_code, reason = "it is \"auto\"")]
    scheme: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Life {
    trace: Option<Spanned<PathBuf>>,
    kind: Option<Spanned<Named<ArrivalPattern>>>,
    members: Option<u32>,
    stay_minutes: Option<f64>,
    days: Option<f64>,
}

/// As the service's configuration has it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Adapt {
    requirements: Option<PathBuf>,
    floor_s: Option<Spanned<f64>>,
    horizon_s: Option<Spanned<f64>>,
    window_s: Option<Spanned<f64>>,
    margin: Option<Spanned<f64>>,
    patience: Option<Spanned<f64>>,
    observe_s: Option<Spanned<f64>>,
}

impl Life {
    fn generator(&self, seed: u64) -> Result<Spanned<TraceGenerator>, Mistake> {
        const HELP: &str = "[life] needs trace = FILE, or kind, members, stay_minutes and days";
        let place = self.trace.as_ref().map(Spanned::span);
        let place = place.or_else(|| self.kind.as_ref().map(Spanned::span)).unwrap_or_default();
        let Self {
            trace: None,
            kind: Some(kind),
            members: Some(members),
            stay_minutes: Some(stay_minutes),
            days: Some(days),
        } = self
        else {
            return Err(Mistake::at(place.start, HELP));
        };
        let generator = TraceGenerator {
            kind: kind.get_ref().0,
            members: *members,
            stay_minutes: *stay_minutes,
            duration_minutes: days * 24.0 * 60.0,
            seed,
        };
        Ok(Spanned::new(place, generator))
    }
}

impl Adapt {
    fn policy(&self) -> Result<AdaptationPolicy, Mistake> {
        let default = AdaptationPolicy::default();
        let number = |value: &Option<Spanned<f64>>, name, least, default| {
            between(value.as_ref(), name, (least, 1e9), default)
        };
        Ok(AdaptationPolicy {
            floor: number(&self.floor_s, "floor_s", 0.0, default.floor)?,
            horizon: number(&self.horizon_s, "horizon_s", 0.0, default.horizon)?,
            window: number(&self.window_s, "window_s", 1.0, default.window)?,
            margin: number(&self.margin, "margin", 0.0, default.margin)?,
            patience: number(&self.patience, "patience", 0.0, default.patience)?,
        })
    }

    fn observe(&self) -> Result<f64, Mistake> {
        between(self.observe_s.as_ref(), "observe_s", (1.0, 86_400.0), 900.0)
    }
}

fn between(
    value: Option<&Spanned<f64>>,
    name: &str,
    (least, most): (f64, f64),
    default: f64,
) -> Result<f64, Mistake> {
    let Some(value) = value else { return Ok(default) };
    match *value.get_ref() {
        number if (least..=most).contains(&number) => Ok(number),
        number => {
            let problem = format!("{name} is {number}: it can be {least} to {most:e}");
            Err(Mistake::at(value.span().start, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn load(text: &str) -> Result<Option<AdaptiveScenario>, ScenarioError> {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("auto.toml");
        fs::write(&path, text).expect("it can be written");
        AdaptiveScenario::load(&path)
    }

    const HEAD: &str = "description = 'x'\n[group]\nscheme = 'auto'\n[life]\nkind = 'day'\nmembers = \
                        10\nstay_minutes = 60\n";

    #[test]
    fn a_scenario_that_names_a_scheme_is_another_kind() {
        let text = "description = 'x'\n[group]\nscheme = 'skdc'\nmembers = 10\n";
        assert!(load(text).expect("it can be read").is_none());
    }

    #[test]
    fn a_drawn_life_and_the_policy_are_read() {
        let scenario = load(&format!("{HEAD}days = 1\n[adapt]\nfloor_s = 60\npatience = 1\n"));
        let scenario = scenario.expect("it can be read").expect("it is one");
        assert_eq!((scenario.policy.floor, scenario.policy.patience), (60.0, 1.0));
        assert_eq!(scenario.trace.initial().len(), 10);
        assert_eq!((scenario.runs, scenario.observe), (RUNS, 900.0));
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        for (rest, told) in [
            ("", ":5:8: [life] needs trace = FILE, or kind, members, stay_minutes and days"),
            ("days = -1\n", ":5:8: "),
            ("days = 1\ntrace = 'x.csv'\n", ":9:9: [life] needs"),
            ("days = 1\n[adapt]\nmargin = -1\n", ":10:10: margin is -1: it can be 0 to 1e9"),
            ("days = 1\n[adapt]\nobserve_s = 0\n", ":10:13: observe_s is 0"),
            ("days = 365\n[adapt]\nobserve_s = 1\n", ":10:13: more than 1100000 looks"),
            ("days = 1\n[mqtt]\nqos = 1\n", "unknown field `mqtt`"),
            ("days = 1\n[adapt]\nrequirements = 'none.toml'\n", "none.toml:"),
        ] {
            let error = load(&format!("{HEAD}{rest}")).expect_err("it has a mistake").to_string();
            assert!(error.contains(told), "{rest}: {error}");
        }
    }
}
