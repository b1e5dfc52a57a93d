//! Compares the model of lwIP with the real one, single messages at a time, and prints the table of
//! `docs/validation.md`.
//!
//! `cargo run --release -p groupkey-sim --example lwip_validation [virtual|real] [messages] [seed]`
//!
//! The real lwIP is Debian's (`apt-get install liblwip-dev`), in the program
//! `validation/lwip_probe.c`, which this example compiles with `cc`. With `virtual`, the default,
//! both ends run lwIP, the broker too, and no time passes. With `real`, the broker is Mosquitto in
//! the kernel's TCP, behind a TUN device in a network namespace of its own; this needs root, and
//! takes some twenty minutes for 1,000 messages a row.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use groupkey_sim::{
    Duration, LwipProfile, NetworkConfig, ProbeSettings, Processing, Qos, Stack, probe,
};

/// Processes that measure at the same time in real time. Most of the time they wait.
const PROCESSES: u32 = 20;
/// Messages of the model a row.
const MODEL_MESSAGES: u32 = 200_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_real = words.first().is_some_and(|word| word == "real");
    let number = |place: usize| words.get(place).and_then(|word| word.parse().ok());
    let messages = number(1).unwrap_or(if is_real { 1_000 } else { 20_000 });
    let seed = number(2).unwrap_or(1);
    let program = match compile() {
        Ok(program) => program,
        Err(reason) => {
            eprintln!("NOT VALIDATED: {reason}");
            return ExitCode::FAILURE;
        }
    };
    let broker = if is_real { Stack::Linux } else { Stack::Lwip };
    println!("lwIP at both clients, {} at the broker, {messages} messages a row\n", broker.name());
    println!(
        "| loss / one-way delay | QoS | model, ms | real, ms | apart | p50, p90, p99 model | real |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut worst = 0.0_f64;
    for delay in [0, 100] {
        for loss in [0, 5, 10] {
            for qos in 0..3 {
                let model = model(broker, loss, delay, qos);
                let measured = match is_real {
                    true => measure_in_real_time(&program, [loss, delay, qos], messages, seed),
                    false => measure(&program, [loss, delay, qos], messages, seed),
                };
                let Some(real) = measured else {
                    eprintln!("NOT VALIDATED: {loss} % / {delay} ms at QoS {qos} gave no message");
                    return ExitCode::FAILURE;
                };
                let apart = if real.mean().max(model.mean()) > 1.0 {
                    model.mean() / real.mean() - 1.0
                } else {
                    0.0
                };
                worst = worst.max(apart.abs());
                println!(
                    "| {loss} % / {delay} ms | {qos} | {:.1} | {:.1} ({:.1}) | {:+.1} % | {} | {} |",
                    model.mean(),
                    real.mean(),
                    real.error(),
                    100.0 * apart,
                    model.percentiles(),
                    real.percentiles(),
                );
            }
        }
    }
    println!("\nFurthest apart: {:.1} %", 100.0 * worst);
    ExitCode::SUCCESS
}

/// Times of single messages, ms, ascending.
struct Times(Vec<f64>);

impl Times {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Returns the standard error of the mean.
    fn error(&self) -> f64 {
        let (mean, number) = (self.mean(), self.0.len() as f64);
        let squares: f64 = self.0.iter().map(|time| (time - mean).powi(2)).sum();
        (squares / (number - 1.0).max(1.0) / number).sqrt()
    }

    fn percentiles(&self) -> String {
        let at =
            |share: f64| self.0[((share * self.0.len() as f64) as usize).min(self.0.len() - 1)];
        format!("{:.0}, {:.0}, {:.0}", at(0.5), at(0.9), at(0.99))
    }
}

fn model(broker: Stack, loss: u32, delay: u32, qos: u32) -> Times {
    let qos = Qos::from_number(qos as u8).expect("0 to 2");
    let delay = Duration::from_millis(u64::from(delay));
    let mut settings = ProbeSettings::new(f64::from(loss) / 100.0, delay, qos);
    settings.messages = MODEL_MESSAGES;
    settings.messages_per_connection = 100;
    let defaults = settings.network.clone();
    settings.network = NetworkConfig {
        client_stack: Stack::Lwip,
        broker_stack: broker,
        lwip: LwipProfile::unix_port(),
        // In virtual time the program's devices need no time.
        broker: if broker == Stack::Lwip { Processing::default() } else { defaults.broker },
        client: if broker == Stack::Lwip { Processing::default() } else { defaults.client },
        ..defaults
    };
    Times::of(probe(&settings).latencies.iter().map(|time| time.as_millis_f64()).collect())
}

