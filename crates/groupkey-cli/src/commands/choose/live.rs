//! `groupkey choose --live`: what a running service has seen, and what another scheme would change.

use std::io::Write;
use std::path::Path;

use groupkey::catalogue;
use groupkey_choose::adapt::{self, Adaptation, AdaptationPolicy, Outlook, Stays};
use groupkey_choose::decision::{Assessment, GivenUp, Quantity, Reason};
use groupkey_choose::evidence::Evidence;
use groupkey_choose::requirements::{RequirementsDraft, to_toml};
use groupkey_choose::{Candidate, Grounds, Requirements, assess_on, number, words};
use groupkey_mqtt::Allowed;
use groupkey_mqtt::adapt::{AdaptationState, candidate, evidence, fix};
use groupkey_mqtt::group_form::{FormRequest, GroupForm};
use groupkey_mqtt::http::{HourView, NamedForm, ObservationView, SchemeChangeView};
use serde::Serialize;

use super::refused;
use crate::client::ServiceClient;
use crate::commands::adaptation::{change, verdict};
use crate::failure::Failure;
use crate::table::{Column, Table};
use crate::whole_file;

/// What to ask, and for what.
pub(super) struct Question<'a> {
    /// The service's address.
    pub(super) address: &'a str,
    /// The file with the service's token.
    pub(super) token_file: &'a Path,
    /// Requirements in place of those of the service's `[adapt]`.
    pub(super) requirements: Option<RequirementsDraft>,
    /// Where to write the requirements with what was seen.
    pub(super) save: Option<&'a Path>,
    pub(super) json: bool,
}

/// The answer, as `--json` prints it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Preview {
    seen: HourView,
    policy: AdaptationPolicy,
    pinned: bool,
    vetoed: Vec<Candidate>,
    under_way: Option<SchemeChangeView>,
    /// What the policy would do now, and why.
    #[serde(flatten)]
    outlook: Outlook,
    /// What the service's quality of service gives up.
    given_up: Vec<GivenUp>,
    /// The figures of the scheme in force, and the requirements that it does not meet.
    now: Option<Judged>,
    /// The figures of the best one, if it is another.
    best: Option<Judged>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Judged {
    #[serde(flatten)]
    assessment: Assessment,
    exceeded: Vec<Reason>,
}

/// Asks the service, and prints what a change would save and cost.
pub(super) fn run(question: &Question<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let observed =
        ServiceClient::new(question.address, question.token_file)?.get("/observation")?;
    let preview = preview(observed, question)?;
    if let Some(path) = question.save {
        let text = to_toml(&preview.outlook.requirements);
        whole_file::write(path, text.as_bytes()).map_err(|error| {
            Failure::running(format!("cannot write {}: {error}", path.display()))
                .with_help("choose another file with --save")
        })?;
    }
    match question.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&preview).expect("it is a tree"))?,
        false => print(&preview, out)?,
    }
    match preview.outlook.stays {
        Some(Stays::NothingFits) => Err(Failure::running("nothing meets the requirements")
            .with_help("--save FILE writes them; groupkey choose --requirements FILE says why")),
        _ => Ok(()),
    }
}

fn preview(observed: ObservationView, question: &Question<'_>) -> Result<Preview, Failure> {
    let other_version = |problem: &dyn std::fmt::Display| {
        let version = &observed.seen.version;
        Failure::running(format!("the service is of groupkey {version}: {problem}"))
            .with_help("ask it with the same version of groupkey")
    };
    let form = form(&observed.scheme.present)
        .ok_or_else(|| other_version(&"its scheme is unknown here"))?;
    let allowed = Allowed { mac: observed.allow_mac, published: observed.allow_published };
    let evidence = evidence(&form, allowed);
    let state = match (observed.adapt.clone(), &question.requirements) {
        (Some(state), None) => state,
        (state, Some(draft)) => {
            let requirements = draft.finish_for_policy().map_err(refused)?;
            by_our_own(state, requirements, &form, &observed, &evidence)?
        }
        (None, None) => {
            let problem = "the service has no [adapt], so it does not know what its group needs";
            return Err(Failure::input(problem).with_help(
                "add [adapt] to its file; or say it here, with --requirements FILE or an example \
                 such as --requirements city",
            ));
        }
    };
    let grounds = Grounds { evidence: &evidence, ..Grounds::shipped() };
    let judged = |candidate: &Candidate| -> Result<Option<Judged>, Failure> {
        let assessed = assess_on(&state.outlook.requirements, &grounds, candidate);
        let assessed = assessed.map_err(|error| Failure::input(error.to_string()))?;
        Ok(assessed.map(|(assessment, exceeded)| Judged { assessment, exceeded }))
    };
    let now = match state.outlook.stays {
        Some(Stays::TooFew) => None,
        _ => judged(&state.outlook.present)?,
    };
    let best = state.outlook.change.as_ref().map(|change| judged(&change.to)).transpose()?;
    let AdaptationState { policy, pinned, vetoed, outlook } = state;
    let given_up = if observed.qos == 0 { vec![GivenUp::at_least_once()] } else { Vec::new() };
    let (seen, under_way, best) = (observed.seen, observed.scheme.change, best.flatten());
    Ok(Preview { seen, policy, pinned, vetoed, under_way, outlook, given_up, now, best })
}

