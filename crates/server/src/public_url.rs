use std::fmt;
use std::str::FromStr;

/// Where people and clients reach the service, as the operator says: a proxy in front may have another name, and TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a public URL: write https://host, with a port or a path if need be")]
pub struct ParsePublicUrlError(String);

const LENGTH_MAX: usize = 512;

impl PublicUrl {
    /// Without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Host and port, and the path that a proxy has the service under; empty if it has it alone.
    pub(crate) fn parts(&self) -> (&str, &str) {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        rest.split_at(rest.find('/').unwrap_or(rest.len()))
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for PublicUrl {
    type Err = ParsePublicUrlError;

    fn from_str(text: &str) -> Result<PublicUrl, ParsePublicUrlError> {
        let wrong = || ParsePublicUrlError(text.chars().take(80).collect());
        let url = text.trim().trim_end_matches('/');
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).ok_or_else(wrong)?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let fits = |text: &str, also: &[u8]| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || also.contains(&byte))
        };
        if url.len() > LENGTH_MAX || host.is_empty() || !fits(host, b"-._:[]") || !fits(path, b"-._~/") {
            return Err(wrong());
        }
        Ok(PublicUrl(url.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_has_a_scheme_and_a_host_and_no_slash_at_its_end() {
        for (text, url) in [
            ("https://candles.example.com", "https://candles.example.com"),
            (" https://candles.example.com:8443/api/ ", "https://candles.example.com:8443/api"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().to_string(), url);
        }
        for text in [
            "",
            "candles.example.com",
            "ftp://x",
            "https://",
            "https:///x",
            "https://a@b",
            "https://a?b",
            "https://a#b",
        ] {
            assert!(text.parse::<PublicUrl>().is_err(), "{text}");
        }
        assert!("https://a".parse::<PublicUrl>().unwrap().is_https());
        assert!(!"http://a".parse::<PublicUrl>().unwrap().is_https());
    }
}
