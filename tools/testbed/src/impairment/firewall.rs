//! Loss in a packet filter of each client, on the way out and on the way in, as ComBench drops packets
//! (S000).
//!
//! Clients and broker share the loopback device. A packet from a client passes the filter twice: as its
//! client sends it, and as the broker gets it. The rules look at ports and at the direction, so that
//! they see each packet in its client alone.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddrV4;
use std::process::{Command, Stdio};

use super::device::Error;
use super::queue::{ImpairedLink, PacketCounts};
use super::{Impairer, search_path};

/// Rules of the kernel's packet filter for the clients of one broker, until it is dropped.
#[derive(Debug)]
pub struct Firewall {
    table: String,
    broker: SocketAddrV4,
}

impl Firewall {
    /// Makes rules for the clients of a broker on this machine, at first without loss. Their segments
    /// have the length that an Ethernet allows.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::Command`] if there is no `nft`, or no right to use it.
    pub fn start(broker: SocketAddrV4) -> Result<Self, Error> {
        let firewall = Self { table: format!("groupkey{}", std::process::id()), broker };
        firewall.set(ImpairedLink::default())?;
        Ok(firewall)
    }

    fn set(&self, link: ImpairedLink) -> Result<(), Error> {
        run(&rules(&self.table, self.broker, link))
    }
}

impl Impairer for Firewall {
    fn impair(&self, link: ImpairedLink) -> Result<(), Error> {
        self.set(link)
    }

    fn counts(&self) -> Option<PacketCounts> {
        None
    }
}

impl Drop for Firewall {
    fn drop(&mut self) {
        // Rules that are gone already need no second end.
        let _ = run(&format!("delete table inet {}\n", self.table));
    }
}

/// Returns the commands that replace all rules of a table.
fn rules(table: &str, broker: SocketAddrV4, link: ImpairedLink) -> String {
    let (address, port) = (broker.ip(), broker.port());
    // A table must be there to be deleted.
    let mut rules = format!("table inet {table} {{}}\ndelete table inet {table}\n");
    let out = (format!("ip daddr {address} tcp dport {port}"), "output", link.up.loss);
    let back = (format!("ip saddr {address} tcp sport {port}"), "input", link.down.loss);
    for (packets, hook, loss) in [out, back] {
        let share = (loss * WHOLE).round();
        // Memory takes what is written.
        let _ = writeln!(
            rules,
            "table inet {table} {{ chain {hook} {{ type filter hook {hook} priority 0; \
             {packets} tcp flags syn tcp option maxseg size set {SEGMENT}; \
             {packets} numgen random mod {WHOLE} < {share} drop; }}; }}"
        );
    }
    rules
}

fn run(rules: &str) -> Result<(), Error> {
    let failed = |what: String| Error::Command(NAME, what);
    let mut child = Command::new(NAME)
        .args(["-f", "-"])
        .env("PATH", search_path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(rules.as_bytes()).map_err(|error| failed(error.to_string()))?;
    }
    let ended = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    match ended.status.success() {
        true => Ok(()),
        false => {
            let told = String::from_utf8_lossy(&ended.stderr);
            Err(failed(told.lines().next().unwrap_or("it failed").to_owned()))
        }
    }
}

const NAME: &str = "nft";

/// The parts of which a share of packets is given.
const WHOLE: f64 = 100_000.0;

/// The longest segment on an Ethernet, in bytes.
const SEGMENT: u32 = 1_460;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::Impairment;

    #[test]
    fn each_packet_is_dropped_in_its_client_alone() {
        let broker = "127.0.0.1:1883".parse().expect("it is an address");
        let lossy = |loss| Impairment { loss, ..Impairment::default() };
        let link = ImpairedLink { up: lossy(0.1), down: lossy(0.05) };
        let rules = rules("t", broker, link);
        assert!(rules.contains("hook output priority 0; ip daddr 127.0.0.1 tcp dport 1883"));
        assert!(rules.contains("tcp dport 1883 numgen random mod 100000 < 10000 drop"), "{rules}");
        assert!(rules.contains("tcp sport 1883 numgen random mod 100000 < 5000 drop"), "{rules}");
    }
}
