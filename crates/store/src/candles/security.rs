//! Static data of securities, and figures with the day from which they are effective.

use market::{Date, SecurityKind, Symbol, parse_date};

use crate::engine::{Fault, Row, small};

/// Static data of a security. Text is stored as imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Security {
    pub symbol: Symbol,
    pub name_en: Option<String>,
    pub name_cn: Option<String>,
    pub name_hk: Option<String>,
    pub exchange: Option<String>,
    pub currency: Option<String>,
    pub lot_size: Option<i64>,
    pub board: Option<String>,
    pub listing_date: Option<Date>,
    /// Number of decimals in displayed prices.
    pub decimals: u32,
    pub total_shares: Option<i64>,
    pub circulating_shares: Option<i64>,
    pub hk_shares: Option<i64>,
    pub eps: Option<String>,
    pub eps_ttm: Option<String>,
    pub bps: Option<String>,
    pub dividend_yield: Option<String>,
    /// `None` if no import has set the kind; [`SecurityKind::presumed`] is used instead.
    pub kind: Option<SecurityKind>,
    /// The first day on which the security is no longer traded.
    pub delisted_on: Option<Date>,
    /// Shares and per-share figures by effective day, in ascending order. The fields above apply
    /// before the first of these days.
    pub dated: Vec<DatedFigures>,
    /// Days without trading, in ascending order.
    pub suspensions: Vec<Suspension>,
}

impl Security {
    pub const DECIMALS_DEFAULT: u32 = 3;

    /// Creates a security that has only a symbol.
    pub fn new(symbol: Symbol) -> Security {
        Security {
            symbol,
            name_en: None,
            name_cn: None,
            name_hk: None,
            exchange: None,
            currency: None,
            lot_size: None,
            board: None,
            listing_date: None,
            decimals: Security::DECIMALS_DEFAULT,
            total_shares: None,
            circulating_shares: None,
            hk_shares: None,
            eps: None,
            eps_ttm: None,
            bps: None,
            dividend_yield: None,
            kind: None,
            delisted_on: None,
            dated: Vec::new(),
            suspensions: Vec::new(),
        }
    }

    /// Returns whether trading is suspended on a day.
    pub fn is_suspended_on(&self, day: Date) -> bool {
        self.suspensions.iter().any(|suspension| suspension.holds(day))
    }

    /// Returns the security with the figures effective on `day`. Later figures are dropped.
    pub fn on(mut self, day: Date) -> Security {
        for dated in std::mem::take(&mut self.dated).into_iter().take_while(|dated| dated.from <= day) {
            let DatedFigures {
                from: _,
                total_shares,
                circulating_shares,
                hk_shares,
                eps,
                eps_ttm,
                bps,
                dividend_yield,
            } = dated;
            self.total_shares = total_shares.or(self.total_shares);
            self.circulating_shares = circulating_shares.or(self.circulating_shares);
            self.hk_shares = hk_shares.or(self.hk_shares);
            self.eps = eps.or(self.eps);
            self.eps_ttm = eps_ttm.or(self.eps_ttm);
            self.bps = bps.or(self.bps);
            self.dividend_yield = dividend_yield.or(self.dividend_yield);
        }
        self
    }

    /// Adds figures effective from a day. A `None` field does not overwrite a value that is already
    /// stored for that day.
    pub fn add_figures(&mut self, new: DatedFigures) {
        match self.dated.binary_search_by_key(&new.from, |dated| dated.from) {
            Ok(at) => {
                if let Some(known) = self.dated.get_mut(at) {
                    *known = new.over(std::mem::take(known));
                }
            }
            Err(at) => self.dated.insert(at, new),
        }
    }

    pub(crate) fn read(row: &Row<'_>) -> Result<Security, Fault> {
        let symbol: String = row.get(0)?;
        let (dated, suspensions) = read_dated(row.text_or_null(19)?.unwrap_or_default())?;
        Ok(Security {
            symbol: symbol.parse().map_err(|_| Fault::value("symbol", &symbol))?,
            name_en: row.get(1)?,
            name_cn: row.get(2)?,
            name_hk: row.get(3)?,
            exchange: row.get(4)?,
            currency: row.get(5)?,
            lot_size: row.get(6)?,
            board: row.get(7)?,
            listing_date: date(row, 8, "listing date")?,
            decimals: small(row, 9)?,
            total_shares: row.get(10)?,
            circulating_shares: row.get(11)?,
            hk_shares: row.get(12)?,
            eps: row.get(13)?,
            eps_ttm: row.get(14)?,
            bps: row.get(15)?,
            dividend_yield: row.get(16)?,
            kind: kind(row, 17)?,
            delisted_on: date(row, 18, "delisting date")?,
            dated,
            suspensions,
        })
    }
}

