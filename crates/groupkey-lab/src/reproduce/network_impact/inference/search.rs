//! The search over all test beds, from coarse to fine.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use groupkey_sim::{Duration, Processing, Stack};

use super::InferenceOptions;
use super::bed::{Devices, TestBed};
use super::observation::{Observation, observations};
use crate::campaign::CampaignError;
use crate::plan::Plan;
use crate::reproduce::network_impact::{CONTROLLER, MEMBER, built_in};
use crate::statistics::Moments;

/// A test bed with what its runs gave so far.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) bed: TestBed,
    pub(super) devices: Devices,
    pub(super) runs: u32,
    /// The samples and the moments of each observation.
    samples: Vec<Vec<f64>>,
    pub(super) found: Vec<Moments>,
    pub(super) log_likelihood: f64,
}

/// The state of the search.
pub(super) struct Search<'a> {
    options: &'a InferenceOptions<'a>,
    observations: Vec<Observation>,
    /// One plan for each observation.
    plans: Vec<Plan>,
    searched: usize,
    ruled_out: usize,
    /// Runs done and planned, for the progress.
    done: AtomicUsize,
    planned: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(options: &'a InferenceOptions<'a>) -> Self {
        let observations = observations();
        let plans = observations.iter().map(|seen| seen.plan(options.seed)).collect();
        Self {
            options,
            observations,
            plans,
            searched: 0,
            ruled_out: 0,
            done: AtomicUsize::new(0),
            planned: 0,
        }
    }

    pub(super) fn observations(&self) -> &[Observation] {
        &self.observations
    }

    /// Returns the number of all test beds, and of those that delay alone rules out.
    pub(super) const fn searched(&self) -> usize {
        self.searched
    }

    pub(super) const fn ruled_out(&self) -> usize {
        self.ruled_out
    }

    /// Runs the search. Returns the candidates, the most likely first, or `None` if it was stopped.
    pub(super) fn run(&mut self) -> Result<Option<Vec<Candidate>>, CampaignError> {
        let all = TestBed::all();
        self.searched = all.len();
        let mut quiet: Vec<TestBed> = Vec::new();
        for bed in &all {
            if !quiet.contains(&bed.without_loss()) {
                quiet.push(bed.without_loss());
            }
        }
        let stages = stages(self.options.runs);
        let places = self.observations.len();
        // Delay alone leaves about a third.
        self.planned = quiet.len() + planned(&stages, all.len() / 3) * places;

        // Without loss there is next to no chance, so delay alone decides for many at once.
        let Some(calibrated) = self.for_each(quiet.len(), &|place| {
            let devices = self.calibrate(&quiet[place])?;
            let fits = self.fits_delay(&quiet[place], &devices)?;
            Ok((devices, fits))
        })?
        else {
            return Ok(None);
        };
        let mut candidates = Vec::new();
        for bed in all {
            let class = quiet.iter().position(|other| *other == bed.without_loss());
            let (devices, fits) = calibrated[class.expect("every test bed has its class")];
            if fits {
                candidates.push(Candidate::new(bed, devices, places));
            }
        }
        self.ruled_out = self.searched - candidates.len();
        if candidates.is_empty() {
            return Ok(None);
        }
        let mut kept = candidates.len();
        self.planned = quiet.len() + planned(&stages, kept) * places;
        for (keep, runs) in stages {
            kept = kept.min(keep);
            if !self.refine(&mut candidates[..kept], runs)? {
                return Ok(None);
            }
            // Few runs may look good by chance, so they do not compete with many.
            candidates[..kept].sort_by(|a, b| b.log_likelihood.total_cmp(&a.log_likelihood));
        }
        candidates.retain(|candidate| candidate.runs >= self.options.runs);
        Ok(Some(candidates))
    }

    /// Runs each observation of these candidates until it has this many runs. Returns whether it
    /// was not stopped.
    fn refine(&self, candidates: &mut [Candidate], runs: u32) -> Result<bool, CampaignError> {
        let places = self.observations.len();
        let work: Vec<(usize, usize, u32)> = (0..candidates.len())
            .flat_map(|candidate| (0..places).map(move |place| (candidate, place)))
            .flat_map(|(candidate, place)| {
                let from = candidates[candidate].samples[place].len() as u32;
                let until = self.runs_worth(&candidates[candidate].bed, place, runs);
                (from..until).map(move |run| (candidate, place, run))
            })
            .collect();
        let Some(values) = self.for_each(work.len(), &|number| {
            let (candidate, place, run) = work[number];
            let Candidate { bed, devices, .. } = &candidates[candidate];
            self.observations[place].run(bed, devices, &self.plans[place], run)
        })?
        else {
            return Ok(false);
        };
        for ((candidate, place, _), value) in work.into_iter().zip(values) {
            candidates[candidate].samples[place].push(value);
        }
        for candidate in candidates {
            candidate.runs = runs;
            candidate.judge(&self.observations);
        }
        Ok(true)
    }

    /// Returns how many runs tell something. Linux without loss has no chance in it.
    fn runs_worth(&self, bed: &TestBed, place: usize, runs: u32) -> u32 {
        let is_certain = self.observations[place].loss_percent == 0.0
            && (bed.members, bed.broker) == (Stack::Linux, Stack::Linux);
        if is_certain { 1 } else { runs }
    }

    /// Solves for the time of a packet at broker and controller, and for the time of reading a
    /// payload, so that the values without loss and delay come out if they can.
    fn calibrate(&self, bed: &TestBed) -> Result<Devices, CampaignError> {
        let processing = |name| Processing::from(&built_in(name).processing);
        let mut devices =
            Devices { controller: processing(CONTROLLER), member: processing(MEMBER) };
        let find = |scheme_is_gdh: bool| {
            self.observations
                .iter()
                .position(|seen| seen.calibrated && (seen.scheme != "skdc") == scheme_is_gdh)
        };
        let (Some(skdc), Some(gdh)) = (find(false), find(true)) else {
            return Ok(devices);
        };
        // One message after the other in G-DH, each read once.
        let messages = f64::from(2 * (self.observations[gdh].members - 1));
        for _ in 0..CALIBRATION_ROUNDS {
            let missing = self.observations[gdh].value - self.mean(bed, &devices, gdh)?;
            let reading = devices.member.payload_handling.as_nanos() as f64;
            let reading = (reading + missing / messages * 1e6).max(0.0);
            devices.member.payload_handling = Duration::from_nanos(reading as u64);
            let ratio = self.observations[skdc].value / self.mean(bed, &devices, skdc)?;
            let scaled = |time: Duration| {
                Duration::from_nanos((time.as_nanos() as f64 * ratio.clamp(0.1, 10.0)) as u64)
            };
            devices.controller.publish = scaled(devices.controller.publish);
            devices.controller.acknowledgement = scaled(devices.controller.acknowledgement);
        }
        Ok(devices)
    }

    /// Returns whether the values with delay alone are within reach.
    fn fits_delay(&self, bed: &TestBed, devices: &Devices) -> Result<bool, CampaignError> {
        for (place, seen) in self.observations.iter().enumerate() {
            if seen.loss_percent == 0.0 && seen.delay_ms > 0.0 {
                let ratio = self.mean(bed, devices, place)? / seen.value;
                if !(1.0 - REACH..=1.0 + REACH).contains(&ratio) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn mean(&self, bed: &TestBed, devices: &Devices, place: usize) -> Result<f64, CampaignError> {
        let runs = self.runs_worth(bed, place, CALIBRATION_RUNS);
        let mut sum = 0.0;
        for run in 0..runs {
            sum += self.observations[place].run(bed, devices, &self.plans[place], run)?;
        }
        Ok(sum / f64::from(runs))
    }

    /// Does numbered pieces of work on all threads. Returns their results in order, or `None` if
    /// the search was stopped.
    fn for_each<T: Send>(
        &self,
        pieces: usize,
        work: &(dyn Fn(usize) -> Result<T, CampaignError> + Sync),
    ) -> Result<Option<Vec<T>>, CampaignError> {
        let report = || {
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.options.on_progress)(done, self.planned.max(done));
        };
        in_parallel(self.options, pieces, &|number| {
            let result = work(number);
            report();
            result
        })
    }
}

/// Does numbered pieces of work on all threads. Returns their results in order, or `None` if the
/// caller asked to stop.
pub(super) fn in_parallel<T: Send>(
    options: &InferenceOptions<'_>,
    pieces: usize,
    work: &(dyn Fn(usize) -> Result<T, CampaignError> + Sync),
) -> Result<Option<Vec<T>>, CampaignError> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(pieces));
    thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, pieces.max(1)) {
            scope.spawn(|| {
                while !options.stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= pieces {
                        break;
                    }
                    let result = work(number);
                    if let Ok(mut results) = results.lock() {
                        results.push((number, result));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    if results.len() < pieces {
        return Ok(None);
    }
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect::<Result<Vec<T>, _>>().map(Some)
}

impl Candidate {
    fn new(bed: TestBed, devices: Devices, observations: usize) -> Self {
        Self {
            bed,
            devices,
            runs: 0,
            samples: vec![Vec::new(); observations],
            found: Vec::new(),
            log_likelihood: f64::NEG_INFINITY,
        }
    }

    fn judge(&mut self, observations: &[Observation]) {
        self.found = self.samples.iter().map(|samples| Moments::of(samples)).collect();
        let each = observations.iter().zip(&self.found);
        self.log_likelihood = each.map(|(seen, found)| seen.log_likelihood(found)).sum();
    }
}

/// Returns the stages of the search: how many of the best test beds each keeps, and how many runs of
/// each value they then have.
fn stages(runs: u32) -> [(usize, u32); 4] {
    [
        (usize::MAX, (runs / 15).max(1)),
        (200, (runs / 5).max(1)),
        (40, runs),
        (10, runs.saturating_mul(5)),
    ]
}

/// Returns the number of runs of each value for this many test beds.
fn planned(stages: &[(usize, u32)], beds: usize) -> usize {
    let mut before = 0;
    let mut sum = 0;
    for &(keep, runs) in stages {
        sum += keep.min(beds) * (runs as usize).saturating_sub(before);
        before = runs as usize;
    }
    sum
}

/// How far a value with delay alone may be off.
const REACH: f64 = 0.25;
const CALIBRATION_ROUNDS: u32 = 2;
/// Runs of a value without loss where lwIP's timer brings chance in.
const CALIBRATION_RUNS: u32 = 3;

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn calibration_makes_the_values_without_loss_and_delay_come_out() {
        let options = InferenceOptions {
            seed: 1,
            threads: 1,
            stop: &AtomicBool::new(false),
            on_progress: &|_, _| {},
            runs: 1,
        };
        let search = Search::new(&options);
        // As the study itself is reproduced: every link, each way, no Nagle, PUBREL.
        let usual = TestBed::all().into_iter().find(|bed| {
            bed.to_string()
                == "all links, each way; linux to linux, no Nagle; forwards at pubrel, delivers at \
                    pubrel, any number in flight; last member"
        });
        let bed = usual.expect("the usual test bed is searched");
        let devices = search.calibrate(&bed).unwrap();
        for (place, seen) in search.observations.iter().enumerate() {
            if seen.calibrated {
                let ratio = search.mean(&bed, &devices, place).unwrap() / seen.value;
                assert!((0.98..1.02).contains(&ratio), "{}: {ratio}", seen.key);
            }
        }
        assert!(search.fits_delay(&bed, &devices).unwrap());
        let early = TestBed { delivery_qos: 0, ..bed };
        assert!(!search.fits_delay(&early, &devices).unwrap(), "four delays of six");
    }

    #[test]
    fn later_stages_keep_fewer_and_run_them_more() {
        for runs in [1, 30, u32::MAX] {
            assert!(stages(runs).windows(2).all(|two| two[0].0 > two[1].0 && two[0].1 <= two[1].1));
        }
        assert_eq!(planned(&stages(30), 100), 100 * 2 + 100 * 4 + 40 * 24 + 10 * 120);
    }
}
