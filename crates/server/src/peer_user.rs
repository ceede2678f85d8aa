//! Identifies the local user at the other end of a loopback connection. Linux lists every socket
//! with its owner. Other systems have no such list that is readable without privileges, so users
//! cannot be distinguished there.

#[cfg(any(target_os = "linux", test))]
use std::net::IpAddr;
use std::net::SocketAddr;

/// Returns whether the other end of a connection is known to belong to another user than this
/// process. Root may act as any user, and a server run by root cannot know for whom it was started,
/// so neither is treated as another user.
#[cfg(target_os = "linux")]
pub(crate) fn is_of_another_user(peer: SocketAddr, reached: SocketAddr) -> bool {
    use std::fs::File;
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;

    /// Maximum number of bytes read, enough for a hundred thousand connections.
    const TABLE_MAX: u64 = 32 << 20;
    let Ok(own) = std::fs::metadata("/proc/self").map(|process| process.uid()) else { return false };
    let path = if peer.ip().to_canonical().is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let mut table = String::new();
    let is_read = File::open(path).and_then(|file| file.take(TABLE_MAX).read_to_string(&mut table)).is_ok();
    let owner = if is_read { owner_of(&table, peer, reached) } else { None };
    owner.is_some_and(|owner| own != 0 && owner != 0 && owner != own)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_of_another_user(_: SocketAddr, _: SocketAddr) -> bool {
    false
}

/// Returns the owner of the open connection between two addresses in the kernel's socket table.
#[cfg(any(target_os = "linux", test))]
fn owner_of(table: &str, from: SocketAddr, to: SocketAddr) -> Option<u32> {
    const OPEN: &str = "01";
    let (from, to) = (written(from), written(to));
    let mut rows = table.lines().skip(1).map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let (local, remote, state) = (columns.next(), columns.next(), columns.next());
        (local, remote, state, columns.nth(3))
    });
    let is_it = |column: Option<&str>, wanted: &str| column.is_some_and(|text| text == wanted);
    rows.find(|(local, remote, state, _)| is_it(*local, &from) && is_it(*remote, &to) && is_it(*state, OPEN))
        .and_then(|(_, _, _, owner)| owner?.parse().ok())
}

/// Formats an address as in the kernel's table: hexadecimal words in machine byte order, a colon
/// and the port.
#[cfg(any(target_os = "linux", test))]
fn written(address: SocketAddr) -> String {
    use std::fmt::Write;

    let octets: Vec<u8> = match address.ip().to_canonical() {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets().to_vec(),
    };
    let mut text = octets.as_chunks::<4>().0.iter().fold(String::new(), |mut text, word| {
        let word = if cfg!(target_endian = "little") {
            u32::from_le_bytes(*word)
        } else {
            u32::from_be_bytes(*word)
        };
        // Writing to a `String` never fails.
        write!(text, "{word:08X}").ok();
        text
    });
    write!(text, ":{:04X}", address.port()).ok();
    text
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1
   3: 0100007F:C351 0100007F:1F90 06 00000000:00000000 00:00000000 00000000  1002        0 4 1 0 20 4 30 10 -1
";

    #[test]
    fn the_peer_owner_is_found_in_the_socket_table() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let owner = |from: &str, to: &str| owner_of(TABLE, at(from), at(to));
        assert_eq!(owner("127.0.0.1:50000", "127.0.0.1:8080"), Some(1001));
        assert_eq!(owner("[::ffff:127.0.0.1]:50000", "[::ffff:127.0.0.1]:8080"), Some(1001));
        assert_eq!(owner("127.0.0.1:8080", "127.0.0.1:50000"), Some(1000), "our own end");
        assert_eq!(owner("127.0.0.1:50001", "127.0.0.1:8080"), None, "a connection that has ended");
        assert_eq!(owner("127.0.0.2:50000", "127.0.0.1:8080"), None);
        assert_eq!(owner_of("", at("127.0.0.1:1"), at("127.0.0.1:2")), None);
        assert_eq!(owner_of("x\n\u{0}\n: : :", at("127.0.0.1:1"), at("127.0.0.1:2")), None);
        assert_eq!(written(at("[::1]:80")), "00000000000000000000000001000000:0050");
    }
}
