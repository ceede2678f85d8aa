//! Who is behind an address.

use std::net::{IpAddr, Ipv6Addr};

/// The network that an address counts for: whoever has one address of the sixth version has 2^64 of them.
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
    fn a_network_of_the_sixth_version_is_one_somebody_and_a_mapped_address_is_what_it_maps() {
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
