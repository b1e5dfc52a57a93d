//! Our schemes beside the MLS libraries mls-rs and openmls: what an operation takes each party, in
//! processor time of one run.
//!
//! All sign their messages with Ed25519, encode and decode them, and check what they receive. The MLS
//! libraries use cipher suite 1 (X25519, AES-128-GCM, SHA-256, Ed25519) with handshakes in clear. A round
//! measures every library once, and the rounds follow each other, so that a busy machine is busy for all.

mod figures;
mod mls_rs_group;
mod openmls_form;
mod openmls_group;
mod processor_time;
mod scheme_group;

use clap::Parser;

use self::figures::{FigureTable, MlsTree};

/// What groupkey's schemes take beside two MLS libraries.
#[derive(Parser)]
struct Arguments {
    /// Sizes of the group
    #[arg(long, default_value = "10,100", value_delimiter = ',', value_name = "MEMBERS")]
    sizes: Vec<u32>,
    /// Schemes of groupkey
    #[arg(
        long,
        default_value = "skdc,lkh-group,oft,tgdh,str,gdh2,treekem",
        value_delimiter = ',',
        value_name = "IDS"
    )]
    schemes: Vec<String>,
    /// Rounds: the least time of them counts
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Also groups of MLS and TreeKEM in which every member has committed once (takes long from 1,000 members on)
    #[arg(long)]
    populated: bool,
    /// Prints rows as JSON Lines
    #[arg(long)]
    json: bool,
}

fn main() {
    let Arguments { sizes, schemes, rounds, populated, json } = Arguments::parse();
    let mut rows = FigureTable::default();
    for &members in &sizes {
        for round in 0..rounds {
            eprintln!("{members} members, round {} of {rounds}", round + 1);
            let has_tree = |tree: &MlsTree| *tree == MlsTree::Blank || populated;
            let trees: Vec<_> = MlsTree::ALL.into_iter().filter(has_tree).collect();
            for scheme in &schemes {
                let trees: Vec<_> = match &scheme[..] {
                    "treekem" => trees.iter().copied().map(Some).collect(),
                    _ => vec![None],
                };
                for tree in trees {
                    if let Err(problem) = scheme_group::measure(scheme, members, tree, &mut rows) {
                        eprintln!("error: {problem}");
                        std::process::exit(2);
                    }
                }
            }
            for &tree in &trees {
                mls_rs_group::measure_all(members, tree, &mut rows);
                openmls_group::measure(members, tree, &mut rows);
            }
        }
    }
    match json {
        true => rows.print_lines(),
        false => rows.print_tables(&sizes),
    }
}
