//! `groupkey ticket`: an operator's word for a group without a controller.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use groupkey::{Epoch, MemberId};
use groupkey_mqtt::config::{MemberConfig, identity};
use groupkey_mqtt::keyring::hex;
use groupkey_mqtt::peer::OperatorWord;

use crate::failure::Failure;

/// Arguments of `groupkey ticket`.
#[derive(Args, Debug)]
#[command(after_help = "\
Prints one line of hexadecimal digits. It is no secret: put it into words = [\"...\"]
in the file of any member, or of the one that joins, and start that one again.

An evicted member needs a ticket for the epoch of its eviction or a later one, and
no later one than needed: a ticket for epoch 9 counts until an eviction that asks
for 10. An eviction says itself for which epoch later tickets must be: one that is
later than --epoch, and than all tickets of the member.

Examples:
  groupkey ticket --config member.toml --operator operator.key --member 4
  groupkey ticket --config member.toml --operator operator.key --member 3 --epoch 13
  groupkey ticket --config member.toml --operator operator.key --member 3 --epoch 12 --evict 13
  groupkey member --public operator.key     the public key for operators = [\"...\"]")]
pub(crate) struct TicketArguments {
    /// A member's configuration file. Only its [group] is read.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,

    /// The file of the operator's identity.
    #[arg(long, value_name = "FILE")]
    operator: PathBuf,

    /// The number of the member that may join.
    #[arg(long, value_name = "NUMBER")]
    member: u32,

    /// The epoch of the member's last eviction or, with --evict, the group's epoch.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    epoch: u64,

    /// Sign that the member is evicted until a ticket is for this epoch or a later one.
    #[arg(long, value_name = "NUMBER", conflicts_with = "evicted")]
    evict: Option<u64>,

    /// A member that was evicted earlier: a newcomer does not follow it. Can be repeated.
    #[arg(long, value_name = "NUMBER")]
    evicted: Vec<u32>,
}

/// Prints the signed word.
pub(crate) fn run(arguments: &TicketArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let (form, prefix, operators) = MemberConfig::read_operators(&arguments.config)
        .map_err(|error| Failure::input(error.to_string()))?;
    if !arguments.operator.exists() {
        let path = arguments.operator.display();
        return Err(Failure::input(format!("{path}: there is no such file")));
    }
    let operator =
        identity(&arguments.operator).map_err(|error| Failure::input(error.to_string()))?;
    let (member, epoch) = (MemberId(arguments.member), Epoch(arguments.epoch));
    let word = match arguments.evict.map(Epoch) {
        Some(since) if since <= epoch => {
            let reason = format!("--evict {} is not later than --epoch {}", since.0, epoch.0);
            return Err(Failure::input(reason));
        }
        Some(since) => OperatorWord::Evict { member, epoch, since },
        None => {
            let evicted = arguments.evicted.iter().copied().map(MemberId).collect();
            OperatorWord::Admit { member, epoch, evicted }
        }
    };
    let signed = word.sign(&form, &prefix, &operators, &operator).ok_or_else(|| {
        let key = hex(&operator.public());
        Failure::input(format!("the operator's key is not in group.operators: {key}"))
    })?;
    writeln!(out, "{}", hex(&signed))?;
    Ok(())
}
