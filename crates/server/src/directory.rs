//! In-memory list of the securities that have candles, as of one store version. Search uses it
//! because results must appear between two keystrokes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use history::{AsOf, History};
use market::{Action, Region, Symbol};
use store::{Lane, Reader, StoreError};
use unicode_normalization::UnicodeNormalization;

use crate::caller::Language;
use crate::core::Core;
use crate::refusal::Refusal;

/// Maximum age of a list built from an older store version. During an import the version changes
/// about every second, and reading all securities takes longer than a second.
const KEPT_FOR: Duration = Duration::from_secs(1);
/// Maximum number of securities per region whose corporate actions are read. Securities with
/// corporate actions rank higher among the suggestions.
const LOOKED_AT_MAX: usize = 50;
/// Number of digits in the longest Hong Kong code.
const HK_DIGITS_MAX: usize = 5;

#[derive(Debug)]
pub(crate) struct ListedSecurity {
    pub(crate) symbol: Symbol,
    pub(crate) name_en: String,
    pub(crate) name_cn: String,
    pub(crate) name_hk: String,
    /// Whether the security has overnight candles.
    pub(crate) has_overnight: bool,
    /// Changes with each import that changes the security's candles.
    pub(crate) version: i64,
    /// Symbol, normalized for comparison.
    code: String,
    names: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Directory {
    /// Securities with candles, sorted by symbol.
    listed: Vec<ListedSecurity>,
    /// Indexes into `listed`, best suggestion first. Covers all securities; securities that an
    /// account may not see are filtered out later.
    suggested: Vec<usize>,
    /// Encoded responses that list all securities with overnight hours, by name language. Built on
    /// first request, because encoding a whole market takes milliseconds.
    overnight_answers: [OnceLock<Bytes>; 4],
}

/// Languages of the names in a list of securities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListedNames {
    Of(Language),
    All,
}

/// Cache of the most recently requested directory.
#[derive(Debug, Default)]
pub(crate) struct DirectoryCache(Mutex<Option<(State, Duration, Arc<Directory>)>>);

/// Inputs that a directory depends on: the store version and, under a replay clock, the current
/// minute, because a replay reveals more securities as it advances.
type State = (i64, Option<i64>);

impl DirectoryCache {
    pub(crate) fn current(&self, core: &Core, as_of: AsOf) -> Result<Arc<Directory>, Refusal> {
        let (version, uptime) = (core.version_check()?, core.uptime());
        let minute = match as_of {
            AsOf::Live(_) => None,
            AsOf::Replay(now) => Some(now.0.div_euclid(60)),
        };
        let state = (version, minute);
        // The lock is held while the list is read, because concurrent requests need the same list.
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, since, directory)) = &*cached
            && at.1 == state.1
            && (at.0 == state.0 || uptime.saturating_sub(*since) < KEPT_FOR)
        {
            return Ok(Arc::clone(directory));
        }
        let read = core.with_reader(|reader| Directory::read(reader, &core.history, as_of));
        let directory = Arc::new(read.map_err(|error: StoreError| {
            tracing::error!(%error, "cannot list the securities");
            Refusal::Internal
        })?);
        *cached = Some((state, core.uptime(), Arc::clone(&directory)));
        Ok(directory)
    }
}

