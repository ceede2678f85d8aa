//! Shares and per-share figures with the day from which they are effective. They are stored in a
//! text column of the security, one line per day: a security has few of them, and they are always
//! read, sealed, copied and removed together with it.

use market::{Date, parse_date};

use crate::engine::Fault;

/// Maximum number of days per security; enough for quarterly figures over two centuries.
pub const FIGURES_MAX: usize = 1_000;

/// Figures effective from a day on. `None` means unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatedFigures {
    pub from: Date,
    pub total_shares: Option<i64>,
    pub circulating_shares: Option<i64>,
    pub hk_shares: Option<i64>,
    /// Decimal text as imported.
    pub eps: Option<String>,
    pub eps_ttm: Option<String>,
    pub bps: Option<String>,
    pub dividend_yield: Option<String>,
}

impl DatedFigures {
    /// Merges two sets of figures for the same day: fields that are `None` are taken from `older`.
    pub(super) fn over(self, older: DatedFigures) -> DatedFigures {
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

/// Serializes figures, one line per day, such as `20260301,9000,,,1.5,,,`. Returns `None` if there
/// are none.
pub(super) fn written(dated: &[DatedFigures]) -> Option<String> {
    let whole = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    let line = |one: &DatedFigures| {
        let texts = [&one.eps, &one.eps_ttm, &one.bps, &one.dividend_yield];
        let mut cells = vec![one.from.strftime("%Y%m%d").to_string()];
        cells.extend([one.total_shares, one.circulating_shares, one.hk_shares].map(whole));
        cells.extend(texts.map(|text| text.clone().unwrap_or_default()));
        cells.join(",")
    };
    (!dated.is_empty()).then(|| dated.iter().map(line).collect::<Vec<_>>().join("\n"))
}

pub(super) fn read(text: &str) -> Result<Vec<DatedFigures>, Fault> {
    text.lines().map(|line| one(line).ok_or_else(|| Fault::value("figures", line))).collect()
}

fn one(line: &str) -> Option<DatedFigures> {
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
    use crate::Security;

    fn from(day: &str) -> DatedFigures {
        DatedFigures { from: day.parse().unwrap(), ..DatedFigures::default() }
    }

    #[test]
    fn figures_round_trip() {
        assert_eq!((written(&[]), read("").unwrap()), (None, Vec::new()));
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
        let text = written(&all).unwrap();
        assert_eq!(text, "20260301,9000,,,-1.50,,,\n20260601,,0,9223372036854775807,,0,3,0.1");
        assert_eq!(read(&text).unwrap(), all);
        for wrong in ["x", "20260301", "20260301,,,,,,,,", "20260301,1.5,,,,,,", "20260231,,,,,,,"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
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
