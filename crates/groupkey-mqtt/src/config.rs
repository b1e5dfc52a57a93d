//! The configuration files of a service, of a member and of a bridge (TOML). Unknown keys are refused. Otherwise
//! a typing error would leave a default in place.

mod any;
mod bridge;
mod bridge_remarks;
mod broker;
mod file;
mod flash_file;
mod group;
mod http;
mod identity_file;
mod member;
mod own_schemes;
mod serve;
mod tokens;

pub use self::any::AnyConfig;
pub use self::bridge::{BRIDGE_TEMPLATE, BridgeConfig, BridgeGroup};
pub use self::broker::client_identifier;
pub use self::file::{ConfigError, read_public, read_secret};
pub use self::flash_file::{FlashForm, write_settings};
pub use self::http::HttpConfig;
pub use self::identity_file::{hold, identity};
pub use self::member::{MEMBER_TEMPLATE, MemberConfig, Participation};
pub use self::own_schemes::register_schemes;
pub use self::serve::{SERVE_TEMPLATE, ServeConfig, StoreConfig};
#[cfg(feature = "http")]
pub(crate) use self::tokens::OPERATOR;
pub use self::tokens::{NamedToken, TokenRights};