impl Directory {
    pub(crate) fn read(reader: &mut Reader, history: &History, as_of: AsOf) -> Result<Directory, StoreError> {
        let snapshot = reader.snapshot()?;
        // Both lists are sorted by symbol.
        let mut series = snapshot.all_series()?.into_iter().peekable();
        let mut securities = snapshot.securities()?;
        securities.sort_by(|one, other| one.symbol.cmp(&other.symbol));
        let (mut listed, mut worth) = (Vec::with_capacity(securities.len()), Vec::new());
        for security in securities {
            let (mut lanes, mut rows, mut version) = ([false; Lane::ALL.len()], 0_u64, 0_i64);
            while series.next_if(|info| info.series.symbol < security.symbol).is_some() {}
            while let Some(info) = series.next_if(|info| info.series.symbol == security.symbol) {
                // The versions are hashed rather than summed, because a sum could equal that of an
                // earlier state. Hidden series are included.
                version = version.wrapping_mul(31).wrapping_add(info.version);
                if !as_of.shows(history.venue(&info.series.symbol), &info) {
                    continue;
                }
                rows = rows.saturating_add(match as_of {
                    AsOf::Live(_) => info.rows,
                    // The row count would reveal candles later than the replay clock, so the time
                    // since the first candle is used instead.
                    AsOf::Replay(now) => now.0.saturating_sub(info.first.0).max(1).unsigned_abs(),
                });
                for (lane, has) in Lane::ALL.iter().zip(&mut lanes) {
                    *has |= *lane == info.series.lane;
                }
            }
            if rows == 0 || security.symbol.is_us_option() {
                continue;
            }
            worth.push((lanes.iter().filter(|has| **has).count(), rows, listed.len()));
            let has_overnight =
                Lane::ALL.iter().zip(lanes).any(|(lane, has)| has && *lane == Lane::Overnight);
            listed.push(ListedSecurity { has_overnight, version, ..ListedSecurity::of(security) });
        }
        drop(snapshot);
        let view = reader.view();
        worth.sort_by(|one, other| (other.0, other.1, one.2).cmp(&(one.0, one.1, other.2)));
        let (mut suggested, mut looked_at) = (Vec::with_capacity(worth.len()), BTreeMap::new());
        for (lanes, _, place) in worth {
            let Some(one) = listed.get(place) else { continue };
            let of_region: &mut usize = looked_at.entry(one.symbol.region()).or_default();
            *of_region += 1;
            let today = history.venue(&one.symbol).zone().date(as_of.now());
            let has_acted = |action: &Action| action.ex_date <= today;
            let acts = *of_region <= LOOKED_AT_MAX && view.actions(&one.symbol)?.iter().any(has_acted);
            suggested.push((lanes + usize::from(acts), place));
        }
        suggested.sort_by_key(|(worth, _)| std::cmp::Reverse(*worth));
        let suggested = suggested.into_iter().map(|(_, place)| place).collect();
        Ok(Directory { listed, suggested, ..Directory::default() })
    }

    /// Returns whether there are no securities at all, regardless of account.
    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub(crate) fn contains(&self, symbol: &Symbol) -> bool {
        self.place(symbol).is_ok()
    }

    fn place(&self, symbol: &Symbol) -> Result<usize, usize> {
        self.listed.binary_search_by(|one| one.symbol.cmp(symbol))
    }

    pub(crate) fn find(&self, symbol: &Symbol) -> Option<&ListedSecurity> {
        self.place(symbol).ok().and_then(|place| self.listed.get(place))
    }

    /// Returns the encoded response that lists all securities with overnight hours. `write` encodes
    /// the response on first use.
    pub(crate) fn overnight_answer(&self, names: ListedNames, write: impl FnOnce() -> Bytes) -> Bytes {
        let [en, cn, hk, all] = &self.overnight_answers;
        let stored = match names {
            ListedNames::Of(Language::En) => en,
            ListedNames::Of(Language::ZhCn) => cn,
            ListedNames::Of(Language::ZhHk) => hk,
            ListedNames::All => all,
        };
        stored.get_or_init(write).clone()
    }

    /// Returns the securities after `symbol` in symbol order, or all securities if `symbol` is
    /// `None`.
    pub(crate) fn behind(&self, symbol: Option<&Symbol>) -> &[ListedSecurity] {
        let from = match symbol.map(|symbol| self.place(symbol)) {
            None => 0,
            Some(Ok(place)) => place + 1,
            Some(Err(place)) => place,
        };
        self.listed.get(from..).unwrap_or_default()
    }

    /// Returns all securities that match the typed text and `is_wanted`, best first. An empty text
    /// matches everything, in symbol order.
    pub(crate) fn matches(&self, typed: &str, is_wanted: impl Fn(&Symbol) -> bool) -> Vec<&ListedSecurity> {
        if folded(typed).is_empty() {
            return self.listed.iter().filter(|one| is_wanted(&one.symbol)).collect();
        }
        self.search(typed, is_wanted, usize::MAX).0
    }

