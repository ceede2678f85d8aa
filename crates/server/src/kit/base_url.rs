//! The base URL of links to this service.

use hyper::header::HOST;

use super::call::Call;
use super::site::Site;
use crate::own_names::own_host;

/// The configured public URL, or else one that certainly belongs to this service.
pub(crate) fn base_url(call: &Call<'_>, site: &Site) -> String {
    if let Some(url) = &site.public_url {
        return url.to_string();
    }
    let host = call.headers.get(HOST).and_then(|host| host.to_str().ok());
    let names = site.tls.as_ref().map(|tls| tls.certificate().names.clone()).unwrap_or_default();
    let scheme = if site.is_https() { "https" } else { "http" };
    format!("{scheme}://{}", own_host(host, call.reached, &names))
}
