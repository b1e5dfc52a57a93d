//! A plain HTTP client: one request, one answer.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Status line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Asserts that it is a problem (RFC 9457) with this status.
    pub(crate) fn assert_problem(&self, status: u16) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
    }
}

/// Sends a request with these further header lines.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[String],
    body: &str,
) -> Answer {
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n");
    for header in headers {
        request += &format!("{header}\r\n");
    }
    request += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    raw(address, request.as_bytes()).await.expect("an answer")
}

/// Sends these bytes, and reads until the end. `None` without an answer.
pub(crate) async fn raw(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).expect("answers are UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
}
