//! What each attack finds, as a table: a change is seen.

use groupkey::catalogue::{Profile, SCHEMES};

use super::*;

#[test]
fn print() {
    for attack in ATTACKS {
        for scheme in SCHEMES {
            for profile in Profile::ALL {
                if !(attack.applies_to)(scheme, profile) { continue }
                let start = std::time::Instant::now();
                let finding = attack.run(&scheme.configuration(profile), 1);
                println!("{} {} {} {:?} {:?} {} ms", attack.id, scheme.id, profile.name(), finding.found, finding.derivation.first(), start.elapsed().as_millis());
            }
        }
    }
}