fn form(named: &NamedForm) -> Option<GroupForm> {
    let wish = FormRequest {
        scheme: Some(named.scheme.clone()),
        parameters: named.parameters.clone(),
        suite: Some(named.suite.clone()),
        protection: Some(named.protection.clone()),
        senders: Some(named.senders.clone()),
    };
    GroupForm::of(catalogue::scheme(&named.scheme)?).with(&wish).ok()
}

/// Judges by requirements of our own, with what the service has seen, and with its policy if it has
/// one.
fn by_our_own(
    state: Option<AdaptationState>,
    mut requirements: Requirements,
    form: &GroupForm,
    observed: &ObservationView,
    evidence: &Evidence,
) -> Result<AdaptationState, Failure> {
    fix(&mut requirements, form, observed.qos);
    let (policy, pinned, vetoed) =
        state.map_or_else(Default::default, |state| (state.policy, state.pinned, state.vetoed));
    let mut adaptation = Adaptation::new(policy, requirements, candidate(form, observed.qos));
    adaptation.pin(pinned);
    vetoed.iter().for_each(|vetoed| adaptation.veto(vetoed.clone()));
    let seen = &observed.seen;
    adaptation.note(&adapt::Observation {
        seconds: seen.seconds,
        members: seen.members,
        joins: seen.joins as f64,
        leaves: seen.leaves as f64,
        rekeys: seen.rekeys as f64,
        catch_ups: seen.catch_ups as f64,
        ..adapt::Observation::default()
    });
    let grounds = Grounds { evidence, ..Grounds::shipped() };
    let outlook = adaptation.outlook(seen.members, &grounds);
    let outlook = outlook.map_err(|error| Failure::input(error.to_string()))?;
    Ok(AdaptationState { policy, pinned, vetoed, outlook })
}

fn print(preview: &Preview, out: &mut dyn Write) -> Result<(), Failure> {
    let Preview { seen, outlook, .. } = preview;
    writeln!(out, "scheme:  {}, with {} members", outlook.present, seen.members)?;
    writeln!(
        out,
        "seen:    in {}: {} changes of the key, {} joins, {} leaves; {} members caught up",
        number::duration(seen.seconds),
        seen.changes,
        seen.joins,
        seen.leaves,
        seen.catch_ups
    )?;
    if let (Some(complete), Some(slowest)) = (seen.complete_ms, seen.slowest_ms) {
        let round_trip = seen.round_trip_ms.map_or_else(|| "-".to_owned(), number::rounded);
        writeln!(
            out,
            "broker:  it had all of a change after {} ms, at most {} ms; a round trip takes \
             {round_trip} ms",
            number::rounded(complete),
            number::rounded(slowest)
        )?;
    }
    let pinned = if preview.pinned { "pinned" } else { "not pinned" };
    let vetoed: Vec<_> = preview.vetoed.iter().map(|one| one.variant.to_string()).collect();
    let vetoed = if vetoed.is_empty() { "nothing".to_owned() } else { vetoed.join("; ") };
    writeln!(out, "said:    {pinned}; vetoed: {vetoed}")?;
    if preview.under_way.is_some() {
        writeln!(out, "         a change is under way")?;
    }
    let best = match (&outlook.change, outlook.stays) {
        (Some(proposal), _) => change(proposal),
        (None, Some(Stays::NothingFits | Stays::TooFew)) => "none".to_owned(),
        (None, _) => format!("{}, as it is", outlook.present.variant),
    };
    writeln!(out, "choice:  {best}")?;
    writeln!(out, "policy:  {}", verdict(outlook, &preview.policy))?;
    for given_up in &preview.given_up {
        writeln!(out, "lost:    {}", words::risk(given_up))?;
    }
    for reason in preview.now.iter().flat_map(|now| &now.exceeded) {
        let Reason { requirement, required, has, .. } = reason;
        writeln!(out, "missed:  {requirement}: {required}, but {has}")?;
    }
    let Some(now) = &preview.now else { return Ok(()) };
    let best = preview.best.as_ref();
    write!(out, "\n{}", figures(&now.assessment, best.map(|best| &best.assessment), outlook))?;
    Ok(())
}

/// The figures of the scheme in force, beside those of the best one.
fn figures(now: &Assessment, best: Option<&Assessment>, outlook: &Outlook) -> Table {
    let mut table = Table::new([
        Column::text("figure"),
        Column::number("now"),
        Column::number("best"),
        Column::text("unit"),
        Column::text("ground"),
    ]);
    let cost = |assessment: &Assessment| number::rounded(assessment.cost);
    let none = || "-".to_owned();
    let unit = "a day".to_owned();
    table.row(["cost".to_owned(), cost(now), best.map_or_else(none, cost), unit, none()]);
    for quantity in Quantity::ALL {
        let value = |assessment: &Assessment| {
            assessment.figure(quantity).map_or_else(none, |figure| number::rounded(figure.value))
        };
        let ground = now.figure(quantity).or_else(|| best?.figure(quantity));
        let ground =
            ground.map_or_else(none, |figure| words::ground(figure, &outlook.requirements));
        let (name, unit) = quantity.name_and_unit();
        let best = best.map_or_else(none, value);
        table.row([name.to_owned(), value(now), best, unit.to_owned(), ground]);
    }
    table
}
