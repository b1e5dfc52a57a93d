//! What a service that adapts its scheme tells of itself, and the words for it. The service says it,
//! and `groupkey choose --live` reads it.

use groupkey::Operation;
use groupkey::catalogue::Profile;
use groupkey_choose::adapt::{Outlook, Policy, Proposal, Stays};
use groupkey_choose::evidence::Evidence;
use groupkey_choose::{Candidate, Variant};
use groupkey_mqtt::Allowed;
use groupkey_mqtt::group_form::{Form, Wish};
use serde::{Deserialize, Serialize};

/// The state of an adaptation, and what it would do now. `openapi.json` of the service describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) policy: Policy,
    pub(super) pinned: bool,
    pub(super) vetoed: Vec<Candidate>,
    pub(super) outlook: Outlook,
}

/// Returns what is known of the schemes to which a group of this form can change.
pub(super) fn evidence(form: &Form, allowed: Allowed) -> Evidence {
    Evidence::shipped().only(|variant| can_change_to(form, allowed, variant))
}

fn can_change_to(form: &Form, allowed: Allowed, variant: &Variant) -> bool {
    form.with(&wish(variant)).is_ok_and(|form| {
        let scheme = form.configuration.scheme();
        let has = |operation| scheme.operations.contains(&operation);
        scheme.has_controller()
            && has(Operation::Add)
            && has(Operation::Remove)
            && form.check(allowed).is_ok()
    })
}

/// Returns what an operator would say to get this variant.
pub(super) fn wish(variant: &Variant) -> Wish {
    Wish {
        scheme: Some(variant.scheme.clone()),
        parameters: variant.parameters.clone(),
        suite: Some(variant.suite.clone()),
        protection: Some(variant.guard.clone()),
    }
}

/// Returns the candidate that a group of this form has in force.
pub(super) fn candidate(form: &Form, qos: u8) -> Candidate {
    let scheme = form.configuration.scheme();
    let usual = scheme.configuration(Profile::Sound);
    let parameters = form.parameters().filter(|&(name, value)| {
        let parameter = scheme.parameters.iter().find(|parameter| parameter.name == name);
        parameter.is_none_or(|parameter| usual.value(parameter) != value)
    });
    let variant = Variant {
        scheme: scheme.id.to_owned(),
        parameters: parameters.map(|(name, value)| (name.to_owned(), value)).collect(),
        suite: form.suite.name().to_owned(),
        guard: form.guard.name().to_owned(),
    };
    Candidate { variant, qos }
}

/// Returns a change in words.
pub(super) fn change(proposal: &Proposal) -> String {
    let Proposal { from, to, saves, costs, is_needed } = proposal;
    let (from, to) = (&from.variant, &to.variant);
    match is_needed {
        true => format!("{to} instead of {from}, which no longer meets the requirements"),
        false => format!(
            "{to} instead of {from}: it saves {saves:.3} a day, and the change costs {costs:.3}"
        ),
    }
}

/// Returns in words what the policy would do now, and why.
pub(super) fn verdict(outlook: &Outlook, policy: &Policy) -> String {
    let Some(stays) = outlook.stays else { return "it changes at the next look".to_owned() };
    let why = match stays {
        Stays::Best => "nothing is better for what it sees".to_owned(),
        Stays::NothingFits => "nothing meets the requirements".to_owned(),
        Stays::DoesNotPay => format!(
            "within {} a change must save {} % more than it costs",
            time(policy.horizon),
            policy.margin * 100.0
        ),
        Stays::Unproven => "the better one has not been better for long enough".to_owned(),
        Stays::Vetoed => "the better one is vetoed".to_owned(),
        Stays::Pinned => "it is pinned".to_owned(),
        Stays::Floor { seconds } => format!(
            "{} must be between two changes, and {} are left",
            time(policy.floor),
            time(seconds)
        ),
        Stays::TooFew => "a group of fewer than two members does not change".to_owned(),
    };
    format!("it stays: {why}")
}

/// Returns a time in words.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        0.0..120.0 => format!("{seconds:.0} s"),
        120.0..7_200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue;

    use super::*;

    #[test]
    fn a_form_and_its_candidate_name_each_other() {
        for known in Evidence::shipped().known() {
            let form = Form::of(catalogue::scheme("skdc").unwrap());
            let form = form.with(&wish(&known.variant)).unwrap();
            assert_eq!(candidate(&form, 1).variant, known.variant);
        }
    }

    #[test]
    fn only_what_a_service_can_run_is_proposed() {
        let form = Form::of(catalogue::scheme("lkh-group").unwrap());
        let few = evidence(&form, Allowed::default());
        let all = Evidence::shipped().known();
        assert!(few.known().len() > 10 && few.known().len() < all.len());
        let has = |scheme: &str| few.known().iter().any(|known| known.variant.scheme == scheme);
        assert!(has("lkh-group") && has("skdc") && !has("tgdh") && !has("iolus"));
        assert!(few.known().iter().all(|known| known.variant.guard == "signature"));
    }

    #[test]
    fn what_is_told_reads_back_as_the_same() {
        let outlook = Outlook {
            requirements: Default::default(),
            present: Candidate::default(),
            change: None,
            stays: Some(Stays::Floor { seconds: 60.0 }),
        };
        let policy = Policy::default();
        let verdict = verdict(&outlook, &policy);
        assert_eq!(verdict, "it stays: 60 min must be between two changes, and 60 s are left");
        let told = Told { policy, pinned: true, vetoed: vec![Candidate::default()], outlook };
        let text = serde_json::to_string(&told).unwrap();
        let read: Told = serde_json::from_str(&text).unwrap();
        assert_eq!((read.outlook, read.vetoed), (told.outlook, told.vetoed));
    }
}
