//! The network: Ethernet, IPv4 and one TCP connection, on the board's card.

use core::cell::RefCell;
use core::future::poll_fn;
use core::task::Poll;

use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage};
#[cfg(feature = "dhcp")]
use smoltcp::socket::dhcpv4;
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Address, Ipv4Cidr};
use static_cell::ConstStaticCell;

use crate::board::{self, Nic};

/// The network, shared by the connection and the loop that keeps it going.
pub struct Network(RefCell<Parts>);

struct Parts {
    card: Nic,
    interface: Interface,
    sockets: SocketSet<'static>,
    tcp: SocketHandle,
    #[cfg(feature = "dhcp")]
    dhcp: SocketHandle,
    next_port: u16,
}

impl Network {
    /// Starts the network. `seed` makes ports and sequence numbers hard to guess.
    pub fn new(mut card: Nic, seed: u64) -> Self {
        static STORAGE: ConstStaticCell<[SocketStorage<'static>; SOCKETS]> =
            ConstStaticCell::new([SocketStorage::EMPTY; SOCKETS]);
        static RECEIVED: ConstStaticCell<[u8; WINDOW]> = ConstStaticCell::new([0; WINDOW]);
        static SENDING: ConstStaticCell<[u8; WINDOW]> = ConstStaticCell::new([0; WINDOW]);

        let address = HardwareAddress::Ethernet(EthernetAddress(card.address()));
        let mut config = Config::new(address);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut card, now());
        let is_fixed = !cfg!(feature = "dhcp");
        take(&mut interface, is_fixed.then_some((ADDRESS, Some(GATEWAY))));
        let mut socket = Socket::new(
            SocketBuffer::new(&mut RECEIVED.take()[..]),
            SocketBuffer::new(&mut SENDING.take()[..]),
        );
        socket.set_nagle_enabled(false);
        socket.set_timeout(Some(TIMEOUT));
        let mut sockets = SocketSet::new(&mut STORAGE.take()[..]);
        let tcp = sockets.add(socket);
        #[cfg(feature = "dhcp")]
        let dhcp = sockets.add(dhcpv4::Socket::new());
        let next_port = FIRST_PORT + seed as u16 % PORTS;
        Self(RefCell::new(Parts {
            card,
            interface,
            sockets,
            tcp,
            #[cfg(feature = "dhcp")]
            dhcp,
            next_port,
        }))
    }

    /// Sends and receives what there is.
    pub fn poll(&self) {
        let parts = &mut *self.0.borrow_mut();
        parts.interface.poll(now(), &mut parts.card, &mut parts.sockets);
        #[cfg(feature = "dhcp")]
        match parts.sockets.get_mut::<dhcpv4::Socket<'_>>(parts.dhcp).poll() {
            Some(dhcpv4::Event::Configured(lease)) => {
                take(&mut parts.interface, Some((lease.address, lease.router)));
            }
            Some(dhcpv4::Event::Deconfigured) => take(&mut parts.interface, None),
            None => {}
        }
    }

    /// Connects to this address. Drops the connection before.
    pub async fn connect(&self, address: [u8; 4], port: u16) -> Result<Stream<'_>, Broken> {
        {
            let Parts { interface, sockets, tcp, next_port, .. } = &mut *self.0.borrow_mut();
            let socket = sockets.get_mut::<Socket<'_>>(*tcp);
            socket.abort();
            *next_port = FIRST_PORT + (*next_port - FIRST_PORT + 1) % PORTS;
            let remote = (Ipv4Address::from(address), port);
            socket.connect(interface.context(), remote, *next_port).map_err(|_| Broken)?;
        }
        poll_fn(|_| {
            self.with_socket(|socket| match socket.state() {
                State::Closed => Poll::Ready(Err(Broken)),
                _ if socket.may_send() => Poll::Ready(Ok(())),
                _ => Poll::Pending,
            })
        })
        .await?;
        Ok(Stream(self))
    }

    fn with_socket<T>(&self, act: impl FnOnce(&mut Socket<'static>) -> T) -> T {
        let Parts { sockets, tcp, .. } = &mut *self.0.borrow_mut();
        act(sockets.get_mut(*tcp))
    }
}

/// A TCP connection.
pub struct Stream<'a>(&'a Network);

/// The connection broke, or was not made.
#[derive(Clone, Copy, Debug)]
pub struct Broken;

impl core::fmt::Display for Broken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the connection broke")
    }
}

impl core::error::Error for Broken {}

impl embedded_io_async::Error for Broken {
    fn kind(&self) -> ErrorKind {
        ErrorKind::ConnectionReset
    }
}

impl ErrorType for Stream<'_> {
    type Error = Broken;
}

impl Read for Stream<'_> {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Broken> {
        poll_fn(|_| {
            self.0.with_socket(|socket| {
                if socket.can_recv() {
                    Poll::Ready(socket.recv_slice(bytes).map_err(|_| Broken))
                } else if socket.may_recv() {
                    Poll::Pending
                } else {
                    Poll::Ready(Ok(0))
                }
            })
        })
        .await
    }
}

impl Write for Stream<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        poll_fn(|_| {
            self.0.with_socket(|socket| {
                if !socket.may_send() {
                    Poll::Ready(Err(Broken))
                } else if socket.can_send() {
                    Poll::Ready(socket.send_slice(bytes).map_err(|_| Broken))
                } else {
                    Poll::Pending
                }
            })
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), Broken> {
        self.0.poll();
        Ok(())
    }
}

fn now() -> Instant {
    Instant::from_micros(i64::try_from(board::now() / 1_000).unwrap_or(i64::MAX))
}

/// Sets the device's address, with the gateway to other networks.
fn take(interface: &mut Interface, place: Option<(Ipv4Cidr, Option<Ipv4Address>)>) {
    interface.update_ip_addrs(|addresses| {
        addresses.clear();
        if let Some((address, _)) = place {
            // There is room for at least one.
            let _ = addresses.push(IpCidr::Ipv4(address));
        }
    });
    let routes = interface.routes_mut();
    routes.remove_default_ipv4_route();
    if let Some((_, Some(gateway))) = place {
        let _ = routes.add_default_ipv4_route(gateway);
    }
}

/// QEMU's user network gives its one guest this address, and is itself the gateway.
const ADDRESS: Ipv4Cidr = Ipv4Cidr::new(Ipv4Address::new(10, 0, 2, 15), 24);
const GATEWAY: Ipv4Address = Ipv4Address::new(10, 0, 2, 2);

/// The connection, and the client of DHCP.
const SOCKETS: usize = if cfg!(feature = "dhcp") { 2 } else { 1 };

/// The size of each of the connection's two buffers, in bytes.
const WINDOW: usize = 2_048;

/// How long the other side may send nothing while data waits for its acknowledgement. It is longer
/// than the time between pings: the silence before the data counts.
const TIMEOUT: Duration = Duration::from_secs(30);

const FIRST_PORT: u16 = 49_152;
const PORTS: u16 = 16_384;
