//! Finds the user of a loopback connection before a byte is read. Only Linux reports it. On other
//! systems tokens and cookies are the only protection.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use crate::log::note;

/// Minimum time between two log lines about refused peers.
const BETWEEN_NOTES: Duration = Duration::from_secs(10);

/// The reason to refuse a connection.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux reports the user of a socket"))]
pub(crate) enum RefusedPeer {
    /// The peer is a process of another user.
    #[error("the peer is a process of user {0}")]
    OtherUser(u32),
    /// The system reports no process for the peer.
    #[error("the user of the peer is unknown: {0}")]
    Unknown(io::Error),
}

/// Whether the peer is a process of our user or of root. An unknown user is refused.
pub(crate) fn is_admitted(stream: &TcpStream) -> bool {
    let Err(refused) = admit(stream) else { return true };
    // A peer that retries often must not fill the log.
    static NOTED: Mutex<Option<Instant>> = Mutex::new(None);
    let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
    if noted.is_none_or(|last| last.elapsed() >= BETWEEN_NOTES) {
        *noted = Some(Instant::now());
        note(format_args!("refused a connection: {refused}"));
    }
    false
}

fn admit(stream: &TcpStream) -> Result<(), RefusedPeer> {
    let ends = stream.peer_addr().and_then(|peer| Ok((peer, stream.local_addr()?)));
    let (peer, ours) = ends.map_err(RefusedPeer::Unknown)?;
    admit_ends(peer, ours)
}

#[cfg(not(target_os = "linux"))]
fn admit_ends(_: SocketAddr, _: SocketAddr) -> Result<(), RefusedPeer> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn admit_ends(peer: SocketAddr, ours: SocketAddr) -> Result<(), RefusedPeer> {
    let user = linux::user(peer, ours).map_err(RefusedPeer::Unknown)?;
    if user == 0 || user == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(RefusedPeer::OtherUser(user))
}

