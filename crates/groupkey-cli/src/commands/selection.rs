//! The schemes of a command, chosen one by one or by class.

use clap::Args;
use groupkey::catalogue::{Class, Scheme};

use crate::choice;

/// Schemes or classes. If none is given, each command has its own default.
#[derive(Args, Debug)]
pub(crate) struct SelectionArguments {
    /// Schemes, by their ids [default: all].
    #[arg(
        long,
        value_name = "ID",
        value_delimiter = ',',
        value_parser = choice::scheme(),
        conflicts_with = "class",
    )]
    pub(crate) scheme: Vec<&'static Scheme>,

    /// All schemes of these classes.
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = choice::class())]
    pub(crate) class: Vec<Class>,
}
