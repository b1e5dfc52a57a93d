//! The page of a network study.

use groupkey_choose::number::grouped;
use groupkey_lab::report::{Report, Reproduction, render};
use groupkey_lab::results::NetworkRow;

use super::{between, checked, number, shown, synthetic};

#[test]
fn every_figure_is_there_with_both_panels() {
    let page = render(&synthetic::report());
    for operation in ["creation", "join", "leave"] {
        for kind in ["centralized-total", "distributed-transmission", "distributed-total-4"] {
            let figure = format!("<figure id=\"network-0-{operation}-{kind}\"");
            let figure = between(&page, &figure, "</figure>");
            assert_eq!(figure.matches("<svg class='chart'").count(), 2, "{figure}");
            assert!(figure.contains("<p class=\"reading\">"), "{figure} says nothing");
            assert!(figure.contains("of the study."), "{figure} names no figure of the study");
        }
    }
    assert_eq!(page.matches("class='mark published'").count(), 7, "one ring a published time");
    assert_eq!(page.matches("class=\"strip\"").count(), 8, "a strip for each published value");
}

#[test]
fn a_finding_is_a_card_that_the_matrix_leads_to() {
    let report = synthetic::report();
    let page = render(&report);
    for verdict in &study(&report).verdicts {
        let anchor = format!("finding-{}", verdict.id);
        assert!(page.contains(&format!("href=\"#{anchor}\"")), "{anchor} is not in the matrix");
        let card = between(&page, &format!("id=\"{anchor}\""), "</article>");
        assert!(card.contains(&verdict.sentence), "{card}");
        assert_eq!(card.matches("<circle class='dot ").count(), 3, "a dot for each setting");
        assert_eq!(card.matches("class=\"ruling ").count(), 3, "a line for each setting");
        assert_eq!(card.contains("class=\"dissent\""), verdict.dissent.is_some());
    }
}

#[test]
fn every_row_is_in_the_table_and_in_the_data() {
    let report = synthetic::report();
    let page = render(&report);
    let table = between(&page, "<table class=\"rows\">", "</table>");
    assert_eq!(table.matches("<tr>").count(), synthetic::ROWS + 1);
    for row in rows(&report) {
        let seed = row.setting.seed;
        assert!(table.contains(&format!("--seed {seed}<")), "row {seed} is missing");
    }
    assert!(page.contains("The same for every row: profile published, suite published"));

    let data = checked(&page);
    assert_eq!(data["rows"].as_array().map(Vec::len), Some(synthetic::ROWS));
    assert_eq!(data["rows"][0]["mean_ms"], rows(&report)[0].mean_ms);
    assert_eq!(data["headers"][0]["seed"], 2024);
}

#[test]
fn a_run_counts_once_for_all_its_operations() {
    let report = synthetic::report();
    let page = render(&report);
    let settings = synthetic::ROWS / 3;
    let runs = grouped((settings * rows(&report)[0].runs as usize) as f64);
    let tiles = between(&page, "<ul class=\"tiles\">", "</ul>");
    assert!(tiles.contains(&format!("<b>{settings}</b> settings simulated")), "{tiles}");
    assert!(tiles.contains(&format!("<b>{runs}</b> runs of them")), "{tiles}");
}

#[test]
fn text_is_escaped() {
    let page = render(&synthetic::report());
    checked(&page);
    assert!(page.contains("&lt;script&gt;alert"));
}

#[test]
fn sentences_follow_the_data() {
    let mut report = synthetic::report();
    let told = |report: &Report| {
        between(&render(report), "id=\"network-0-creation-centralized-total\"", "<ul").to_owned()
    };
    let before = told(&report);
    for row in report.networks[0].2.iter_mut().filter(|row| row.setting.delay_ms > 0.0) {
        row.mean_ms *= 3.0;
    }
    assert_ne!(before, told(&report));
}

#[test]
fn the_same_report_is_the_same_page() {
    assert_eq!(render(&synthetic::report()), render(&synthetic::report()));
}

