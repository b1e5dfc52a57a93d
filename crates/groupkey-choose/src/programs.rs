//! Where a scheme runs: which programs of this project carry a member of it.

use groupkey::catalogue::{Class, Law, Scheme};

use crate::registry;

/// The programs that carry a member of a scheme in its sound form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programs {
    /// `groupkey serve` and `groupkey member`, and what links `groupkey-mqtt`.
    pub live: bool,
    /// The library for C.
    pub c: bool,
    /// `groupkey device run`: the firmware of an emulated microcontroller.
    pub device: bool,
}

impl Programs {
    /// Returns the programs of a scheme. A registered scheme is in none but the one that registered it, whose
    /// members run live if they need no controller.
    pub fn of(scheme: &Scheme) -> Self {
        let is_own = registry::own_schemes().any(|own| own.id == scheme.id);
        let among_members = scheme.class() == Class::Distributed;
        let live = (!is_own || among_members) && scheme.law == Law::OneKey;
        Self { live, c: !is_own, device: live && !among_members }
    }

    /// Returns their names: `live, C, device`.
    pub fn names(self) -> String {
        let all = [(self.live, "live"), (self.c, "C"), (self.device, "device")];
        let names: Vec<&str> =
            all.into_iter().filter(|(runs, _)| *runs).map(|(_, name)| name).collect();
        if names.is_empty() { "-".to_owned() } else { names.join(", ") }
    }

    /// Returns a line for each program: that it carries a member of the scheme, and how; or why not.
    pub fn told(self, scheme: &str) -> [String; 3] {
        let of_own = "a program of your own links it (docs/product.md)";
        let live = match (self.live, self.c) {
            (true, _) => format!("yes: scheme = \"{scheme}\" in the service's file"),
            (false, true) => "no: its members share no group key".to_owned(),
            (false, false) => format!("no: {of_own}"),
        };
        let c = match self.c {
            true => format!(
                "yes: GROUPKEY_SCHEME={scheme}; it has the controller, too, so it is larger"
            ),
            false => format!("no: {of_own}"),
        };
        let device = match (self.device, self.live) {
            (true, _) => format!("yes: --scheme {scheme}"),
            (false, true) => "no: its firmware runs no group without a controller".to_owned(),
            (false, false) => "no: it joins live groups alone".to_owned(),
        };
        [
            format!("groupkey serve and member: {live}"),
            format!("library for C: {c}"),
            format!("groupkey device run: {device}"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::SCHEMES;

    use super::*;

    #[test]
    fn a_scheme_without_a_controller_is_for_hosts_and_c() {
        let of = |id: &str| Programs::of(registry::scheme(id).expect("it is in the catalogue"));
        assert_eq!(of("ofct").names(), "live, C, device");
        assert_eq!(of("tgdh").names(), "live, C");
        assert!(of("tgdh").told("tgdh")[2].contains("no: its firmware"));
        assert!(of("ofct").told("ofct")[2].ends_with("--scheme ofct"));
        assert!(SCHEMES.iter().any(|scheme| !Programs::of(scheme).live));
    }
}
