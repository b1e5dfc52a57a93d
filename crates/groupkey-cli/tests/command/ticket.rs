//! `groupkey ticket`: what an operator signs for a group without a controller.

use std::fs;

use crate::finished::{Folder, groupkey_in};

#[test]
fn an_operator_signs_tickets_and_evictions_and_nobody_else_does() {
    let folder = Folder::new();
    let public = |name: &str| {
        let printed = groupkey_in(folder.path(), &["member", "--public", name]);
        printed.stdout.trim().to_owned()
    };
    let (operator, other) = (public("operator.key"), public("other.key"));
    assert_ne!(operator, other);
    let text = format!(
        "name = 'a'\nidentity = 'a.key'\n[group]\nscheme = 'tgdh'\njoin = 'ticket'\noperators = ['{operator}']\n"
    );
    fs::write(folder.path().join("member.toml"), text).unwrap();
    let sign = |operator: &str, more: &[&str]| {
        let file = ["ticket", "--config", "member.toml", "--member", "3", "--operator", operator];
        groupkey_in(folder.path(), &[&file[..], more].concat())
    };
    let words =
        [&[][..], &["--epoch", "12"], &["--epoch", "12", "--evict", "13"], &["--evicted", "4"]]
            .map(|more| sign("operator.key", more));
    for (place, word) in words.iter().enumerate() {
        assert_eq!(word.code, 0, "{}", word.stderr);
        let digits = word.stdout.trim();
        assert!(digits.len() > 128 && digits.chars().all(|digit| digit.is_ascii_hexdigit()));
        assert!(words[..place].iter().all(|earlier| earlier.stdout != word.stdout));
    }
    let early = sign("operator.key", &["--epoch", "12", "--evict", "12"]);
    assert_eq!((early.code, early.stdout.as_str()), (2, ""));
    assert!(early.stderr.contains("not later"), "{}", early.stderr);
    let refused = sign("other.key", &[]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains(&other), "{}", refused.stderr);
    assert_eq!(sign("missing.key", &[]).code, 2);
    assert!(!folder.path().join("missing.key").exists(), "no operator is made up");
}
