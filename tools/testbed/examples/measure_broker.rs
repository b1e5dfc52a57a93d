//! Measures what MQTT packets cost a Mosquitto and a client on this machine, component by component
//! by the rule of `docs/network.md`, and for comparison how long a message takes from end to end.
//!
//! ```sh
//! cargo build --release -p groupkey-testbed --example measure_broker
//! sudo chrt --fifo 50 taskset -c 1 target/release/examples/measure_broker
//! ```
//!
//! The client is this process, on the processor that `taskset` gives it; Mosquitto and a process
//! that echoes run on processor 0. Under real-time priority, which they inherit, it matters little
//! what else the machine does. Needs `mosquitto`, `taskset` and, for the priority, `chrt`.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    if let Some(bytes) = std::env::args().nth(1) {
        return echo(bytes.parse()?);
    }
    let broker = Broker::start()?;
    let mut client = Client::connect(&broker)?;
    let mut short = Echo::start(ACKNOWLEDGEMENT_BYTES)?;
    let mut long = Echo::start(publish(TOPIC, 1, 1).len())?;

    let mut components: [Samples; 6] = Default::default();
    let mut row: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let [echo, echo_long, ping, qos1, qos2, release] = &mut components;
        echo.round(|packets| short.exchange(packets))?;
        echo_long.round(|packets| long.exchange(packets))?;
        ping.round(|packets| client.ping(packets))?;
        qos1.round(|packets| client.publish(1, packets))?;
        qos2.round(|packets| {
            let time = client.publish(2, packets)?;
            client.release(packets)?;
            Ok(time)
        })?;
        release.round(|packets| {
            client.publish(2, packets)?;
            client.release(packets)
        })?;
        for (samples, (_, qos, until)) in row.iter_mut().zip(COLUMNS) {
            samples.extend(deliver(&broker, qos, until)?);
        }
    }

    println!("{:<30} {:>8} {:>8} {:>8} {:>8}  of t (µs)", "", "least", "p25", "p50", "p75");
    let names = [
        "echo of 4 B",
        "echo of a PUBLISH",
        "PINGREQ to PINGRESP",
        "PUBLISH to PUBACK",
        "PUBLISH to PUBREC",
        "PUBREL to PUBCOMP",
    ];
    for (name, samples) in names.iter().zip(&components) {
        println!("{name:<30} {}   s {:.1} µs", spread(&samples.single), samples.each_further());
    }
    println!();
    for ((name, ..), samples) in COLUMNS.iter().zip(&row) {
        println!("{name:<30} {}   mean {:.1} µs", spread(samples), mean(samples));
    }
    println!();
    let [echo, echo_long, _, qos1, _, release] = components.each_ref().map(Samples::median);
    let wake_up = echo / 2.0 - components[0].each_further();
    let acknowledgement = echo / 2.0 - wake_up;
    let both_nodes = 2.0 * wake_up + acknowledgement;
    for (name, microseconds) in [
        ("wake-up", wake_up),
        ("client, acknowledgement", acknowledgement),
        ("client, PUBLISH", echo_long / 2.0 - wake_up),
        ("broker, acknowledgement", release - both_nodes),
        ("broker, PUBLISH", qos1 - both_nodes),
    ] {
        println!("{name:<30} {:.0} µs", microseconds.max(0.0));
    }
    Ok(())
}

const ROUNDS: usize = 5;
const EXCHANGES: usize = 4_000;
/// Packets written at once, to see what a further one adds, and how often.
const MANY: usize = 33;
const BURSTS: usize = 200;

/// Columns of the end-to-end row: QoS, and the packet at which a message counts as delivered.
const COLUMNS: [(&str, u8, u8); 4] = [
    ("QoS 0", 0, PUBLISH),
    ("QoS 1", 1, PUBLISH),
    ("QoS 2 at PUBLISH", 2, PUBLISH),
    ("QoS 2 at PUBREL", 2, PUBREL),
];

const ACKNOWLEDGEMENT_BYTES: usize = 4;
const PAYLOAD: [u8; 100] = [0; 100];
/// A topic with a subscriber and one without, both as long as the probe's.
const HEARD: &[u8] = b"probe-hear";
const TOPIC: &[u8] = b"probe-none";
const PUBLISH: u8 = 0x30;
const PUBACK: u8 = 0x40;
const PUBREC: u8 = 0x50;
const PUBREL: u8 = 0x62;
const PUBCOMP: u8 = 0x70;

