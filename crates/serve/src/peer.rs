//! Whose process is at the other end of a loopback connection, asked of the system before a byte is read. Linux tells it;
//! where the system does not, tokens and cookies are all that stands.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use crate::log::note;

/// The least time between two notes about strangers.
const BETWEEN_NOTES: Duration = Duration::from_secs(10);

/// Why a connection is refused.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "no other system tells the user of a socket")
)]
pub(crate) enum Stranger {
    /// Its process belongs to another user.
    #[error("it comes from a process of user {0}")]
    OtherUser(u32),
    /// The system knows no process at the other end, or does not tell.
    #[error("the system does not tell the user that it comes from: {0}")]
    Unknown(io::Error),
}

/// Whether a connection comes from our own user or from root. One that the system cannot attribute does not.
pub(crate) fn is_admitted(stream: &TcpStream) -> bool {
    let Err(stranger) = admit(stream) else { return true };
    // A stranger who comes often does not fill the log.
    static NOTED: Mutex<Option<Instant>> = Mutex::new(None);
    let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
    if noted.is_none_or(|last| last.elapsed() >= BETWEEN_NOTES) {
        *noted = Some(Instant::now());
        note(format_args!("refused a connection: {stranger}"));
    }
    false
}

fn admit(stream: &TcpStream) -> Result<(), Stranger> {
    let ends = stream.peer_addr().and_then(|peer| Ok((peer, stream.local_addr()?)));
    let (peer, ours) = ends.map_err(Stranger::Unknown)?;
    admit_ends(peer, ours)
}

#[cfg(not(target_os = "linux"))]
fn admit_ends(_: SocketAddr, _: SocketAddr) -> Result<(), Stranger> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn admit_ends(peer: SocketAddr, ours: SocketAddr) -> Result<(), Stranger> {
    let user = linux::user(peer, ours).map_err(Stranger::Unknown)?;
    if user == 0 || user == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(Stranger::OtherUser(user))
}

/// The user of a socket on Linux: one exact question over netlink, and the table in `/proc` where that fails.
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

    /// `SOCK_DIAG_BY_FAMILY`, both in the question and in the answer.
    const BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const TCP: u8 = 6;
    const V4: u8 = 2;
    const V6: u8 = 10;
    /// `struct nlmsghdr`, and `struct inet_diag_msg` behind it.
    const HEAD: usize = 16;
    const ANSWER: usize = 72;

    /// The user of the socket that is bound to `from` and connected to `to`.
    pub(super) fn user(from: SocketAddr, to: SocketAddr) -> io::Result<u32> {
        // A module for the question may be missing, which looks like a socket that is missing, until it has answered once.
        // The table takes milliseconds where there are thousands of connections, and a program can hang up as often.
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
        // The kernel has answered by the time that it has taken the question.
        let (_, length, sender) = recvfrom(&socket, &mut buffer, RecvFlags::DONTWAIT)?;
        let sender = sender.map(SocketAddrNetlink::try_from);
        if !matches!(sender, Some(Ok(sender)) if sender.pid() == 0) {
            return Err(io::Error::other("the answer is not the kernel's"));
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
        // Any interface, and a cookie that stands for any.
        all.extend_from_slice(&[0; 4]);
        all.extend_from_slice(&[0xff; 8]);
        all
    }

    fn answer(bytes: &[u8], from: SocketAddr, to: SocketAddr) -> io::Result<u32> {
        let garbled = || io::Error::other("the kernel's answer cannot be read");
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
        // Where the socket is gone, the kernel answers with one that merely listens at its port.
        if found != [canonical(from), canonical(to)] {
            return Err(io::ErrorKind::NotFound.into());
        }
        attributed(number(HEAD + 64).ok_or_else(garbled)?, number(HEAD + 68).ok_or_else(garbled)?.into())
    }

    pub(super) fn by_table(from: SocketAddr, to: SocketAddr) -> io::Result<u32> {
        let wanted = [canonical(from), canonical(to)];
        // A socket for both families connects to the older one, too.
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

    /// User and inode of the row of a socket, if it is the one that is wanted.
    fn row(line: &str, wanted: [SocketAddr; 2]) -> Option<(u32, u64)> {
        let mut columns = line.split_ascii_whitespace();
        let ends = [spelled(columns.nth(1)?)?, spelled(columns.next()?)?];
        if ends != wanted {
            return None;
        }
        // State, queues, timer and retries stand in between.
        let user = columns.nth(4)?.parse().ok()?;
        Some((user, columns.nth(1)?.parse().ok()?))
    }

    /// An address as the table spells it: words in the order of the machine, as hexadecimal numbers.
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

    /// A socket that its process has closed has no inode, and its user reads as root.
    fn attributed(user: u32, inode: u64) -> io::Result<u32> {
        if inode == 0 {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "its process has closed it"));
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
    fn both_ways_name_our_own_user_over_each_family() {
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
    fn a_connection_that_its_process_has_closed_is_not_taken_for_roots() {
        let (client, _server, peer, local) =
            connection("127.0.0.1:0", |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        drop(client);
        assert!(linux::by_netlink(peer, local).is_err());
        assert!(linux::by_table(peer, local).is_err());
        assert!(matches!(admit_ends(peer, local), Err(Stranger::Unknown(_))));
    }

    #[test]
    fn a_socket_that_listens_at_the_port_of_one_that_is_gone_does_not_speak_for_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (gone, ours) = (listener.local_addr().unwrap(), SocketAddr::from((Ipv4Addr::LOCALHOST, 9)));
        assert!(matches!(admit_ends(gone, ours), Err(Stranger::Unknown(_))));
    }

    #[test]
    fn asking_takes_a_fraction_of_a_millisecond() {
        let (_client, _server, peer, local) =
            connection("127.0.0.1:0", |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let times = (0..200).map(|_| {
            let start = std::time::Instant::now();
            linux::by_netlink(peer, local).unwrap();
            start.elapsed()
        });
        // The best of many is what it costs; the others are those of a busy machine.
        let best = times.min().unwrap();
        eprintln!("one question takes {best:?}");
        assert!(best < std::time::Duration::from_micros(200), "{best:?}");
    }
}
