//! Which schemes a command is about, one by one or by class.

use clap::Args;
use groupkey::catalogue::{Class, Scheme};

use crate::choice;

/// Schemes or classes; none means what the command says.
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
