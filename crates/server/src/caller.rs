//! The caller of a request on any transport, and the response language.

use history::AsOf;
use market::Timestamp;

use crate::preferences::preferences;

/// A signed-in client and its response preferences. A long connection has one `Client` for all its
/// requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    pub(crate) who: access::Caller,
    pub(crate) language: Language,
    /// Whether the client requested overnight data. Overnight data is included only if the account
    /// has the overnight right.
    pub(crate) overnight: bool,
    /// Region of the listener that received the request, or `None` if the listener serves every
    /// region. The listener that issued a one-time password is not considered.
    pub(crate) listener_region: Option<access::Region>,
    /// The long connection; `None` over HTTP.
    pub(crate) connection: Option<access::ConnectionId>,
}

/// The caller of one request: the client, and a market time that is fixed for the whole request.
/// Created by `Core::caller`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) who: access::Caller,
    pub(crate) language: Language,
    /// See [`Client::overnight`].
    pub(crate) overnight: bool,
    /// See [`Client::listener_region`].
    pub(crate) listener_region: Option<access::Region>,
    /// See [`Client::connection`].
    pub(crate) connection: Option<access::ConnectionId>,
    /// Market time when the request began, live or replayed.
    pub(crate) as_of: AsOf,
    /// The server's market time when the request began. The quota month and the level depend on
    /// this time, not on the clock of a world.
    pub(crate) quota_time: Timestamp,
}

impl Client {
    /// Returns the caller of a request that begins at `as_of`, and at `quota_time` of the server's
    /// clock.
    pub(crate) fn at(self, as_of: AsOf, quota_time: Timestamp) -> Caller {
        let Client { who, language, overnight, listener_region, connection } = self;
        Caller { who, language, overnight, listener_region, connection, as_of, quota_time }
    }
}

impl Caller {
    /// Returns the market time of the request.
    pub(crate) fn now(&self) -> Timestamp {
        self.as_of.now()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Language {
    #[default]
    En,
    ZhCn,
    ZhHk,
}

impl Language {
    /// Returns the supported language with the highest weight in an `accept-language` value (RFC
    /// 9110, 12.5.4), or English if none is supported. SDKs send a single tag.
    pub(crate) fn preferred(list: &str) -> Language {
        let mut best = (0, Language::En);
        // The only parameter a language tag can have is its weight. Tags with other parameters or
        // an invalid weight are skipped.
        for tag in preferences([list].into_iter()).filter(|tag| !tag.has_parameters) {
            let weight = tag.weight.unwrap_or(0);
            if let Some(language) = Language::of_tag(tag.value).filter(|_| weight > best.0) {
                best = (weight, language);
            }
        }
        best.1
    }

    /// Returns the language for a tag, or `None` if it is not supported. Chinese is Traditional for
    /// Hong Kong, Macau and Taiwan, and Simplified otherwise.
    fn of_tag(tag: &str) -> Option<Language> {
        let tag = tag.to_ascii_lowercase();
        let mut parts = tag.split(['-', '_']);
        match parts.next() {
            Some("en" | "*") => Some(Language::En),
            // The script subtag (`hans`, `hant`) precedes the region and takes priority.
            Some("zh") => Some(match parts.find(|part| ["hans", "hant", "hk", "mo", "tw"].contains(part)) {
                Some("hans") | None => Language::ZhCn,
                Some(_) => Language::ZhHk,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preferences::READ_MAX;

    #[test]
    fn the_language_with_the_highest_weight_is_used() {
        for (list, wanted) in [
            ("", Language::En),
            ("en-GB,en;q=0.9", Language::En),
            ("zh-CN,zh;q=0.9", Language::ZhCn),
            ("zh", Language::ZhCn),
            ("zh-Hans-HK", Language::ZhCn),
            ("zh-SG", Language::ZhCn),
            ("zh-MO", Language::ZhHk),
            ("zh-Hant-MO", Language::ZhHk),
            ("ZH-TW", Language::ZhHk),
            ("zh-HK,zh;q=0.9,en;q=0.8", Language::ZhHk),
            ("de,zh-CN;q=0.8", Language::ZhCn),
            ("en;q=0.1, zh-CN", Language::ZhCn),
            ("en ; q=0.5 , zh-TW ; Q=0.501", Language::ZhHk),
            ("zh-CN;q=0.5,en;q=0.5", Language::ZhCn),
            ("zh-CN;q=0,de", Language::En),
            ("zh-CN;q=0.1,en", Language::En),
            ("zh_TW", Language::ZhHk),
            ("zh-CN;q=2,en;q=0.1", Language::En),
            ("zh-CN;q=0.12345,en;q=0.1", Language::En),
            ("zh-CN;level=1,en;q=0.1", Language::En),
            ("zh;q=0.3,*", Language::En),
            ("fr,zhx,é;q=é", Language::En),
        ] {
            assert_eq!(Language::preferred(list), wanted, "{list:?}");
        }
        let far = format!("{}zh-CN", "de,".repeat(READ_MAX));
        assert_eq!(Language::preferred(&far), Language::En, "it is not read without end");
    }
}