/// Times of single exchanges and of bursts (µs).
#[derive(Default)]
struct Samples {
    single: Vec<f64>,
    many: Vec<f64>,
}

impl Samples {
    /// Takes the times of `exchange`, which is told how many packets to write at once.
    fn round(&mut self, mut exchange: impl FnMut(usize) -> Outcome<f64>) -> Outcome<()> {
        for _ in 0..EXCHANGES {
            self.single.push(exchange(1)?);
        }
        for _ in 0..BURSTS {
            self.many.push(exchange(MANY)?);
        }
        Ok(())
    }

    fn median(&self) -> f64 {
        quantile(&self.single, 0.5)
    }

    fn each_further(&self) -> f64 {
        (quantile(&self.many, 0.5) - self.median()) / (MANY - 1) as f64
    }
}

/// Publishes message after message, each when the one before was delivered, between two clients
/// that answer what they receive. Gives the latencies (µs).
fn deliver(broker: &Broker, qos: u8, until: u8) -> Outcome<Vec<f64>> {
    let mut subscriber = Client::connect(broker)?;
    subscriber.subscribe(qos)?;
    let publisher = Client::connect(broker)?;
    let mut line = publisher.stream.try_clone()?;
    let answering = thread::spawn(move || publisher.answer().map_err(|error| error.to_string()));

    let mut latencies = Vec::new();
    let mut published = Instant::now();
    line.write_all(&publish(HEARD, qos, 1))?;
    while latencies.len() < EXCHANGES {
        let (kind, identifier) = subscriber.read()?;
        let arrived = published.elapsed();
        subscriber.reply(kind, identifier)?;
        if kind & 0xf0 == until & 0xf0 {
            latencies.push(arrived.as_secs_f64() * 1e6);
            let next = (latencies.len() + 1) as u16;
            published = Instant::now();
            line.write_all(&publish(HEARD, qos, next))?;
        }
    }
    line.shutdown(Shutdown::Both)?;
    answering.join().map_err(|_| "the publisher broke down")??;
    Ok(latencies)
}

/// A connection to the broker.
struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    fn connect(broker: &Broker) -> Outcome<Self> {
        let stream = broker.stream()?;
        let mut client = Self { stream, buffer: vec![0; 65_536] };
        // Protocol "MQTT", level 4, clean session, no keep-alive, an identifier of the broker's.
        client.write(b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00")?;
        client.expect(0x20)?;
        Ok(client)
    }

    fn subscribe(&mut self, qos: u8) -> Outcome<()> {
        let mut packet = vec![0x82, 5 + HEARD.len() as u8, 0, 1, 0, HEARD.len() as u8];
        packet.extend(HEARD);
        packet.push(qos);
        self.write(&packet)?;
        self.expect(0x90)
    }

    fn ping(&mut self, packets: usize) -> Outcome<f64> {
        self.exchange(&[0xc0, 0].repeat(packets), 2 * packets)
    }

    fn publish(&mut self, qos: u8, packets: usize) -> Outcome<f64> {
        let bytes: Vec<u8> =
            (1..=packets).flat_map(|identifier| publish(TOPIC, qos, identifier as u16)).collect();
        self.exchange(&bytes, ACKNOWLEDGEMENT_BYTES * packets)
    }

    fn release(&mut self, packets: usize) -> Outcome<f64> {
        let bytes: Vec<u8> = (1..=packets)
            .flat_map(|identifier| acknowledgement(PUBREL, identifier as u16))
            .collect();
        self.exchange(&bytes, ACKNOWLEDGEMENT_BYTES * packets)
    }

    /// Time from writing to having read the answers (µs).
    fn exchange(&mut self, bytes: &[u8], answer: usize) -> Outcome<f64> {
        exchange(&mut self.stream, bytes, &mut self.buffer[..answer])
    }

    fn write(&mut self, packet: &[u8]) -> Outcome<()> {
        Ok(self.stream.write_all(packet)?)
    }

    /// Answers every packet until the connection ends.
    fn answer(mut self) -> Outcome<()> {
        while let Ok((kind, identifier)) = self.read() {
            // The connection may end at any moment.
            let _ = self.reply(kind, identifier);
        }
        Ok(())
    }

    /// Sends what the protocol answers.
    fn reply(&mut self, kind: u8, identifier: u16) -> Outcome<()> {
        let answer = match (kind & 0xf0, kind >> 1 & 3) {
            (PUBLISH, 1) => PUBACK,
            (PUBLISH, 2) => PUBREC,
            (PUBREC, _) => PUBREL,
            (0x60, _) => PUBCOMP,
            _ => return Ok(()),
        };
        self.write(&acknowledgement(answer, identifier))
    }

    fn expect(&mut self, expected: u8) -> Outcome<()> {
        let (kind, _) = self.read()?;
        if kind != expected {
            return Err(format!("packet {kind:#x} instead of {expected:#x}").into());
        }
        Ok(())
    }

    /// Reads a packet: its first byte, and its identifier if it has one.
    fn read(&mut self) -> Outcome<(u8, u16)> {
        let mut header = [0; 2];
        self.stream.read_exact(&mut header)?;
        let [kind, length] = header;
        // No packet here is longer than 127 bytes.
        let rest = &mut self.buffer[..usize::from(length)];
        self.stream.read_exact(rest)?;
        let place = if kind & 0xf0 == PUBLISH { 2 + HEARD.len() } else { 0 };
        let identifier = rest.get(place..place + 2).unwrap_or(&[0, 0]);
        Ok((kind, u16::from_be_bytes([identifier[0], identifier[1]])))
    }
}

