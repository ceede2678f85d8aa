//! Addresses as rate limiters count them.

use std::net::{IpAddr, Ipv6Addr};

/// The network that an address counts for. An IPv6 address counts for its /64: one host usually has
/// all 2^64 of them.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_counts_for_its_64_and_a_mapped_one_for_its_ipv4_address() {
        for (address, counts_for) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::"),
            ("2001:db8::ffff:1", "2001:db8::"),
            ("2001:db8:0:1:ffff::1", "2001:db8:0:1::"),
        ] {
            let parse = |text: &str| text.parse::<IpAddr>().unwrap();
            assert_eq!(network_of(parse(address)), parse(counts_for), "{address}");
        }
    }
}
