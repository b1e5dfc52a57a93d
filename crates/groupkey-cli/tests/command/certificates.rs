//! The certificates that `docs/run.md` makes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::broker::mosquitto_with;
use crate::finished::{Folder, groupkey_in, or_skip};

#[test]
fn the_documented_lines_make_certificates_for_a_broker_and_a_device() {
    let version = Command::new("openssl").arg("version").output();
    let Some(version) = or_skip("the_documented_lines", version) else { return };
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("OpenSSL 3"), "{version:?}");
    let folder = Folder::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let lines = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines =
        lines.clone().find(|lines| lines.contains("openssl req")).expect("it has the lines");
    // The broker of this test has this name.
    run(&folder, &lines.replace("broker.example", "localhost"));

    let file = |name: &str| folder.path().join(name).display().to_string();
    // Root's Mosquitto would become another user, who may not read the files.
    let further = format!(
        "user root\ncafile {}\ncertfile {}\nkeyfile {}\nrequire_certificate true",
        file("ca.pem"),
        file("localhost.pem"),
        file("localhost.key.pem")
    );
    let Some((port, _broker)) = mosquitto_with("the_documented_lines", &further) else { return };
    let broker = format!("localhost:{port}");
    let probe = |name: &str| {
        let (certificate, key) = (format!("{name}.pem"), format!("{name}.key.pem"));
        let own = ["--ca", "ca.pem", "--certificate", &certificate, "--key", &key];
        groupkey_in(
            folder.path(),
            &[&["mqtt-probe", "--broker", &broker, "--timeout", "10"], &own[..]].concat(),
        )
    };
    let probed = probe("truck-7");
    assert_eq!(probed.code, 0, "{}{}", probed.stdout, probed.stderr);

    // As other pages of the world have it.
    run(
        &folder,
        "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj /CN=old \
         -keyout old.key.pem | openssl x509 -req -CA ca.pem -CAkey ca.key.pem -out old.pem",
    );
    let text = Command::new("openssl")
        .args(["x509", "-noout", "-text", "-in", "old.pem"])
        .current_dir(folder.path())
        .output()
        .expect("it is there");
    if !String::from_utf8_lossy(&text.stdout).contains("Version: 1 ") {
        return;
    }
    let tls = "tls = { ca = 'ca.pem', certificate = 'old.pem', key = 'old.key.pem' }";
    folder.file("serve.toml", &format!("store = 'group.redb'\n[broker]\n{tls}\n"));
    let refused = groupkey_in(folder.path(), &["serve", "--config", "serve.toml"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for told in ["broker.tls.certificate", "X.509 version 1", "-extfile", "(in old.pem)"] {
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
    }
}

fn run(folder: &Folder, script: &str) {
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
