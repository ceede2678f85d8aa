//! Row keys of sign-in attempts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sha2::{Digest, Sha256};
use store::GuardKey;

use crate::random::hex;

/// Row keys of a name with an address or known browser.
#[derive(Clone, Debug)]
pub(super) struct SignInKeys {
    pub(super) pair: GuardKey,
    pub(super) address: GuardKey,
    pub(super) known: GuardKey,
    pub(super) queue: GuardKey,
    pub(super) place: GuardKey,
    /// Enclosing networks, narrowest first.
    pub(super) around: [WiderNetwork; 2],
}

/// A network that contains the address, for one name.
#[derive(Clone, Debug)]
pub(super) struct WiderNetwork {
    pub(super) key: GuardKey,
    /// Divisor of its counter: this many counted addresses weigh as much as one failure.
    pub(super) worth: u32,
}

impl SignInKeys {
    pub(super) fn of(name: &str, network: IpAddr, device: Option<[u8; 16]>) -> SignInKeys {
        let name = digest(name);
        let from = device.map_or_else(|| network.to_string(), |device| hex(&device));
        let key = |kind, key| GuardKey { kind, key };
        SignInKeys {
            pair: key("pair", format!("{name} {from}")),
            address: key("address", network.to_string()),
            known: key("known", format!("{name} {network}")),
            queue: key("queue", name.clone()),
            place: key("place", format!("{name} {network}")),
            around: wider(network).map(|(network, worth)| WiderNetwork {
                key: key("around", format!("{name} {network}/{worth}")),
                worth,
            }),
        }
    }

    pub(super) fn all(&self) -> [GuardKey; 7] {
        let SignInKeys { pair, address, known, queue, place, around: [narrow, wide] } = self;
        [pair, address, known, queue, place, &narrow.key, &wide.key].map(GuardKey::clone)
    }
}

/// Returns the enclosing networks with their divisors: a customer's (/24 or /48) and a provider's
/// (/16 or /32).
fn wider(network: IpAddr) -> [(IpAddr, u32); 2] {
    let within = |keep_v4: u32, keep_v6: u32| -> IpAddr {
        match network {
            IpAddr::V4(address) => {
                Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - keep_v4))).into()
            }
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - keep_v6))).into()
            }
        }
    };
    [(within(24, 48), 4), (within(16, 32), 32)]
}

fn digest(name: &str) -> String {
    let whole: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    hex(whole.first_chunk::<16>().unwrap_or(&[0; 16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_as_digests_only() {
        let of = |name| SignInKeys::of(name, [192, 0, 2, 1].into(), Some([7; 16]));
        let keys = of("my password");
        assert!(keys.all().iter().all(|key| !key.key.contains("password")));
        assert_ne!(keys.queue, of("ann").queue);
    }
}