/// Runs the program in virtual time.
fn measure(
    program: &Path,
    [loss, delay, qos]: [u32; 3],
    messages: u32,
    seed: u32,
) -> Option<Times> {
    let child = start(Command::new(program), [loss, delay, qos], messages, seed, None)?;
    times(vec![child])
}

/// Runs many copies of the program in real time, each in a network namespace of its own.
fn measure_in_real_time(program: &Path, cell: [u32; 3], messages: u32, seed: u32) -> Option<Times> {
    let spaces: Vec<Space> = (0..PROCESSES).filter_map(Space::new).collect();
    if spaces.is_empty() {
        eprintln!("no network namespace with a TUN device and Mosquitto: this needs root");
        return None;
    }
    let share = messages.div_ceil(spaces.len() as u32);
    let children: Vec<Child> = (0..)
        .zip(&spaces)
        .filter_map(|(place, space)| {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &space.name]).arg(program);
            start(command, cell, share, seed * 1_000 + place, Some("lw0"))
        })
        .collect();
    times(children)
}

fn start(
    mut command: Command,
    [loss, delay, qos]: [u32; 3],
    messages: u32,
    seed: u32,
    tun: Option<&str>,
) -> Option<Child> {
    let loss = f64::from(loss) / 100.0;
    command.args([qos.to_string(), loss.to_string(), delay.to_string()]);
    command.args([messages.to_string(), seed.to_string()]).args(tun).stdout(Stdio::piped());
    command.spawn().map_err(|error| eprintln!("{error}")).ok()
}

fn times(children: Vec<Child>) -> Option<Times> {
    let mut all = Vec::new();
    for child in children {
        let output = child.wait_with_output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        all.extend(text.lines().filter_map(|line| line.parse::<f64>().ok()).map(|us| us / 1e3));
    }
    (!all.is_empty()).then(|| Times::of(all))
}

/// A network namespace with a TUN device and a Mosquitto behind it.
struct Space {
    name: String,
    mosquitto: Option<Child>,
}

impl Space {
    fn new(place: u32) -> Option<Self> {
        let name = format!("lwip-{}-{place}", std::process::id());
        let done = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let status = Command::new("ip").args(words).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        if !done(&format!("netns add {name}")) {
            return None;
        }
        let mut space = Self { name, mosquitto: None };
        let name = &space.name;
        for line in [
            "link set lo up",
            "tuntap add dev lw0 mode tun",
            "addr add 10.77.0.1/16 dev lw0",
            "link set lw0 up",
            // Some systems use BBR.
            "route replace 10.77.0.0/16 dev lw0 src 10.77.0.1 congctl cubic",
        ] {
            if !done(&format!("-n {name} {line}")) {
                return None;
            }
        }
        let configuration = std::env::temp_dir().join(format!("{name}.conf"));
        let text = "listener 1883 0.0.0.0\nallow_anonymous true\nset_tcp_nodelay true\n\
                    max_inflight_messages 0\nlog_type none\n";
        std::fs::write(&configuration, text).ok()?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name, "mosquitto", "-c"]).arg(&configuration);
        space.mosquitto = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok();
        space.mosquitto.is_some().then_some(space)
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if let Some(mosquitto) = &mut self.mosquitto {
            // `ip netns exec` became the broker, so this ends the broker.
            let _ = mosquitto.kill();
            let _ = mosquitto.wait();
        }
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
        let _ = std::fs::remove_file(std::env::temp_dir().join(format!("{}.conf", self.name)));
    }
}

/// Compiles the program against Debian's lwIP.
fn compile() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("validation/lwip_probe.c");
    let program = std::env::temp_dir().join(format!("lwip_probe-{}", std::process::id()));
    let mut command = Command::new("cc");
    command.args(["-O2", "-Wall", "-I/usr/include/lwip", "-o"]).arg(&program).arg(&source);
    let output = command.arg("-ldl").output().map_err(|error| format!("cc: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("install liblwip-dev, then try again\n{text}"));
    }
    Ok(program)
}
