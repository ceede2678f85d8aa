//! `/v1/admin/reported-assets`, `/v1/admin/reported-orders` and `/v1/admin/rates`: operators report
//! and read the assets, orders and exchange rates from which levels are computed.

use access::{AccessError, ReportError, Table};
use hyper::header::CONTENT_TYPE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::admin_request::{ACCOUNT, AdminRequest, LIMIT, WRONG_OR_UNKNOWN, problem, wrong};
use crate::account_news::Subject;
use crate::kit::Problem;
use crate::kit::doc::refusals::BAD_REQUEST;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, data, described_only};
use crate::kit::fields::echo;
use crate::written::Day;

const TAKEN: &[AnswerDoc] = &[AnswerDoc::ok("Number of stored rows", &[data::<Reported>()])];
const CSV: Media = Media::text("text/csv");

pub(super) const REPORTED_ASSETS: Doc =
    Doc::new(Tag::Admin, "adminReportedAssets", "An account's assets by day, newest first")
        .parameters(&[ACCOUNT, LIMIT])
        .answers(&[AnswerDoc::ok("The rows", &[data::<AssetsRows>()])])
        .refuses(WRONG_OR_UNKNOWN);

pub(super) const REPORT_ASSETS: Doc = Doc::new(
    Tag::Admin,
    "adminReportAssets",
    "Report accounts' assets by day; either all rows are stored or none",
)
.body(&[
    Media::json::<ReportOf<AssetsReportRow>>(),
    CSV.about("A header and rows: account,day,currency,amount"),
])
.answers(TAKEN)
.refuses(&[BAD_REQUEST]);

pub(super) const REPORTED_ORDERS: Doc =
    Doc::new(Tag::Admin, "adminReportedOrders", "An account's completed orders by day, newest first")
        .parameters(&[ACCOUNT, LIMIT])
        .answers(&[AnswerDoc::ok("The rows", &[data::<OrdersRows>()])])
        .refuses(WRONG_OR_UNKNOWN);

pub(super) const REPORT_ORDERS: Doc =
    Doc::new(Tag::Admin, "adminReportOrders", "Report completed orders, as a count per day or individually")
        .body(&[
            Media::json::<ReportOf<OrdersReportRow>>(),
            CSV.about("A header and rows: account,day,count or account,day,order_id"),
        ])
        .answers(TAKEN)
        .refuses(&[BAD_REQUEST]);

pub(super) const RATES: Doc =
    Doc::new(Tag::Admin, "adminRates", "Exchange rates by currency, newest day first")
        .parameters(&[Parameter::query("currency", Kind::Text, "Only this currency"), LIMIT])
        .answers(&[AnswerDoc::ok("The rows", &[data::<RatesRows>()])])
        .refuses(&[BAD_REQUEST]);

pub(super) const REPORT_RATES: Doc = Doc::new(
    Tag::Admin,
    "adminReportRates",
    "Report exchange rates in HKD per unit, each effective from its day",
)
.body(&[Media::json::<ReportOf<RatesReportRow>>(), CSV.about("A header and rows: currency,day,rate")])
.answers(TAKEN)
.refuses(&[BAD_REQUEST]);

/// A kind of report that operators can submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Assets,
    Orders,
    Rates,
}

/// The rows of a report as submitted, before validation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows {
    pub(super) rows: Vec<Map<String, Value>>,
}