#[test]
fn a_report_without_rows_still_renders() {
    checked(&render(&Report::default()));
    let mut report = synthetic::report();
    report.networks[0].2.clear();
    report.reproduction = Some(Reproduction::default());
    assert!(render(&report).contains("</html>"));
}

#[test]
fn part_of_a_campaign_still_renders() {
    let mut report = synthetic::report();
    let rows = &mut report.networks[0].2;
    rows.retain(|row| row.setting.loss_percent == 5.0 && row.setting.delay_ms == 100.0);
    for row in rows {
        row.setting.scheme = row.setting.scheme.replace("skdc", "a stranger");
    }
    for value in report.reproduction.iter_mut().flat_map(|study| &mut study.published_times) {
        value.ours = f64::NAN;
    }
    let page = render(&report);
    checked(&page);
    assert!(page.contains("not run") && page.contains("a stranger"));
}

/// Rows that differ in more than a panel shows have panels of their own.
#[test]
fn what_differs_is_a_panel() {
    let mut report = synthetic::report();
    let headings = |report: &Report| {
        let page = render(report);
        let figure = "<figure id=\"network-0-creation-centralized-total\"";
        let figure = between(&page, figure, "</figure>").to_owned();
        let panels = figure.split("<div class=\"panel\"><h4>").skip(1);
        panels.map(|rest| rest.split('<').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let told = headings(&report);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].starts_with("One-way delay 100 ms"), "{told:?}");
    let mut row = rows(&report)[0].clone();
    row.setting.qos = 0;
    report.networks[0].2.push(row);
    let told = headings(&report);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].starts_with("One-way delay 0 ms, QoS 0"), "{told:?}");
}

/// Rows of two files share a panel; the same rows twice are divided by file.
#[test]
fn files_are_joined() {
    let all = synthetic::report();
    let header = all.networks[0].1.clone();
    let (mine, others): (Vec<_>, Vec<_>) =
        rows(&all).to_vec().into_iter().partition(|row| row.setting.scheme == "skdc");
    let page = |files: [Vec<NetworkRow>; 2]| {
        let mut report = Report::default();
        files.into_iter().for_each(|rows| report.add_network(header.clone(), rows));
        let page = render(&report);
        let figure = "<figure id=\"network-0-creation-centralized-total\"";
        between(&page, figure, "</figure>").to_owned()
    };
    let joined = page([mine.clone(), others]);
    assert_eq!(joined.matches("<svg class='chart'").count(), 2);
    assert!(joined.contains(">skdc</") && joined.contains(">lkh-key</"), "{joined}");
    let twice = page([mine.clone(), mine]);
    assert_eq!(twice.matches("<svg class='chart'").count(), 4);
    assert!(twice.contains("file 1") && twice.contains("file 2"));
}

/// More sizes than stand side by side are a line with a band.
#[test]
fn many_sizes_are_lines() {
    let mut report = Report::default();
    let header = synthetic::report().networks[0].1.clone();
    let of_size = |members: u32| {
        let mut row = rows(&synthetic::report())[0].clone();
        row.setting.members = members;
        row
    };
    report.add_network(header, [10, 20, 50, 100, 200].map(of_size).to_vec());
    let page = render(&report);
    let figure = between(&page, "<figure id=\"network-0-creation-centralized-total\"", "</figure>");
    assert!(figure.contains("class='curve'") && figure.contains("class='band'"), "{figure}");
}

#[test]
fn a_browser_shows_it() {
    let Some((_, _, html)) = shown("network", &render(&synthetic::report())) else { return };
    assert_eq!(number(&html, "data-rows"), synthetic::ROWS as u32);
    // Each finding and each figure can be saved.
    assert_eq!(number(&html, "data-saves"), 3 + 9);
}

fn study(report: &Report) -> &Reproduction {
    report.reproduction.as_ref().expect("it reproduces a study")
}

fn rows(report: &Report) -> &[NetworkRow] {
    &report.networks[0].2
}
