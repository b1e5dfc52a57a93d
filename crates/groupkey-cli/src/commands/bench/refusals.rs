//! Activities that schemes refuse at a size.

use groupkey::Error;
use groupkey::catalogue::Scheme;
use groupkey_lab::bench::{Activity, Unit};

use crate::failure::Failure;

/// Refused activities: one entry for each scheme, size and reason.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<BenchRefusal>);

impl Refusals {
    /// Adds a refusal.
    pub(super) fn add(&mut self, unit: Unit<'_>, activity: Activity, error: Error) {
        let (scheme, members) = (unit.plan.scheme, unit.members);
        let is_alike = |known: &&mut BenchRefusal| {
            (known.scheme.id, known.members, known.error) == (scheme.id, members, error)
        };
        let activity = activity.name();
        match self.0.iter_mut().find(is_alike) {
            None => {
                self.0.push(BenchRefusal { scheme, members, error, activities: vec![activity] })
            }
            Some(known) if known.activities.contains(&activity) => {}
            Some(known) => known.activities.push(activity),
        }
    }

    /// Returns a line for each scheme, size and reason.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|BenchRefusal { scheme, members, error, activities }| {
            format!("{}: no {} of {members} members: {error}", scheme.id, activities.join(", "))
        })
    }

    /// Returns why there is no row at all.
    pub(super) fn failure(&self) -> Failure {
        let has_capacity = |refusal: &BenchRefusal| {
            refusal.scheme.parameters.iter().any(|parameter| parameter.name == "capacity")
        };
        let reason = self.0.first().map(|refusal| format!(": {}", refusal.error));
        let failure = Failure::input(format!("nothing was measured{}", reason.unwrap_or_default()));
        failure.with_help(match self.0.iter().any(has_capacity) {
            true => "fewer --members, or more room with --set capacity=..",
            false => "`groupkey schemes ID` has the limits",
        })
    }
}

#[derive(Debug)]
struct BenchRefusal {
    scheme: &'static Scheme,
    members: u32,
    error: Error,
    activities: Vec<&'static str>,
}
