//! The README's picture is drawn from what the command prints, and is up to date.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use crate::finished::groupkey;

/// Set this variable to draw the picture anew.
const DRAW: &str = "GROUPKEY_DRAW_PICTURE";

const SCHEMES: [&str; 5] = ["lkh-group", "skdc", "lkh-user", "lkh-key", "gdh2"];
const MEMBERS: u32 = 20;
const RUNS: u32 = 30;

#[test]
fn the_picture_shows_what_the_command_prints() {
    let rows = groupkey(&format!(
        "net --scheme {} --members {MEMBERS} --loss 0,10 --delay 0,100 --runs {RUNS} --json --profile \
         published --device esp32-micropython --controller-device i5-6500-python",
        SCHEMES.join(",")
    ));
    let picture = draw(&rows.objects());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/picture.svg");
    if env::var_os(DRAW).is_some() {
        fs::write(&path, &picture).expect("docs/ is writable");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == picture, "docs/picture.svg is out of date: run this test with {DRAW}=1");
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 725.0;
const TOP: f64 = 84.0;
const LANE: f64 = 44.0;

/// A lane for each scheme: from the perfect network through loss and delay to both.
fn draw(rows: &[Value]) -> String {
    let bottom = TOP + LANE * SCHEMES.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {:.0}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"14\" role=\"img\">\n\
         <title>Time to create a group of {MEMBERS}, by scheme and network</title>\n{STYLE}",
        bottom + 46.0
    );
    let _ = writeln!(
        svg,
        "<text class=\"ink\" x=\"20\" y=\"26\" font-size=\"17\" font-weight=\"600\">\
         Until all {MEMBERS} members have the first group key</text>\
         <text class=\"soft\" x=\"{RIGHT}\" y=\"26\" text-anchor=\"end\">\
         ESP32, MQTT QoS 2, mean of {RUNS} runs</text>"
    );
    for (network, x) in NETWORKS.iter().zip([20.0, 172.0, 282.0, 415.0]) {
        let _ = writeln!(
            svg,
            "<circle class=\"{0}\" cx=\"{1:.0}\" cy=\"48\" r=\"6\"/>\
             <text class=\"ink\" x=\"{2:.0}\" y=\"53\">{3}</text>",
            network.class,
            x + 6.0,
            x + 18.0,
            network.name
        );
    }

    for (seconds, label) in
        [(0.01, "10 ms"), (0.1, "100 ms"), (1.0, "1 s"), (10.0, "10 s"), (100.0, "100 s")]
    {
        let x = place(seconds * 1e3);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>\
             <text class=\"soft\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{label}</text>",
            bottom + 22.0
        );
    }
    for (lane, scheme) in SCHEMES.iter().enumerate() {
        let y = TOP + LANE * (lane as f64 + 0.5);
        let mean = |network: &Network| place(mean(rows, scheme, network));
        let _ = writeln!(
            svg,
            "<text class=\"ink\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{scheme}</text>\
             <line class=\"span\" x1=\"{:.1}\" y1=\"{y}\" x2=\"{:.1}\" y2=\"{y}\"/>",
            LEFT - 12.0,
            y + 5.0,
            mean(&NETWORKS[0]),
            mean(&NETWORKS[3]),
        );
        for network in &NETWORKS {
            let (class, x) = (network.class, mean(network));
            let _ = writeln!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"6\"/>");
        }
    }
    svg + "</svg>\n"
}

struct Network {
    name: &'static str,
    class: &'static str,
    loss: f64,
    delay: f64,
}

const NETWORKS: [Network; 4] = [
    Network { name: "perfect network", class: "perfect", loss: 0.0, delay: 0.0 },
    Network { name: "10 % lost", class: "lossy", loss: 10.0, delay: 0.0 },
    Network { name: "100 ms delay", class: "late", loss: 0.0, delay: 100.0 },
    Network { name: "both", class: "both", loss: 10.0, delay: 100.0 },
];

fn mean(rows: &[Value], scheme: &str, network: &Network) -> f64 {
    let row = rows.iter().find(|row| {
        (&row["scheme"], &row["loss_percent"], &row["delay_ms"])
            == (&scheme.into(), &network.loss.into(), &network.delay.into())
    });
    row.and_then(|row| row["mean_ms"].as_f64()).expect("the command printed this row")
}

/// Where a time in ms stands on the logarithmic axis, from 10 ms to 100 s.
fn place(ms: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * (ms.log10() - 1.0) / 4.0
}

/// Colours that can be told apart in light and dark, by colour-blind people too.
const STYLE: &str = "\
<style>
  .ink { fill: #1f2328 } .soft { fill: #59636e; font-size: 12px }
  .grid { stroke: #d1d9e0 } .span { stroke: #afb8c1; stroke-width: 2 }
  .perfect { fill: #0072b2 } .lossy { fill: #e69f00 } .late { fill: #cc79a7 } .both { fill: #d55e00 }
  @media (prefers-color-scheme: dark) {
    .ink { fill: #f0f6fc } .soft { fill: #9198a1 }
    .grid { stroke: #3d444d } .span { stroke: #656c76 } .perfect { fill: #56b4e9 }
  }
</style>
";
