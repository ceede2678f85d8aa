//! The only source of randomness in this crate.

use crate::AccessError;

pub(crate) fn random<const N: usize>() -> Result<[u8; N], AccessError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(AccessError::Random)?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string is infallible.
        write!(text, "{byte:02x}").ok();
        text
    })
}
