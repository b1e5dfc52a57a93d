//! The best test bed's prediction of each value and of each cell of the study.

use groupkey::Operation;
use serde::Serialize;

use super::InferenceOptions;
use super::bed::Reported;
use super::observation::{Observation, plan, run_once};
use super::search::{Candidate, in_parallel};
use crate::campaign::CampaignError;
use crate::published;
use crate::reproduce::network_impact::schemes::{GDH, SCHEMES};
use crate::results::RunSample;
use crate::statistics::Moments;

/// A value of the study, and the best test bed's.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// The value's name.
    pub key: String,
    /// The study's value (ms).
    pub published_ms: f64,
    /// The test bed's mean (ms).
    pub predicted_ms: f64,
    /// Where the mean of the study's 30 runs lies with 95 % on this test bed (ms). A tenth is
    /// allowed for the simulator.
    pub interval_ms: [f64; 2],
    /// Relative error.
    pub error: f64,
    /// Whether the value comes out by construction.
    pub calibrated: bool,
}

/// The prediction of a cell of the study.
#[derive(Clone, Debug, Serialize)]
pub struct CellPrediction {
    /// The scheme's id.
    pub scheme: &'static str,
    /// `create`, `add` or `remove`.
    pub operation: &'static str,
    /// Members of the group.
    pub members: u32,
    /// Packet loss (%).
    pub loss_percent: f64,
    /// One-way delay (ms).
    pub delay_ms: f64,
    /// The time that the study would report (ms), and its part on the network.
    pub mean_ms: f64,
    /// The transmission alone (ms).
    pub transmission_ms: f64,
    /// Standard deviation of a single run (ms).
    pub sd_ms: f64,
    /// Where the mean of the study's 30 runs lies with 95 % (ms).
    pub interval_ms: [f64; 2],
    /// The same time if the member's request counts (ms), for joins and leaves.
    pub with_request_ms: Option<f64>,
}

/// Sets the test bed's values beside the study's.
pub(super) fn of_values(observations: &[Observation], best: &Candidate) -> Vec<Prediction> {
    let each = observations.iter().zip(&best.found);
    each.map(|(seen, found)| Prediction {
        key: seen.key.clone(),
        published_ms: seen.value,
        predicted_ms: found.mean,
        interval_ms: interval(found),
        error: found.mean / seen.value - 1.0,
        calibrated: seen.calibrated,
    })
    .collect()
}

/// Runs every cell of the study on a test bed. Returns `None` if it was stopped.
pub(super) fn cells(
    options: &InferenceOptions<'_>,
    best: &Candidate,
) -> Result<Option<Vec<CellPrediction>>, CampaignError> {
    let setup = published::network_impact().setup;
    let runs = options.runs;
    let mut settings = Vec::new();
    for scheme in SCHEMES {
        let sizes = match scheme {
            GDH => &setup.group_sizes_distributed,
            _ => &setup.group_sizes_centralized,
        };
        for &members in sizes {
            for &delay_ms in &setup.delay_ms {
                for &loss_percent in &setup.packet_loss_percent {
                    settings.push((scheme, members, loss_percent, delay_ms, None));
                    if scheme != GDH {
                        let request = Some(REQUEST_BYTES);
                        settings.push((scheme, members, loss_percent, delay_ms, request));
                    }
                }
            }
        }
    }
    let work: Vec<(usize, u32)> =
        (0..settings.len()).flat_map(|place| (0..runs).map(move |run| (place, run))).collect();
    let samples = in_parallel(options, work.len(), &|number| {
        let (place, run) = work[number];
        let (scheme, members, loss_percent, delay_ms, request) = settings[place];
        let mut plan = plan(scheme, members, &Operation::MEASURED, options.seed);
        plan.request_bytes = request;
        run_once(&best.bed, &best.devices, &plan, loss_percent, delay_ms, run)
    })?;
    let Some(samples) = samples else {
        return Ok(None);
    };
    let moments = |place: usize, step: usize, of: &dyn Fn(&RunSample) -> f64| {
        let runs = samples.chunks(runs as usize).nth(place).unwrap_or_default();
        Moments::of(&runs.iter().map(|run| of(&run[step])).collect::<Vec<f64>>())
    };
    let mut cells = Vec::new();
    for (place, &(scheme, members, loss_percent, delay_ms, request)) in settings.iter().enumerate()
    {
        if request.is_some() {
            continue;
        }
        for (step, operation) in ["create", "add", "remove"].into_iter().enumerate() {
            let time = |sample: &RunSample| match best.bed.reported {
                Reported::MeanOfMembers if scheme != GDH => sample.member_mean_ms,
                _ => sample.total_ms,
            };
            let found = moments(place, step, &time);
            let with_request =
                (scheme != GDH && step > 0).then(|| moments(place + 1, step, &time).mean);
            cells.push(CellPrediction {
                scheme,
                operation,
                members,
                loss_percent,
                delay_ms,
                mean_ms: found.mean,
                transmission_ms: moments(place, step, &|sample| sample.transmission_ms).mean,
                sd_ms: found.variance.sqrt(),
                interval_ms: interval(&found),
                with_request_ms: with_request,
            });
        }
    }
    Ok(Some(cells))
}

/// Returns where a mean of the study's runs lies with 95 %.
fn interval(found: &Moments) -> [f64; 2] {
    let study = f64::from(published::network_impact().setup.repetitions);
    let variance =
        found.variance / study + found.variance / found.n.max(1.0) + (0.05 * found.mean).powi(2);
    let half = 1.96 * variance.sqrt();
    [(found.mean - half).max(0.0), found.mean + half]
}

/// Bytes of a request to join or leave, as `net --request` takes it.
const REQUEST_BYTES: u32 = 48;