fn publish(topic: &[u8], qos: u8, identifier: u16) -> Vec<u8> {
    let mut rest = vec![0, topic.len() as u8];
    rest.extend(topic);
    if qos > 0 {
        rest.extend(identifier.to_be_bytes());
    }
    rest.extend(PAYLOAD);
    [&[PUBLISH | qos << 1, rest.len() as u8], &rest[..]].concat()
}

fn acknowledgement(kind: u8, identifier: u16) -> [u8; ACKNOWLEDGEMENT_BYTES] {
    let [high, low] = identifier.to_be_bytes();
    [kind, 2, high, low]
}

fn exchange(stream: &mut TcpStream, bytes: &[u8], answer: &mut [u8]) -> Outcome<f64> {
    let started = Instant::now();
    stream.write_all(bytes)?;
    stream.read_exact(answer)?;
    Ok(started.elapsed().as_secs_f64() * 1e6)
}

/// A Mosquitto of our own, on a free port; ends with this value.
struct Broker {
    port: u16,
    process: Process,
}

impl Broker {
    fn start() -> Outcome<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let settings = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n\
             max_inflight_messages 0\nlog_type none\n"
        );
        let file = std::env::temp_dir().join(format!("measure_broker-{port}.conf"));
        std::fs::write(&file, settings)?;
        let process = on_processor_0("mosquitto").arg("-c").arg(&file).spawn()?;
        let broker = Self { port, process: Process(process) };
        let started = broker.stream();
        std::fs::remove_file(file)?;
        started.map(|_| broker)
    }

    /// A connection, as soon as the broker listens.
    fn stream(&self) -> Outcome<TcpStream> {
        const TRIES: u32 = 100;
        for _ in 0..TRIES {
            if let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("Mosquitto (process {}) does not answer", self.process.0.id()).into())
    }
}

/// A process that echoes packets of one length, and a connection to it.
struct Echo {
    stream: TcpStream,
    packet: Vec<u8>,
    buffer: Vec<u8>,
    _process: Process,
}

impl Echo {
    fn start(bytes: usize) -> Outcome<Self> {
        let mut process = on_processor_0(std::env::current_exe()?.to_str().ok_or("path")?)
            .arg(bytes.to_string())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut port = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut port)?;
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port.trim().parse()?))?;
        stream.set_nodelay(true)?;
        let buffer = vec![0; bytes * MANY];
        Ok(Self { stream, packet: vec![0; bytes], buffer, _process: Process(process) })
    }

    fn exchange(&mut self, packets: usize) -> Outcome<f64> {
        let bytes = self.packet.repeat(packets);
        exchange(&mut self.stream, &bytes, &mut self.buffer[..bytes.len()])
    }
}

/// The other side of [`Echo`]: prints its port, then reads packets and writes them back.
fn echo(bytes: usize) -> Outcome<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?.port());
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let mut packet = vec![0; bytes];
    while stream.read_exact(&mut packet).is_ok() {
        stream.write_all(&packet)?;
    }
    Ok(())
}

fn on_processor_0(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0", program]);
    command
}

/// A process that ends with this value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spread(samples: &[f64]) -> String {
    let [least, p25, p50, p75] = [0.0, 0.25, 0.5, 0.75].map(|share| quantile(samples, share));
    format!("{least:>8.1} {p25:>8.1} {p50:>8.1} {p75:>8.1}")
}

fn quantile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}
