//! The words for a scheme that adapts: `groupkey serve` and `groupkey choose --live` use them.

use groupkey_choose::number::duration;
use groupkey_mqtt::adapt::{AdaptationPolicy, Look, Outlook, Proposal, Stays};

/// Returns in words what a look at the group led to.
pub(super) fn look(look: &Look) -> String {
    match look {
        Look::Changes(proposal) => format!("adapt: {}", change(proposal)),
        Look::Refused(proposal, error) => {
            format!("adapt: {}; not done: {error}", change(proposal))
        }
        Look::Undecided(error) => format!("adapt: {error}"),
    }
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
pub(super) fn verdict(outlook: &Outlook, policy: &AdaptationPolicy) -> String {
    let Some(stays) = outlook.stays else { return "it changes at the next look".to_owned() };
    let why = match stays {
        Stays::Best => "nothing is better for what it sees".to_owned(),
        Stays::NothingFits => "nothing meets the requirements".to_owned(),
        Stays::DoesNotPay => format!(
            "within {} a change must save {} % more than it costs",
            duration(policy.horizon),
            policy.margin * 100.0
        ),
        Stays::Unproven => "the better one has not been better for long enough".to_owned(),
        Stays::Vetoed => "the better one is vetoed".to_owned(),
        Stays::Pinned => "it is pinned".to_owned(),
        Stays::Floor { seconds } => format!(
            "{} must be between two changes, and {} are left",
            duration(policy.floor),
            duration(seconds)
        ),
        Stays::TooFew => "a group of fewer than two members does not change".to_owned(),
    };
    format!("it stays: {why}")
}

#[cfg(test)]
mod tests {
    use groupkey_choose::Candidate;
    use groupkey_mqtt::adapt::AdaptationState;

    use super::*;

    #[test]
    fn a_state_reads_back_as_the_same_and_has_words() {
        let outlook = Outlook {
            requirements: Default::default(),
            present: Candidate::default(),
            change: None,
            stays: Some(Stays::Floor { seconds: 60.0 }),
        };
        let policy = AdaptationPolicy::default();
        let verdict = verdict(&outlook, &policy);
        assert_eq!(verdict, "it stays: 60 min must be between two changes, and 60 s are left");
        let state =
            AdaptationState { policy, pinned: true, vetoed: vec![Candidate::default()], outlook };
        let text = serde_json::to_string(&state).unwrap();
        let read: AdaptationState = serde_json::from_str(&text).unwrap();
        assert_eq!((read.outlook, read.vetoed), (state.outlook, state.vetoed));
    }
}
