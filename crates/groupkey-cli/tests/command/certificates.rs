//! The certificates that `docs/run.md` makes.

use std::path::Path;
use std::process::{Command, Stdio};

use groupkey_testbed::mosquitto::Mosquitto;

use crate::book::read;
use crate::broker::mosquitto_with;
use crate::finished::{Finished, Folder, groupkey_in, or_skip};

#[test]
fn the_documented_lines_make_certificates_for_a_broker_and_a_device() {
    let version = Command::new("openssl").arg("version").output();
    let Some(version) = or_skip("the_documented_lines", version) else { return };
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("OpenSSL 3"), "{version:?}");
    let folder = Folder::new();
    run(&folder, &documented("openssl req"));
    assert_connects(&folder);

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
    let Some((port, _broker)) = broker_with(&folder, "old") else { return };
    let refused = check(&folder, port);
    let told = "the broker's certificate is of X.509 version 1";
    assert!(refused.code == 1 && refused.stdout.contains(told), "{refused:?}");
}

/// The block of the page that has this. The broker of these tests is `localhost`.
fn documented(command: &str) -> String {
    let page = read(Path::new("docs/run.md"));
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut blocks = blocks.filter(|block| block.contains(command));
    blocks.next().expect("it has the lines").replace("broker.example", "localhost")
}

/// Asserts that a client with the device's certificate is served over TLS.
fn assert_connects(folder: &Folder) {
    let Some((port, _broker)) = broker_with(folder, "localhost") else { return };
    let checked = check(folder, port);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.stdout.contains("QoS 2 at most, retained messages"), "{checked:?}");
}

fn broker_with(folder: &Folder, name: &str) -> Option<(u16, Mosquitto)> {
    let file = |name: &str| folder.path().join(name).display().to_string();
    // Root's Mosquitto would become another user, who may not read the files.
    let further = format!(
        "user root\ncafile {}\ncertfile {}\nkeyfile {}\nrequire_certificate true",
        file("ca.pem"),
        file(&format!("{name}.pem")),
        file(&format!("{name}.key.pem"))
    );
    mosquitto_with("the_documented_lines", &further)
}

fn check(folder: &Folder, port: u16) -> Finished {
    let secret = "01".repeat(32);
    let tls = "tls = { ca = 'ca.pem', certificate = 'truck-7.pem', key = 'truck-7.key.pem' }";
    let broker = format!("[broker]\nhost = 'localhost'\nport = {port}\n{tls}\n");
    let member = format!("name = 'truck-7'\nidentity = 'id.key'\nsecret = '{secret}'\n{broker}");
    folder.file("member.toml", &member);
    groupkey_in(folder.path(), &["check", "--config", "member.toml"])
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
