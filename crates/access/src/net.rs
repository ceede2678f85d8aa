//! Address normalization for rate limiters.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the network that an address is counted as. An IPv6 address is counted as its /64,
/// because one host usually controls the whole /64.
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
    fn ipv6_maps_to_its_64_network_and_mapped_addresses_to_ipv4() {
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