described_only! {
    /// A string or an integer. Fractions must be strings, because binary floating point loses
    /// digits.
    #[schemars(untagged, inline)]
    enum Cell {
        Text(String),
        Whole(i64),
    }

    /// Rows of a report; the columns depend on the kind of report.
    #[schemars(deny_unknown_fields, inline)]
    pub(super) struct ReportOf<T> {
        rows: Vec<T>,
    }

    #[schemars(deny_unknown_fields)]
    pub(super) struct AssetsReportRow {
        /// Account name or number.
        account: Cell,
        /// Defaults to the current date in Hong Kong.
        day: Option<Day>,
        currency: String,
        /// Decimal with up to four places.
        amount: Cell,
    }

    #[schemars(deny_unknown_fields)]
    pub(super) struct OrdersReportRow {
        /// Account name or number.
        account: Cell,
        /// Defaults to the current date in Hong Kong.
        day: Option<Day>,
        /// Total number of orders of the day. Exactly one of `count` and `order_id` is given.
        count: Option<Cell>,
        /// Id of a single order. An order that is reported repeatedly is counted once.
        order_id: Option<Cell>,
    }

    #[schemars(deny_unknown_fields)]
    pub(super) struct RatesReportRow {
        currency: String,
        /// Defaults to the current date in Hong Kong.
        day: Option<Day>,
        /// HKD per unit of the currency, with up to eight decimals.
        rate: Cell,
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Reported {
    pub(super) rows: usize,
    pub(super) accounts: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AssetsRows {
    pub(super) rows: Vec<AssetsRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AssetsRow {
    pub(super) account: String,
    pub(super) day: Day,
    pub(super) currency: String,
    pub(super) amount: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OrdersRows {
    pub(super) rows: Vec<OrdersRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OrdersRow {
    pub(super) account: String,
    pub(super) day: Day,
    /// Number of orders on the day.
    pub(super) count: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RatesRows {
    pub(super) rows: Vec<RatesRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RatesRow {
    pub(super) currency: String,
    pub(super) day: Day,
    /// HKD per unit of the currency.
    pub(super) rate: String,
    /// Whether this is an approximate built-in rate, which applies until a rate is reported.
    pub(super) builtin: bool,
}

impl AdminRequest<'_> {
    pub(super) fn reported_assets(&self) -> Result<AssetsRows, Problem> {
        let account = self.account_asked_for()?;
        let rows = self.site.core.access.reported_assets(account.id, self.limit()?).map_err(problem)?;
        let row = |one: access::ReportedAssets| AssetsRow {
            account: account.name.clone(),
            day: Day(one.day),
            currency: one.currency,
            amount: one.amount,
        };
        Ok(AssetsRows { rows: rows.into_iter().map(row).collect() })
    }

    pub(super) fn reported_orders(&self) -> Result<OrdersRows, Problem> {
        let account = self.account_asked_for()?;
        let rows = self.site.core.access.reported_orders(account.id, self.limit()?).map_err(problem)?;
        let row = |(day, count): (market::Date, u64)| OrdersRow {
            account: account.name.clone(),
            day: Day(day),
            count,
        };
        Ok(OrdersRows { rows: rows.into_iter().map(row).collect() })
    }

    pub(super) fn rates(&self) -> Result<RatesRows, Problem> {
        let currency = self.call.parameter_of("currency").map(|currency| currency.to_ascii_uppercase());
        let rows = self.site.core.access.rates(currency.as_deref(), self.limit()?).map_err(problem)?;
        let row = |one: access::RateEntry| RatesRow {
            currency: one.currency,
            day: Day(one.day),
            rate: one.rate,
            builtin: one.builtin,
        };
        Ok(RatesRows { rows: rows.into_iter().map(row).collect() })
    }

    /// Stores a report. Either all rows are stored or none. The body is JSON, or CSV in the format
    /// of the command line.
    pub(super) fn report(&self, report: Report) -> Result<Reported, Problem> {
        let columns: &[&str] = match report {
            Report::Rates => &["currency", "day", "rate"],
            Report::Orders => &["account", "day", "count", "order_id"],
            Report::Assets => &["account", "day", "currency", "amount"],
        };
        let is_csv = self.call.header(CONTENT_TYPE.as_str()).is_some_and(|of| {
            of.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/csv")
        });
        let table = if is_csv {
            Table::csv(self.call.body).map_err(|error| wrong(&error.to_string()))?
        } else {
            let Rows { rows } = self.call.json()?;
            table(columns, &rows).map_err(|text| wrong(&text))?
        };
        let access = &self.site.core.access;
        let reported = match report {
            Report::Rates => access.report_rates(&table, &self.by, self.present),
            Report::Orders => access.report_orders(&table, &self.by, self.present),
            Report::Assets => access.report_assets(&table, &self.by, self.present),
        };
        let access::Reported { rows, accounts } = reported.map_err(|error| match error {
            AccessError::Report(ReportError { line: Some(row), problem }) if !is_csv => {
                wrong(&format!("row {row}: {problem}"))
            }
            error => problem(error),
        })?;
        if report == Report::Rates {
            // The totals of every account may have changed.
            self.site.core.listeners.news().all_changed(Subject::Trading);
        }
        Ok(Reported { rows, accounts })
    }
}

/// Converts JSON rows to a table. Amounts must be strings or integers, because a JSON number with a
/// fraction may have lost digits in binary floating point.
fn table(columns: &[&str], rows: &[Map<String, Value>]) -> Result<Table, String> {
    let mut table = Table::new(columns);
    for (index, row) in rows.iter().enumerate() {
        let number = index + 1;
        if let Some(name) = row.keys().find(|name| !columns.contains(&name.as_str())) {
            return Err(format!("row {number}: {:?} is not one of {}", echo(name), columns.join(", ")));
        }
        let field = |name: &&str| match row.get(*name) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
            Some(_) => Err(format!("row {number}: write {name} as text")),
        };
        let fields: Result<Vec<String>, String> = columns.iter().map(field).collect();
        table.push(Some(number), fields?).map_err(|error| error.to_string())?;
    }
    Ok(table)
}
