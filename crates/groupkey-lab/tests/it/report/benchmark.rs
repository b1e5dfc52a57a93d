//! The page of rows of benchmarks and of a network study.

use std::collections::{BTreeMap, BTreeSet};

use groupkey::catalogue::Adversary;
use groupkey_lab::audit::{Finding, Found, SearchMethod};
use groupkey_lab::bench::{BenchHeader, BenchRow, CountedPrimitive, Deviation, MessageTraffic};
use groupkey_lab::report::{PrintedQuantity, PrintedValue, Report, Reproduction, render};

use super::{DESKTOP, HOSTILE, between, checked, document, number, shown, synthetic};

const SIZES: [u32; 6] = [2, 10, 100, 1_000, 10_000, 55_000];

#[test]
fn every_scheme_has_its_section_and_what_it_did() {
    let page = render(&benchmark());
    let section = |scheme: &str| {
        let sections = page.split("<details class=\"fold\"").skip(1);
        let found = sections.into_iter().find(|text| text.contains(&format!("<small>{scheme},")));
        found.unwrap_or_else(|| panic!("no section of {scheme}")).to_owned()
    };
    for (scheme, sequences, trees) in
        [("skdc", 3, 0), ("lkh-group", 3, 2), ("igkmp", 3, 0), ("tgdh", 3, 2), ("d-oft", 3, 2)]
    {
        let text = section(scheme);
        assert_eq!(text.matches("<svg class='drawing sequence'").count(), sequences, "{scheme}");
        assert_eq!(text.matches("<svg class='drawing tree'").count(), trees, "{scheme}");
        assert_eq!(text.contains("class='node new'"), trees > 0, "{scheme}");
        assert!(text.contains("linear"), "{scheme}: no form of growth");
    }
}

#[test]
fn measured_and_modelled_are_never_in_one_chart() {
    let page = render(&benchmark());
    let mut kinds = BTreeSet::new();
    for figure in page.split("<figure id=\"figure-").skip(1) {
        let figure = &figure[..figure.find("</figure>").expect("figures end")];
        let is = |kind: &str| figure.contains(&format!("<span class=\"kind {kind}\">"));
        assert!(!(is("measured") && is("modelled")));
        kinds.extend(["measured", "modelled"].into_iter().filter(|kind| is(kind)));
        for words in figure.split("<g class='mark'").skip(1) {
            let words = between(words, "<title>", "</title>");
            assert!(!(is("measured") && words.contains("modelled")), "{words}");
            assert!(!(is("modelled") && words.contains("measured")), "{words}");
        }
    }
    assert_eq!(kinds.len(), 2);
}

#[test]
fn security_levels_are_in_one_chart_only_where_a_study_compares_them() {
    let mut benchmark = benchmark();
    for entry in benchmark.entries.iter_mut().filter(|entry| entry.row.scheme == "skdc") {
        entry.row.security_bits = 80;
    }
    let page = render(&benchmark);
    for figure in page.split("<figure id=\"figure-").skip(1) {
        let figure = &figure[..figure.find("</figure>").expect("figures end")];
        assert!(!(figure.contains("skdc, ") && figure.contains("lkh-group, ")));
    }
    assert!(page.contains("Centralized schemes, 80 bit"));
    // A study compared them.
    benchmark.reproduction = Some(Reproduction::default());
    let page = render(&benchmark);
    let is_shared = |figure: &str| figure.contains("skdc, ") && figure.contains("lkh-group, ");
    assert!(page.split("<figure id=\"figure-").skip(1).any(is_shared));
    assert!(page.contains("Centralized schemes, 80 and 128 bit"));
}

#[test]
fn published_values_are_marked() {
    let page = render(&benchmark());
    assert!(page.contains("class='mark published'"));
    assert!(page.contains("Published (S001), tgdh: 8.14 s"));
    assert!(page.contains("class='printed-line'"));
}

#[test]
fn hostile_names_are_text() {
    let page = render(&benchmark());
    let data = checked(&page);
    assert!(page.contains("&lt;script&gt;alert"));
    let schemes: BTreeSet<_> =
        data["rows"].as_array().into_iter().flatten().map(|row| row["scheme"].as_str()).collect();
    assert!(schemes.contains(&Some(HOSTILE)));
}