/// The user of a socket on Linux: by a netlink query, or else from the table in `/proc`.
#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;
    use std::net::{IpAddr, Ipv6Addr, SocketAddr};
    use std::sync::atomic::{AtomicBool, Ordering};

    use cellist_platform::fault::{self, Site};
    use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recvfrom, sendto, socket_with,
    };

    /// `SOCK_DIAG_BY_FAMILY`, in the query and in the answer.
    const BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const TCP: u8 = 6;
    const V4: u8 = 2;
    const V6: u8 = 10;
    /// Sizes of `struct nlmsghdr` and `struct inet_diag_msg`.
    const HEAD: usize = 16;
    const ANSWER: usize = 72;

    /// The user of the socket bound to `from` and connected to `to`.
    pub(super) fn user(from: SocketAddr, to: SocketAddr) -> io::Result<u32> {
        // A missing kernel module looks like a missing socket until the first answer. The table is
        // slow with thousands of connections, and a hostile program could trigger the lookup at
        // will.
        static ANSWERS: AtomicBool = AtomicBool::new(false);
        match by_netlink(from, to) {
            Ok(user) => {
                ANSWERS.store(true, Ordering::Relaxed);
                Ok(user)
            }
            Err(error) if is_gone(&error) && ANSWERS.load(Ordering::Relaxed) => Err(error),
            Err(_) => by_table(from, to),
        }
    }

    fn is_gone(error: &io::Error) -> bool {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotConnected)
    }

    pub(super) fn by_netlink(from: SocketAddr, to: SocketAddr) -> io::Result<u32> {
        fault::point(Site::Netlink)?;
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
        sendto(&socket, &question(from, to), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut buffer = [0_u8; 512];
        // The kernel answers before `sendto` returns.
        let (_, length, sender) = recvfrom(&socket, &mut buffer, RecvFlags::DONTWAIT)?;
        let sender = sender.map(SocketAddrNetlink::try_from);
        if !matches!(sender, Some(Ok(sender)) if sender.pid() == 0) {
            return Err(io::Error::other("the netlink answer is not from the kernel"));
        }
        answer(buffer.get(..length).unwrap_or_default(), from, to)
    }

    fn question(from: SocketAddr, to: SocketAddr) -> Vec<u8> {
        let mut all = Vec::with_capacity(72);
        all.extend_from_slice(&72_u32.to_ne_bytes());
        all.extend_from_slice(&BY_FAMILY.to_ne_bytes());
        all.extend_from_slice(&REQUEST.to_ne_bytes());
        all.extend_from_slice(&[0; 8]);
        let family = if from.is_ipv4() { V4 } else { V6 };
        all.extend_from_slice(&[family, TCP, 0, 0]);
        all.extend_from_slice(&u32::MAX.to_ne_bytes());
        all.extend_from_slice(&from.port().to_be_bytes());
        all.extend_from_slice(&to.port().to_be_bytes());
        for address in [from.ip(), to.ip()] {
            match address {
                IpAddr::V4(address) => {
                    all.extend_from_slice(&address.octets());
                    all.extend_from_slice(&[0; 12]);
                }
                IpAddr::V6(address) => all.extend_from_slice(&address.octets()),
            }
        }
        // Any interface, and the cookie that matches any socket.
        all.extend_from_slice(&[0; 4]);
        all.extend_from_slice(&[0xff; 8]);
        all
    }

    fn answer(bytes: &[u8], from: SocketAddr, to: SocketAddr) -> io::Result<u32> {
        let garbled = || io::Error::other("malformed netlink answer");
        let kind = bytes.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
        let number =
            |at: usize| bytes.get(at..at + 4).and_then(|found| found.try_into().ok()).map(u32::from_ne_bytes);
        if kind != Some(BY_FAMILY) {
            let code = number(HEAD).map_or(0, u32::cast_signed);
            return Err(if code < 0 { io::Error::from_raw_os_error(-code) } else { garbled() });
        }
        let body = bytes.get(HEAD..HEAD + ANSWER).ok_or_else(garbled)?;
        let port = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
        let address = |at: usize| {
            let mut octets = [0_u8; 16];
            octets.copy_from_slice(&body[at..at + 16]);
            match body[0] {
                V4 => IpAddr::from([octets[0], octets[1], octets[2], octets[3]]),
                _ => Ipv6Addr::from(octets).to_canonical(),
            }
        };
        let found = [SocketAddr::new(address(8), port(4)), SocketAddr::new(address(24), port(6))];
        // For a closed socket, the kernel returns one that listens on the same port.
        if found != [canonical(from), canonical(to)] {
            return Err(io::ErrorKind::NotFound.into());
        }
        attributed(number(HEAD + 64).ok_or_else(garbled)?, number(HEAD + 68).ok_or_else(garbled)?.into())
    }

    pub(super) fn by_table(from: SocketAddr, to: SocketAddr) -> io::Result<u32> {
        let wanted = [canonical(from), canonical(to)];
        // A dual-stack socket may be connected over IPv4.
        let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
        let mut error = io::Error::from(io::ErrorKind::NotFound);
        for table in tables {
            match fs::read_to_string(table) {
                Ok(text) => {
                    let found = text.lines().skip(1).find_map(|line| row(line, wanted));
                    if let Some((user, inode)) = found {
                        return attributed(user, inode);
                    }
                }
                Err(cause) => error = cause,
            }
        }
        Err(error)
    }

    /// User and inode in the row of a socket, if its addresses match.
    fn row(line: &str, wanted: [SocketAddr; 2]) -> Option<(u32, u64)> {
        let mut columns = line.split_ascii_whitespace();
        let ends = [spelled(columns.nth(1)?)?, spelled(columns.next()?)?];
        if ends != wanted {
            return None;
        }
        // Skips state, queues, timer and retries.
        let user = columns.nth(4)?.parse().ok()?;
        Some((user, columns.nth(1)?.parse().ok()?))
    }

    /// Parses an address of the table: hexadecimal words in native byte order.
    fn spelled(text: &str) -> Option<SocketAddr> {
        let (address, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let mut octets = Vec::with_capacity(16);
        for at in (0..address.len()).step_by(8) {
            let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
            octets.extend_from_slice(&word.to_ne_bytes());
        }
        let address = match <[u8; 4]>::try_from(octets.as_slice()) {
            Ok(octets) => IpAddr::from(octets),
            Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(octets.as_slice()).ok()?).to_canonical(),
        };
        Some(SocketAddr::new(address, port))
    }

    fn canonical(address: SocketAddr) -> SocketAddr {
        SocketAddr::new(address.ip().to_canonical(), address.port())
    }

    /// A closed socket has no inode, and its user reads as root.
    fn attributed(user: u32, inode: u64) -> io::Result<u32> {
        if inode == 0 {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the peer has closed the connection"));
        }
        Ok(user)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};

    use super::*;

    /// Both ends of a connection, and their addresses as the server sees them.
    fn connection(
        at: &str,
        to: impl Fn(u16) -> SocketAddr,
    ) -> (TcpStream, TcpStream, SocketAddr, SocketAddr) {
        let listener = TcpListener::bind(at).unwrap();
        let client = TcpStream::connect(to(listener.local_addr().unwrap().port())).unwrap();
        let (server, _) = listener.accept().unwrap();
        let ends = (server.peer_addr().unwrap(), server.local_addr().unwrap());
        (client, server, ends.0, ends.1)
    }

    #[test]
    fn netlink_and_table_report_our_user_for_ipv4_and_ipv6() {
        let ours = rustix::process::geteuid().as_raw();
        let four = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let six = |port| SocketAddr::from((Ipv6Addr::LOCALHOST, port));
        let mapped = |port| SocketAddr::from((Ipv4Addr::LOCALHOST.to_ipv6_mapped(), port));
        let check = |at: &str, to: &dyn Fn(u16) -> SocketAddr| {
            let (client, _server, peer, local) = connection(at, to);
            assert_eq!(linux::by_netlink(peer, local).unwrap(), ours, "{at}");
            assert_eq!(linux::by_table(peer, local).unwrap(), ours, "{at}");
            client.shutdown(Shutdown::Write).unwrap();
            assert_eq!(linux::user(peer, local).unwrap(), ours, "{at}: half closed");
        };
        check("127.0.0.1:0", &four);
        check("127.0.0.1:0", &mapped);
        check("[::1]:0", &six);
    }

    #[test]
    fn a_closed_connection_is_not_attributed_to_root() {
        let (client, _server, peer, local) =
            connection("127.0.0.1:0", |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        drop(client);
        assert!(linux::by_netlink(peer, local).is_err());
        assert!(linux::by_table(peer, local).is_err());
        assert!(matches!(admit_ends(peer, local), Err(RefusedPeer::Unknown(_))));
    }

    #[test]
    fn a_listener_on_the_port_of_a_closed_socket_does_not_count() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (gone, ours) = (listener.local_addr().unwrap(), SocketAddr::from((Ipv4Addr::LOCALHOST, 9)));
        assert!(matches!(admit_ends(gone, ours), Err(RefusedPeer::Unknown(_))));
    }

    #[test]
    fn a_netlink_query_takes_less_than_200_microseconds() {
        let (_client, _server, peer, local) =
            connection("127.0.0.1:0", |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let times = (0..200).map(|_| {
            let start = std::time::Instant::now();
            linux::by_netlink(peer, local).unwrap();
            start.elapsed()
        });
        // The minimum is the cost. The rest is load of the machine.
        let best = times.min().unwrap();
        eprintln!("one question takes {best:?}");
        assert!(best < std::time::Duration::from_micros(200), "{best:?}");
    }
}