fn date(row: &Row<'_>, column: usize, what: &'static str) -> Result<Option<Date>, Fault> {
    let text = row.text_or_null(column)?;
    text.map(|text| text.parse().map_err(|_| Fault::value(what, text))).transpose()
}

fn kind(row: &Row<'_>, column: usize) -> Result<Option<SecurityKind>, Fault> {
    let text = row.text_or_null(column)?;
    text.map(|text| SecurityKind::parse(text).ok_or_else(|| Fault::value("kind", text))).transpose()
}

/// Maximum number of days with figures per security. Enough for quarterly figures over two
/// centuries.
pub const FIGURES_MAX: usize = 1_000;

/// Days on which a security is not traded, inclusive. Without a last day, the suspension lasts
/// until further notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suspension {
    pub from: Date,
    pub to: Option<Date>,
}

impl Suspension {
    fn holds(&self, day: Date) -> bool {
        self.from <= day && self.to.is_none_or(|to| day <= to)
    }
}

/// Shares and per-share figures effective from a day. `None` means unchanged. They are stored in a
/// text column of the security, one line per day, like suspensions: a security has few of them, and
/// they are always read, sealed, copied and removed together with the security.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatedFigures {
    pub from: Date,
    pub total_shares: Option<i64>,
    pub circulating_shares: Option<i64>,
    pub hk_shares: Option<i64>,
    /// Earnings per share, as decimal text in the form in which it was imported.
    pub eps: Option<String>,
    pub eps_ttm: Option<String>,
    pub bps: Option<String>,
    pub dividend_yield: Option<String>,
}

impl DatedFigures {
    /// Merges two sets of figures for the same day: fields that are `None` are taken from `older`.
    fn over(self, older: DatedFigures) -> DatedFigures {
        DatedFigures {
            from: self.from,
            total_shares: self.total_shares.or(older.total_shares),
            circulating_shares: self.circulating_shares.or(older.circulating_shares),
            hk_shares: self.hk_shares.or(older.hk_shares),
            eps: self.eps.or(older.eps),
            eps_ttm: self.eps_ttm.or(older.eps_ttm),
            bps: self.bps.or(older.bps),
            dividend_yield: self.dividend_yield.or(older.dividend_yield),
        }
    }
}

/// First cell of a line with a suspension.
const SUSPENDED: &str = "suspended";

