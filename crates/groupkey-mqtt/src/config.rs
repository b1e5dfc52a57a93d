//! The configuration files of a service and of a member (TOML). Unknown keys are refused. Otherwise
//! a typing error would leave a default in place.

mod broker;
mod file;
mod flash_file;
mod group;
mod http;
mod identity_file;
mod member;
mod serve;

pub use self::broker::client_identifier;
pub use self::file::{ConfigError, read_public, read_secret};
pub use self::flash_file::{FlashForm, write_settings};
pub use self::http::HttpConfig;
pub use self::identity_file::{hold, identity};
pub use self::member::{MEMBER_TEMPLATE, MemberConfig, Participation};
pub use self::serve::{AdaptConfig, SERVE_TEMPLATE, ServeConfig, StoreConfig};
