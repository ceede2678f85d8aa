use market::{Date, SecurityKind, Symbol};

use super::figures::{self, DatedFigures};
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
    /// `None` if no import has set it; [`SecurityKind::presumed`] is used instead.
    pub kind: Option<SecurityKind>,
    /// The first day on which the security is no longer traded.
    pub delisted_on: Option<Date>,
    /// Shares and per-share figures by effective day, in ascending order. The fields above apply
    /// before the first of these days.
    pub dated: Vec<DatedFigures>,
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
        }
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

    /// Adds figures effective from a day on. Fields that are `None` keep the stored values of that
    /// day.
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
            dated: figures::read(row.text_or_null(19)?.unwrap_or_default())?,
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
