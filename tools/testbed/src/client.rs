//! A blocking connection to a broker, packet by packet.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use groupkey_mqtt::Version;

use crate::packet::{Connack, Connect, Packet};

/// A connection. It sends only what it is asked to.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    version: Version,
    unread: Vec<u8>,
}

impl Client {
    /// Connects. Also returns whether the broker still has the client's session. No later wait is
    /// longer than `patience`.
    pub(crate) fn connect(
        broker: SocketAddr,
        version: Version,
        connect: Connect,
        patience: Duration,
    ) -> io::Result<(Self, bool)> {
        let stream = TcpStream::connect_timeout(&broker, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let mut client = Self { stream, version, unread: Vec::new() };
        client.send(&Packet::Connect(Box::new(connect)))?;
        match client.receive()? {
            Packet::Connack(Connack { code: 0, session_present }) => Ok((client, session_present)),
            other => Err(io::Error::other(format!("the broker refuses the connection: {other:?}"))),
        }
    }

    pub(crate) fn send(&mut self, packet: &Packet) -> io::Result<()> {
        let bytes = packet.encode(self.version).map_err(io::Error::other)?;
        self.stream.write_all(&bytes)
    }

    /// Waits for the next packet of any kind.
    pub(crate) fn receive(&mut self) -> io::Result<Packet> {
        loop {
            let decoded = Packet::decode(self.version, &self.unread).map_err(io::Error::other)?;
            if let Some((packet, length)) = decoded {
                self.unread.drain(..length);
                return Ok(packet);
            }
            let mut chunk = [0; 16 << 10];
            match self.stream.read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.unread.extend_from_slice(&chunk[..length]),
            }
        }
    }

    pub(crate) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Closes the connection without DISCONNECT, like a client that loses its network.
    pub(crate) fn cut(self) {
        // It does no harm if the broker closed the connection first.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
