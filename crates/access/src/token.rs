//! Tokens as text, and what is stored of them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::random::random;
use crate::{AccessError, Region, Secret};

/// An access token: opaque, and named after the region it is good for.
pub(crate) fn new_token(region: Region) -> Result<Secret, AccessError> {
    let bytes = Zeroizing::new(random::<32>()?);
    Ok(Secret::new(format!("{region}_{}", URL_SAFE_NO_PAD.encode(bytes.as_slice()))))
}

/// A token has 256 random bits, so one round of a plain hash keeps it as well as a slow one would, and looking a hash up
/// tells nothing about the token by the time it takes.
pub(crate) fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
