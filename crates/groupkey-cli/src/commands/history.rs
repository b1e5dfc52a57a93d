//! The schemes and the operations on their groups: arguments that `net` and `validate` share.

use clap::Args;
use groupkey::Operation;
use groupkey::catalogue::Scheme;

use crate::choice;

/// The schemes and operations. Each pair is run. Commands set their own defaults.
#[derive(Args, Debug)]
pub(crate) struct HistoryArguments {
    /// Schemes, by their ids.
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = choice::scheme())]
    pub(crate) scheme: Vec<&'static Scheme>,

    /// What happens to the group.
    #[arg(
        long,
        value_name = "OPERATION",
        value_delimiter = ',',
        default_value = "create",
        value_parser = choice::operation(),
    )]
    pub(crate) operation: Vec<Operation>,
}