#[test]
fn a_report_of_nothing_and_of_zeros_still_renders() {
    assert!(render(&Report::default()).contains("</html>"));
    let mut benchmark = benchmark();
    for entry in &mut benchmark.entries {
        let row = &mut entry.row;
        (row.mean_ns, row.ci95_ns, row.counted_ns, row.wire_bytes) = (0.0, Some(0.0), 0.0, 0);
        (row.device_ns, row.device_joule, row.measured_over_counted) = (None, None, None);
    }
    let page = render(&benchmark);
    let shown = between(&page, "<body>", "<script");
    for nonsense in ["NaN", ">inf", " inf"] {
        assert!(!shown.contains(nonsense), "the page says {nonsense}");
    }
}

#[test]
fn many_rows_are_thinned_and_the_page_says_so() {
    let mut many = Report::default();
    let sizes: Vec<u32> = (1..=300).map(|k| 2 + 100 * k).collect();
    many.add(&header(), rows(&sizes));
    let page = render(&many);
    assert!(page.contains("The page shows"));
    let table = between(&page, "<table class=\"rows\">", "</table>");
    let shown = table.matches("<tr>").count() - 1;
    assert!((1_000..=3_000).contains(&shown), "{shown} rows");
    assert!(table.contains(">30002<") && table.contains(">102<"), "the ends are kept");
}

#[test]
fn a_browser_shows_it() {
    let benchmark = benchmark();
    let Some((browser, file, html)) = shown("benchmark", &render(&benchmark)) else { return };
    let rows = benchmark.entries.len();
    assert_eq!(number(&html, "data-rows") as usize, rows + synthetic::ROWS);

    // The filters, by links to what is to be seen.
    let count = |wanted: fn(&BenchRow) -> bool| {
        benchmark.entries.iter().filter(|entry| wanted(&entry.row)).count() as u32
    };
    let shown = |fragment: &str, attribute: &str| {
        number(&document(&browser, &file, fragment, DESKTOP), attribute)
    };
    let chosen = shown("#chosen=skdc,tgdh&operation=add&sort=mean", "data-shown");
    assert_eq!(
        chosen,
        count(|row| ["skdc", "tgdh"].contains(&&*row.scheme) && row.operation == "add")
    );
    assert_eq!(
        shown("#class=hybrid&suite=standard&bits=128&device=esp32-micropython", "data-shown"),
        count(|row| row.class == "hybrid")
    );
    assert_eq!(shown("#suite=published", "data-shown"), rows as u32);
    let all = shown("", "data-figures");
    assert!((1..all).contains(&shown("#class=hybrid", "data-figures")));
}

/// Rows of all classes, a network study, and findings.
fn benchmark() -> Report {
    let mut benchmark = Report { printed: printed(), ..Report::default() };
    benchmark.add(&header(), rows(&SIZES));
    let (_, header, rows) = synthetic::report().networks.remove(0);
    benchmark.add_network(header, rows);
    let finding = |scheme: &str, claim: &str, claimed, found| Finding {
        scheme: scheme.to_owned(),
        profile: "published".to_owned(),
        suite: None,
        provenance: "specified".to_owned(),
        claim: claim.to_owned(),
        adversary: Adversary::Passive,
        claimed,
        condition: None,
        inherent: None,
        found,
        method: SearchMethod::Closure,
        attack: None,
        reference: None,
        history: if found == Found::Broken {
            vec!["create 0 1 2".to_owned(), format!("remove {HOSTILE}")]
        } else {
            Vec::new()
        },
        derivation: Vec::new(),
        searched: None,
    };
    benchmark.findings = vec![
        finding("skdc", "forward-secrecy", Some(true), Found::Holds),
        finding("sgcsh", "backward-secrecy", Some(true), Found::Broken),
        finding("skdc", "collusion-resistance", None, Found::NotApplicable),
    ];
    benchmark
}

fn printed() -> Vec<PrintedValue> {
    let join = PrintedValue {
        source: "S001",
        schemes: &["tgdh"],
        class: "distributed",
        role: "sponsor",
        operation: Some("add"),
        quantity: PrintedQuantity::TimeNs,
        members: (2, 10),
        value: 8.14e9,
        bound: false,
        device: "esp8266",
        note: "on an ESP8266".to_owned(),
    };
    let below = PrintedValue {
        source: "S002",
        schemes: &["skdc", "lkh-group"],
        class: "centralized",
        role: "member",
        operation: None,
        members: (2, 55_000),
        value: 1e6,
        bound: true,
        device: "esp32-micropython",
        note: "on an ESP32 with MicroPython".to_owned(),
        ..join.clone()
    };
    vec![join, below]
}