    /// Returns up to `limit` securities that match the typed text and `is_wanted`, best first, and
    /// whether more securities match. For an empty text, returns suggestions.
    pub(crate) fn search(
        &self,
        typed: &str,
        is_wanted: impl Fn(&Symbol) -> bool,
        limit: usize,
    ) -> (Vec<&ListedSecurity>, bool) {
        let wanted = SearchText::of(typed);
        let mut found: Vec<&ListedSecurity> = if wanted.text.is_empty() {
            self.suggested.iter().filter_map(|place| self.listed.get(*place)).collect()
        } else {
            let mut ranked: Vec<(u8, usize, &ListedSecurity)> = self
                .listed
                .iter()
                .filter_map(|one| Some((one.rank(&wanted)?, one.symbol.as_str().len(), one)))
                .collect();
            ranked.sort_by(|one, other| {
                (one.0, one.1, &one.2.symbol).cmp(&(other.0, other.1, &other.2.symbol))
            });
            ranked.into_iter().map(|(.., one)| one).collect()
        };
        found.retain(|one| is_wanted(&one.symbol));
        let more = found.len() > limit;
        found.truncate(limit);
        (found, more)
    }
}

/// Typed search text, normalized for comparison.
struct SearchText {
    text: String,
    /// The typed text without leading zeros, which is how Hong Kong codes are stored. `None` if it
    /// has no leading zeros, or more than five digits, because such a code belongs to another
    /// market.
    short: Option<String>,
}

impl SearchText {
    fn of(typed: &str) -> SearchText {
        let text = folded(typed);
        let short = text.trim_start_matches('0');
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let is_number = digits <= HK_DIGITS_MAX && short.starts_with(|letter: char| letter.is_ascii_digit());
        let short = (is_number && short.len() < text.len()).then(|| short.to_owned());
        SearchText { text, short }
    }
}

impl ListedSecurity {
    fn of(security: store::Security) -> ListedSecurity {
        let [name_en, name_cn, name_hk] =
            [security.name_en, security.name_cn, security.name_hk].map(Option::unwrap_or_default);
        let mut names: Vec<String> = Vec::new();
        for name in [&name_en, &name_cn, &name_hk].map(|name| folded(name)) {
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        let code = folded(security.symbol.as_str());
        ListedSecurity {
            symbol: security.symbol,
            name_en,
            name_cn,
            name_hk,
            has_overnight: false,
            version: 0,
            code,
            names,
        }
    }

    /// Returns the name in `language`, else in any other language, or an empty string.
    pub(crate) fn name_in(&self, language: Language) -> &str {
        let ListedSecurity { name_en, name_cn, name_hk, .. } = self;
        let order = match language {
            Language::En => [name_en, name_cn, name_hk],
            Language::ZhCn => [name_cn, name_hk, name_en],
            Language::ZhHk => [name_hk, name_cn, name_en],
        };
        order.into_iter().find(|name| !name.is_empty()).map_or("", String::as_str)
    }

    /// Returns the rank of the match, 0 being best, or `None` if the security does not match.
    fn rank(&self, wanted: &SearchText) -> Option<u8> {
        let SearchText { text, short } = wanted;
        let short = short.as_ref().filter(|_| self.symbol.region() == Region::Hk);
        let ticker = self.code.rsplit_once('.').map_or(self.code.as_str(), |(ticker, _)| ticker);
        let names = |is: &dyn Fn(&str) -> bool| self.names.iter().any(|name| is(name));
        let is_code = |text: &String| self.code == *text || ticker == text;
        let begins_code = |text: &String| self.code.starts_with(text.as_str());
        // A literal match ranks before a match without leading zeros.
        if is_code(text) {
            Some(0)
        } else if short.is_some_and(is_code) {
            Some(1)
        } else if begins_code(text) {
            Some(2)
        } else if short.is_some_and(begins_code) {
            Some(3)
        } else if names(&|name| name == text) {
            Some(4)
        } else if names(&|name| name.starts_with(text.as_str())) {
            Some(5)
        } else if names(&|name| words(name).any(|word| word.starts_with(text.as_str()))) {
            Some(6)
        } else if names(&|name| name.contains(text.as_str())) {
            Some(7)
        } else if self.code.contains(text.as_str()) {
            Some(8)
        } else {
            None
        }
    }
}

/// Returns the suffixes of a name that start at a word boundary, so that multi-word searches match.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    name.char_indices().filter_map(move |(at, letter)| {
        let begins = !before.is_alphanumeric() && letter.is_alphanumeric();
        before = letter;
        begins.then(|| name.get(at..)).flatten()
    })
}

