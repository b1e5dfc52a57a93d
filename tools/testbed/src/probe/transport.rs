//! The transport of packets: TCP, with TLS or without.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustls::ClientConnection;
use rustls::pki_types::ServerName;

use super::target::ProbeTarget;

/// One connection. No wait is longer than the caller asks for.
#[derive(Debug)]
pub(super) struct ProbeConnection {
    tcp: TcpStream,
    session: Option<Box<ClientConnection>>,
}

impl ProbeConnection {
    /// Connects. Errors of TLS have the kind `InvalidData`, and a description.
    pub(super) fn open(address: &SocketAddr, target: &ProbeTarget) -> io::Result<Self> {
        let tcp = TcpStream::connect_timeout(address, target.timeout)?;
        tcp.set_nodelay(true)?;
        tcp.set_write_timeout(Some(target.timeout))?;
        let mut line = Self { tcp, session: None };
        if let Some(tls) = &target.tls {
            let host = ServerName::try_from(target.host.clone()).map_err(invalid)?;
            let session = ClientConnection::new(tls.configuration(), host).map_err(invalid)?;
            line.session = Some(Box::new(session));
            line.shake_hands(target.timeout).map_err(invalid)?;
        }
        Ok(line)
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(session) = &mut self.session else { return self.tcp.write_all(bytes) };
        let mut left = bytes;
        while !left.is_empty() {
            let taken = session.writer().write(left)?;
            left = &left[taken..];
            send(session, &mut self.tcp)?;
        }
        Ok(())
    }

    /// Reads the data that arrives within this time. Fails with `WouldBlock` or `TimedOut` if none
    /// arrives. Returns 0 at the end.
    pub(super) fn read(&mut self, chunk: &mut [u8], time: Duration) -> io::Result<usize> {
        self.tcp.set_read_timeout(Some(time))?;
        let Some(session) = &mut self.session else { return self.tcp.read(chunk) };
        match session.reader().read(chunk) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            read => return read,
        }
        if session.read_tls(&mut self.tcp)? == 0 {
            return Ok(0);
        }
        session.process_new_packets().map_err(invalid)?;
        session.reader().read(chunk)
    }

    /// Tells the broker that no more data will be sent.
    pub(super) fn finish(&mut self) {
        if let Some(session) = &mut self.session {
            session.send_close_notify();
            // It does no harm if the broker closed the connection first.
            let _ = send(session, &mut self.tcp);
        }
        let _ = self.tcp.shutdown(Shutdown::Write);
    }

    pub(super) const fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    fn shake_hands(&mut self, time: Duration) -> io::Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let deadline = Instant::now() + time;
        while session.is_handshaking() {
            send(session, &mut self.tcp)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(invalid(format!("no handshake within {} s", time.as_secs_f64())));
            }
            self.tcp.set_read_timeout(Some(left))?;
            match session.read_tls(&mut self.tcp) {
                Ok(0) => return Err(invalid("it closes the connection instead of a handshake")),
                Err(error) if is_silence(&error) => continue,
                read => read.map(drop)?,
            }
            if let Err(error) = session.process_new_packets() {
                // The broker learns of the error, too, if it still reads.
                let _ = send(session, &mut self.tcp);
                return Err(invalid(error));
            }
        }
        send(session, &mut self.tcp)
    }
}

/// Returns whether an error only means that no data has arrived yet.
pub(super) fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn send(session: &mut ClientConnection, tcp: &mut TcpStream) -> io::Result<()> {
    while session.wants_write() {
        session.write_tls(tcp)?;
    }
    Ok(())
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}
