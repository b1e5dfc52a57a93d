//! `groupkey token`: named tokens for a service's HTTP interface.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use groupkey_mqtt::config::{NamedToken, ServeConfig, TokenRights};

use crate::failure::Failure;
use crate::table::{Column, Table};

/// Arguments of `groupkey token`.
#[derive(Args, Debug)]
#[command(after_help = "\
The service's file names the file of tokens: tokens_file in its [http]. It has the hash of
each token, and no token. The service reads it at each request: what you add counts at
once, and what you revoke counts no longer. The trail has the token's name.

Examples:
  groupkey token add alice > alice.token
  groupkey token add monitoring --rights read > monitoring.token
  groupkey ctl --token-file alice.token evict truck-7
  groupkey token list
  groupkey token revoke alice")]
pub(crate) struct TokenArguments {
    /// The service's configuration file.
    #[arg(long, value_name = "FILE", default_value = "serve.toml", global = true)]
    config: PathBuf,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Draw a token, and print it: it is shown once.
    Add {
        /// Its name in the trail
        name: String,
        /// What it may do
        #[arg(long, value_enum, default_value_t = Rights::Operate)]
        rights: Rights,
    },
    /// List the names and rights of all tokens.
    List,
    /// Let a token count no longer.
    Revoke {
        /// Its name
        name: String,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Rights {
    /// Look at the group
    Read,
    /// Look at the group, and operate it
    Operate,
}

pub(crate) fn run(arguments: &TokenArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let refused = |error: groupkey_mqtt::config::ConfigError| Failure::input(error.to_string());
    let config = ServeConfig::look(&arguments.config).map_err(refused)?;
    let file = config.http.and_then(|http| http.tokens_file).ok_or_else(|| {
        Failure::input(format!("{} names no file of tokens", arguments.config.display())).with_help(
            "add tokens_file = \"http.tokens\" to its [http], and start the service again",
        )
    })?;
    match &arguments.verb {
        Verb::Add { name, rights } => {
            let rights = match rights {
                Rights::Read => TokenRights::Read,
                Rights::Operate => TokenRights::Operate,
            };
            let token = NamedToken::add(&file, name, rights).map_err(refused)?;
            writeln!(out, "{}", *token.to_hex())?;
        }
        Verb::List => {
            let mut table = Table::new([Column::text("token"), Column::text("rights")]);
            for token in NamedToken::read(&file).map_err(refused)? {
                table.row([token.name, token.rights.name().to_owned()]);
            }
            write!(out, "{table}")?;
        }
        Verb::Revoke { name } => {
            NamedToken::revoke(&file, name).map_err(refused)?;
            writeln!(out, "{name} counts no longer")?;
        }
    }
    Ok(())
}