/// Normalizes text for comparison: full-width letters to ASCII, upper case to lower case.
fn folded(text: &str) -> String {
    text.nfkc().flat_map(char::to_lowercase).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use market::Market;
    use store::Security;

    use super::*;

    fn directory() -> Directory {
        let security = |symbol: &str, en: &str, cn: &str, hk: &str| {
            let text = |text: &str| Some(text.to_owned());
            let new = Security::new(symbol.parse().unwrap());
            ListedSecurity::of(Security { name_en: text(en), name_cn: text(cn), name_hk: text(hk), ..new })
        };
        let mut listed = vec![
            security("700.HK", "Lamplight Harbour", "灯港控股", "燈港控股"),
            security("7001.HK", "Harbour", "港", "港"),
            security("70.HK", "Old Harbour-Works", "", ""),
            security("AAPL.US", "Wick & Wax", "烛", "燭"),
            security("000700.SZ", "Boat", "船", "船"),
            security("1.HK", "Beacon", "", ""),
            security("000001.SZ", "Buoy", "", ""),
        ];
        listed.sort_by(|one, other| one.symbol.cmp(&other.symbol));
        let suggested = vec![0, 1];
        Directory { listed, suggested, ..Directory::default() }
    }

    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let directory = directory();
        let (found, more) = directory.search(typed, |_| true, 10);
        let found: Vec<&str> = found.iter().map(|one| one.symbol.as_str()).collect();
        assert_eq!((found.join(" "), more), (expected.to_owned(), false), "{typed:?}");
    }

    #[test]
    fn code_matches_rank_before_name_matches() {
        check("700", "700.HK 7001.HK 000700.SZ");
        check("700.hk", "700.HK");
        check("0700", "700.HK 7001.HK 000700.SZ");
        check("00700", "700.HK 7001.HK 000700.SZ");
        // Six digits are not a Hong Kong code. A literal match ranks first.
        check("000700", "000700.SZ");
        check("00070", "70.HK 000700.SZ 700.HK 7001.HK");
        check("000001", "000001.SZ");
        check("1", "1.HK 7001.HK 000001.SZ");
        check("００７００．ＨＫ", "700.HK");
        check("harbour", "7001.HK 70.HK 700.HK");
        check("HARBOUR-w", "70.HK");
        check("works", "70.HK");
        check("wick & w", "AAPL.US");
        check("灯", "700.HK");
        check("燈港", "700.HK");
        check("控股", "700.HK");
        check("mplig", "700.HK");
        check(".us", "AAPL.US");
        check("nothing", "");
        check("0", "000001.SZ 000700.SZ 70.HK 700.HK 7001.HK");
    }

    #[test]
    fn hidden_securities_are_neither_found_nor_counted() {
        let directory = directory();
        let (found, more) = directory.search("700", |symbol| symbol.market() == Market::Hk, 1);
        assert_eq!((found[0].symbol.as_str(), found.len(), more), ("700.HK", 1, true));
        let (found, more) = directory.search(" ", |symbol| symbol.market() == Market::Cn, 5);
        assert_eq!((found[0].symbol.as_str(), found.len(), more), ("000001.SZ", 2, false));
    }

    #[test]
    fn an_empty_text_matches_everything_by_symbol() {
        let directory = directory();
        let found = |typed: &str| -> Vec<&str> {
            let is_wanted = |symbol: &Symbol| symbol.market() == Market::Hk;
            directory.matches(typed, is_wanted).iter().map(|one| one.symbol.as_str()).collect()
        };
        assert_eq!(found(" "), ["1.HK", "70.HK", "700.HK", "7001.HK"]);
        assert_eq!(found("harbour"), ["7001.HK", "70.HK", "700.HK"]);
    }

    #[test]
    fn a_listing_resumes_after_an_unknown_symbol() {
        let directory = directory();
        let behind = |text: &str| directory.behind(Some(&text.parse().unwrap())).len();
        assert_eq!(directory.behind(None).len(), 7);
        assert_eq!((behind("000700.SZ"), behind("000002.SZ"), behind("ZZ.US")), (5, 6, 0));
        assert!(directory.contains(&"70.HK".parse().unwrap()));
    }
}
