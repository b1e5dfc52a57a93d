//! Other projects' programs: schemathesis compares the interface with its description, and
//! Prometheus' own parser reads the metrics.
//!
//! It needs a Python with schemathesis and prometheus-client: `GROUPKEY_PYTHON`, or `python3`. Where there is
//! none, the test says so and passes, unless `GROUPKEY_REQUIRE_ALL` is set.

use std::env;
use std::process::{Command, Stdio};

use groupkey_mqtt::http::HttpLimits;

use crate::http::fixture::{HttpFixture, bearer};

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_what_the_description_says() {
    let Some(python) = python() else { return };
    // It sends wrong tokens, too, and expects each to be refused as such.
    let limits = HttpLimits { wrong_tokens: u32::MAX, ..HttpLimits::default() };
    let house = HttpFixture::with_limits(4, limits).await;
    let folder = tempfile::tempdir().unwrap();
    // A body that is too long is refused as such, whatever is in it.
    let refusals = r#""400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "5xx""#;
    let settings = format!("checks.negative_data_rejection.expected-statuses = [{refusals}]\n");
    std::fs::write(folder.path().join("schemathesis.toml"), settings).unwrap();
    let mut command = Command::new(python);
    command
        .args(["-m", "schemathesis.cli", "run"])
        .arg(format!("http://{}/openapi.json", house.address))
        .args(["--header", &bearer(), "--no-color", "--seed", "1"])
        .args(["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "25"])
        .args(["--checks", "all", "--suppress-health-check", "all"])
        .current_dir(folder.path())
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    eprintln!("{said}");
    // After all requests the service runs, and the group is complete.
    assert_eq!(house.get("/health").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_reads_the_metrics() {
    let Some(python) = python() else { return };
    let house = HttpFixture::with(2).await;
    let metrics = house.get("/metrics").await.body;
    let script = "import sys\n\
        from prometheus_client.parser import text_fd_to_metric_families as families\n\
        for family in families(sys.stdin):\n\
        \x20   assert family.documentation and family.type != 'unknown', family\n\
        \x20   for sample in family.samples: print(sample.name, float(sample.value))";
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), metrics.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{metrics}");
    let read = String::from_utf8(output.stdout).unwrap();
    assert!(read.lines().any(|line| line == "groupkey_members 2.0"), "{read}");
    let samples = metrics.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(read.lines().count(), samples);
}

fn python() -> Option<String> {
    let python = env::var("GROUPKEY_PYTHON").unwrap_or_else(|_| "python3".into());
    let import = "import prometheus_client, schemathesis";
    let has = Command::new(&python).args(["-c", import]).stderr(Stdio::null()).status();
    if has.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let missing = format!(
        "{python} lacks schemathesis or prometheus-client: install them with pip, or set GROUPKEY_PYTHON"
    );
    assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
    eprintln!("SKIPPED, not tested: {missing}");
    None
}
