//! Front end files, which `build.rs` embeds in the executable.

use std::borrow::Cow;
use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderValue, IF_NONE_MATCH, VARY,
};
use hyper::{Method, Response, StatusCode};

use super::visit::guard;
use crate::kit::packed::accepts_gzip;
use crate::kit::{Answer, Call};

/// One embedded file. Its ETag is derived from its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asset {
    path: &'static str,
    content_type: &'static str,
    gzip: &'static [u8],
    length: usize,
    tag: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

pub(super) const CHART: &str = "/index.html";
pub(super) const DASHBOARD: &str = "/dashboard.html";
/// Content security policy that allows only our own scripts and styles, nothing from other sites,
/// and no framing.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD");
/// Browsers may cache a file but must revalidate it, because the next release has other content
/// under the same file names.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

/// Returns the file at a path. Documents are not found, because they are served under separate
/// paths.
fn addressed(path: &str) -> Option<&'static Asset> {
    find(&format!("/{}", path.trim_start_matches('/'))).filter(|asset| !asset.is_document())
}

pub(crate) fn is_file(path: &str) -> bool {
    addressed(path).is_some()
}

pub(crate) fn file(call: &Call<'_>) -> Option<Answer> {
    let asset = addressed(call.path)?;
    if ![Method::GET, Method::HEAD].contains(call.method) {
        let mut answer = Response::new(Full::default());
        *answer.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        answer.headers_mut().insert(ALLOW, METHODS);
        return Some(answer);
    }
    Some(serve(call.headers, asset, ""))
}

/// Returns one of the two documents in the given language. Links are adjusted for a proxy that
/// serves this server under the path `base`.
pub(super) fn document(headers: &HeaderMap, name: &str, language: &str, base: &str) -> Option<Answer> {
    translated(name, language).map(|asset| serve(headers, asset, base))
}

/// Returns a document in a language. English has no folder, and an executable built without the
/// front end has a single page.
fn translated(name: &str, language: &str) -> Option<&'static Asset> {
    find(&format!("/{language}{name}")).or_else(|| find(name))
}

fn serve(headers: &HeaderMap, asset: &Asset, base: &str) -> Answer {
    // A document served under another base path has different links, and so another ETag.
    let tag = if base.is_empty() {
        format!("\"{}\"", asset.tag)
    } else {
        format!("\"{}-{:08x}\"", asset.tag, crc32fast::hash(base.as_bytes()))
    };
    let mut answer = Response::new(Full::default());
    if is_known(headers, &tag) {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
    } else if base.is_empty() && accepts_gzip(headers) {
        *answer.body_mut() = Full::new(Bytes::from_static(asset.gzip));
        answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    } else {
        *answer.body_mut() = Full::new(Bytes::from(based(asset.text(), base).into_owned()));
    }
    guard(&mut answer, Vec::new());
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(CACHE_CONTROL, ASK_AGAIN);
    let varies = if asset.is_document() { "accept-encoding, accept-language" } else { "accept-encoding" };
    headers.insert(VARY, HeaderValue::from_static(varies));
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(ETAG, tag);
    }
    answer
}

impl Asset {
    /// Returns whether the file is a document, which has a separate path and is not served under
    /// its file name.
    fn is_document(&self) -> bool {
        [CHART, DASHBOARD].iter().any(|name| self.path.ends_with(name))
    }

    fn text(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length);
        // Files are compressed at build time, so decompression fails only if the executable is
        // damaged.
        let read = GzDecoder::new(self.gzip).take(self.length as u64).read_to_end(&mut bytes);
        if let Err(error) = read {
            tracing::error!(%error, path = self.path, "cannot unpack a file of the executable");
        }
        bytes
    }
}

/// Prefixes a document's links with a base path. Links are written as `="/…`, and a `meta` tag
/// passes the path to the scripts. The path contains no characters that need HTML escaping.
fn based(bytes: Vec<u8>, base: &str) -> Cow<'static, [u8]> {
    if base.is_empty() {
        return bytes.into();
    }
    match String::from_utf8(bytes) {
        Ok(text) => {
            let text = text.replace("=\"/", &format!("=\"{base}/"));
            let empty = "<meta name=\"base\" content=\"\">";
            text.replacen(empty, &format!("<meta name=\"base\" content=\"{base}\">"), 1).into_bytes().into()
        }
        Err(error) => error.into_bytes().into(),
    }
}

/// Returns whether the browser already has this content.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).any(|known| {
        // A proxy that compresses the body turns the ETag into a weak ETag.
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(name: hyper::header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn an_etag_matches_weak_or_strong() {
        for (value, known) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", \"a\"", true),
            ("*", true),
            ("\"b\"", false),
            ("a", false),
        ] {
            assert_eq!(is_known(&head(IF_NONE_MATCH, value), "\"a\""), known, "{value}");
        }
    }

    #[test]
    fn links_of_a_document_begin_with_its_base_path() {
        let text = "<meta name=\"base\" content=\"\"><a href=\"/quota\"><script src=\"/app.js\">";
        let under = based(text.as_bytes().to_vec(), "/api");
        let expected =
            "<meta name=\"base\" content=\"/api\"><a href=\"/api/quota\"><script src=\"/api/app.js\">";
        assert_eq!(String::from_utf8_lossy(&under), expected);
        assert_eq!(&*based(text.as_bytes().to_vec(), ""), text.as_bytes());
    }

    #[test]
    fn a_document_exists_in_every_language() {
        for name in [CHART, DASHBOARD] {
            for language in ["en", "zh-CN", "zh-HK", "tlh"] {
                let asset = translated(name, language).expect("a document");
                assert!(asset.is_document(), "{}", asset.path);
                let text = String::from_utf8(asset.text()).expect("text");
                // An executable built without the front end has one page, in English.
                let is_own = asset.path == format!("/{language}{name}");
                assert!(!is_own || text.contains(&format!("<html lang=\"{language}\">")), "{}", asset.path);
            }
        }
    }

    #[test]
    fn every_file_unpacks_to_its_length() {
        assert!([CHART, DASHBOARD].iter().all(|name| find(name).is_some()));
        for asset in ASSETS {
            assert_eq!(asset.text().len(), asset.length, "{}", asset.path);
            assert!(HeaderValue::try_from(asset.tag).is_ok());
        }
    }
}