fn header() -> BenchHeader {
    let machine = "Example processor at 3.2 GHz, 4 cores".to_owned();
    let mut header =
        BenchHeader::new(1, "0123456789ab".to_owned(), machine, "smart-city".to_owned());
    header.assumptions = vec![format!("Nobody says {HOSTILE}.")];
    header
}

fn rows(sizes: &[u32]) -> Vec<BenchRow> {
    let mut rows = Vec::new();
    let schemes: [(&str, &str, &[&str]); 6] = [
        ("skdc", "centralized", &["controller", "member"]),
        ("lkh-group", "centralized", &["controller", "member"]),
        (HOSTILE, "centralized", &["controller", "member"]),
        ("igkmp", "hybrid", &["controller", "subgroup-controller", "member"]),
        ("tgdh", "distributed", &["sponsor", "member"]),
        ("d-oft", "distributed", &["sponsor", "member"]),
    ];
    for (place, (scheme, class, roles)) in schemes.into_iter().enumerate() {
        for operation in ["create", "add", "remove"] {
            for &role in roles {
                for &members in sizes {
                    rows.push(row(place, scheme, class, operation, role, members));
                }
            }
        }
    }
    rows
}

fn row(
    place: usize,
    scheme: &str,
    class: &str,
    operation: &str,
    role: &str,
    members: u32,
) -> BenchRow {
    let n = f64::from(members);
    let weight = 1.0 + place as f64 / 3.0;
    let acts = role != "member";
    let cost = match (acts, operation, scheme) {
        (true, "create", _) | (true, "remove", "skdc") => 900.0 * n,
        (true, ..) => 2_000.0 * (1.0 + n.log2()),
        (false, ..) => 1_500.0,
    };
    let mean = weight * cost * if operation == "add" { 1.3 } else { 1.0 };
    let messages = if acts { u64::from(members).min(40) } else { 0 };
    let traffic =
        MessageTraffic { messages, payload_bytes: 26 * messages, wire_bytes: 51 * messages };
    BenchRow {
        scheme: scheme.to_owned(),
        profile: "sound".to_owned(),
        parameters: String::new(),
        suite: "standard".to_owned(),
        security_bits: 128,
        class: class.to_owned(),
        provenance: "specified".to_owned(),
        protection: "mac".to_owned(),
        workload: "smart-city".to_owned(),
        operation: operation.to_owned(),
        role: role.to_owned(),
        phase: "operational".to_owned(),
        members,
        subgroups: if class == "hybrid" { members.min(55) } else { 0 },
        message_bytes: None,
        nonces: None,
        repetitions: 50,
        seed: 7,
        clock: "processor".to_owned(),
        mean_ns: mean,
        ci95_ns: Some(0.12 * mean),
        sd_ns: Some(0.3 * mean),
        p50_ns: 0.97 * mean,
        p90_ns: 1.3 * mean,
        p99_ns: 1.6 * mean,
        counted_ns: 0.8 * mean,
        measured_over_counted: Some(1.18),
        primitives: BTreeMap::from([("wrap".to_owned(), CountedPrimitive { calls: n, amount: n })]),
        permanent_bytes: if acts { 16 * u64::from(members) } else { 32 },
        temporary_bytes: 16,
        messages,
        payload_bytes: traffic.payload_bytes,
        wire_bytes: traffic.wire_bytes,
        unicast: traffic,
        multicast: MessageTraffic::default(),
        broadcast: MessageTraffic::default(),
        device: Some("esp32-micropython".to_owned()),
        device_ns: Some(300.0 * mean),
        device_joule: Some(Deviation { value: 6e-8 * mean, error: 6e-9 * mean }),
        radio: None,
        radio_joule: None,
        samples_ns: Vec::new(),
        warnings: if members == 100 && place == 1 {
            vec!["the machine was busy: close what else runs".to_owned()]
        } else {
            Vec::new()
        },
    }
}
