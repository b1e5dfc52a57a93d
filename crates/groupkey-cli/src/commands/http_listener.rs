//! The socket of an HTTP interface, as `[http]` of a file says it.

use std::net::SocketAddr;

use groupkey_mqtt::config::HttpConfig;
use groupkey_mqtt::http::Access;
use tokio::net::TcpListener;

use crate::failure::Failure;

pub(crate) async fn listen(
    config: HttpConfig,
) -> Result<(TcpListener, SocketAddr, Access), Failure> {
    let HttpConfig { listen, token, tokens_file, hosts, exports } = config;
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Failure::running(format!("{listen}: {error}"))
            .with_help("choose another address for http.listen, or leave it out")
    })?;
    let address = listener.local_addr().map_err(|error| Failure::running(error.to_string()))?;
    Ok((listener, address, Access { token, tokens_file, hosts, exports }))
}