/// Serializes figures and suspensions, one line per day or suspension, such as
/// `20260301,9000,,,1.5,,,` and `suspended,20260302,20260305`. Returns `None` if there are none.
pub(super) fn written_dated(security: &Security) -> Option<String> {
    let day = |date: Date| date.strftime("%Y%m%d").to_string();
    let suspended =
        |one: &Suspension| format!("{SUSPENDED},{},{}", day(one.from), one.to.map(day).unwrap_or_default());
    let figures = security.dated.iter().map(written_figures);
    let lines: Vec<String> = figures.chain(security.suspensions.iter().map(suspended)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn written_figures(one: &DatedFigures) -> String {
    let whole = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    let texts = [&one.eps, &one.eps_ttm, &one.bps, &one.dividend_yield];
    let mut cells = vec![one.from.strftime("%Y%m%d").to_string()];
    cells.extend([one.total_shares, one.circulating_shares, one.hk_shares].map(whole));
    cells.extend(texts.map(|text| text.clone().unwrap_or_default()));
    cells.join(",")
}

fn read_dated(text: &str) -> Result<(Vec<DatedFigures>, Vec<Suspension>), Fault> {
    let (mut dated, mut suspensions) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let wrong = || Fault::value("figures", line);
        match line.strip_prefix(SUSPENDED) {
            Some(rest) => suspensions.push(suspension(rest).ok_or_else(wrong)?),
            None => dated.push(one_day(line).ok_or_else(wrong)?),
        }
    }
    Ok((dated, suspensions))
}

fn suspension(cells: &str) -> Option<Suspension> {
    let (from, to) = cells.strip_prefix(',')?.split_once(',')?;
    let to = if to.is_empty() { None } else { Some(parse_date(to).ok()?) };
    Some(Suspension { from: parse_date(from).ok()?, to })
}

fn one_day(line: &str) -> Option<DatedFigures> {
    let cells: Vec<&str> = line.split(',').collect();
    let [from, total, circulating, hk, eps, eps_ttm, bps, dividend] = cells.as_slice() else { return None };
    let whole = |cell: &str| match cell {
        "" => Some(None),
        cell => cell.parse().ok().map(Some),
    };
    let text = |cell: &str| (!cell.is_empty()).then(|| cell.to_owned());
    Some(DatedFigures {
        from: parse_date(from).ok()?,
        total_shares: whole(total)?,
        circulating_shares: whole(circulating)?,
        hk_shares: whole(hk)?,
        eps: text(eps),
        eps_ttm: text(eps_ttm),
        bps: text(bps),
        dividend_yield: text(dividend),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(day: &str) -> DatedFigures {
        DatedFigures { from: day.parse().unwrap(), ..DatedFigures::default() }
    }

    #[test]
    fn figures_round_trip() {
        let mut security = Security::new("700.HK".parse().unwrap());
        assert_eq!((written_dated(&security), read_dated("").unwrap()), (None, (Vec::new(), Vec::new())));
        let all = [
            DatedFigures { total_shares: Some(9_000), eps: Some("-1.50".to_owned()), ..from("2026-03-01") },
            DatedFigures {
                circulating_shares: Some(0),
                hk_shares: Some(i64::MAX),
                eps_ttm: Some("0".to_owned()),
                bps: Some("3".to_owned()),
                dividend_yield: Some("0.1".to_owned()),
                ..from("2026-06-01")
            },
        ];
        let day = |text: &str| text.parse::<Date>().unwrap();
        let suspensions = [
            Suspension { from: day("2026-03-02"), to: Some(day("2026-03-05")) },
            Suspension { from: day("2026-07-01"), to: None },
        ];
        (security.dated, security.suspensions) = (all.to_vec(), suspensions.to_vec());
        let text = written_dated(&security).unwrap();
        let figures = "20260301,9000,,,-1.50,,,\n20260601,,0,9223372036854775807,,0,3,0.1";
        assert_eq!(text, format!("{figures}\nsuspended,20260302,20260305\nsuspended,20260701,"));
        assert_eq!(read_dated(&text).unwrap(), (all.to_vec(), suspensions.to_vec()));
        for wrong in [
            "x",
            "20260301",
            "20260301,,,,,,,,",
            "20260301,1.5,,,,,,",
            "20260231,,,,,,,",
            "suspended",
            "suspended,20260302",
            "suspended,,20260302",
            "suspended,20260302,x",
        ] {
            assert!(read_dated(wrong).is_err(), "{wrong}");
        }
        let days = ["2026-03-01", "2026-03-02", "2026-03-05", "2026-03-06", "2030-01-01"];
        assert_eq!(days.map(|date| security.is_suspended_on(day(date))), [false, true, true, false, true]);
    }

    #[test]
    fn a_day_has_the_latest_effective_figures() {
        let mut security = Security::new("700.HK".parse().unwrap());
        security.total_shares = Some(1);
        security.add_figures(DatedFigures { total_shares: Some(3), ..from("2026-06-01") });
        security.add_figures(DatedFigures {
            total_shares: Some(2),
            eps: Some("5".to_owned()),
            ..from("2026-03-01")
        });
        security.add_figures(DatedFigures { total_shares: Some(4), ..from("2026-03-01") });
        let on = |day: &str| {
            let security = security.clone().on(day.parse().unwrap());
            assert!(security.dated.is_empty());
            (security.total_shares, security.eps)
        };
        assert_eq!(on("2026-02-28"), (Some(1), None));
        assert_eq!(on("2026-03-01"), (Some(4), Some("5".to_owned())));
        assert_eq!(on("2026-06-01"), (Some(3), Some("5".to_owned())));
    }
}
