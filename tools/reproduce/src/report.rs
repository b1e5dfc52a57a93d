//! The page of a study: that of a benchmark, with the study's findings.

use groupkey_lab::bench::{BenchHeader, BenchRow};
use groupkey_lab::report::{Report, Reproduction};

use crate::printed;
use crate::role_rows::modelled_ns;
use crate::study::{Study, StudyResult};

impl Study {
    /// Builds a study's report: rows, the study's findings, and its devices' times beside ours.
    /// `command` makes these results again.
    pub fn report(
        &self,
        header: &BenchHeader,
        rows: &[BenchRow],
        examination: &StudyResult,
        command: String,
    ) -> Report {
        let reproduction = Reproduction {
            title: self.title.to_owned(),
            source: self.source.to_owned(),
            published: examination.published.clone(),
            verdicts: examination.verdicts.clone(),
            command,
            ..Reproduction::default()
        };
        let mut report =
            Report { reproduction: Some(reproduction), printed: printed(), ..Report::default() };
        report.add(header, rows.iter().map(|row| self.on_its_device(row.clone())));
        report
    }

    /// Adds to the row its cost on the study's device, if the cost is known.
    fn on_its_device(&self, mut row: BenchRow) -> BenchRow {
        let device = (self.device)(&row.role);
        let modelled = modelled_ns(device, &row, &row.primitives);
        if !modelled.is_nan() {
            row.device = Some(device.to_owned());
            row.device_ns = Some(modelled);
        }
        row
    }
}
