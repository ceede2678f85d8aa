//! Operators' reports about accounts: assets, completed orders and exchange rates. A report is
//! accepted or rejected as a whole.

use std::collections::{HashMap, HashSet};

use market::{BUILTIN_RATES, BUILTIN_RATES_FROM, Date, Timestamp, parse_date, parse_scaled};
use store::{
    AccountId, AssetReportOutcome, AuditNote, LevelRow, OrderReport, RateRow, ReportedAssetsRow,
    ReportedOrdersRow,
};

use crate::inputs::Row;
use crate::judge::BASE;
use crate::{Access, AccessError, Actor, Present, ReportError, Step, StepChange, Table};

/// Number of decimals of stored amounts.
const AMOUNT_DECIMALS: u32 = 4;
const RATE_DECIMALS: u32 = 8;
/// Maximum amount: ten trillion units of a currency. No account has more, and the product with
/// [`RATE_MAX`] does not overflow.
const AMOUNT_MAX: i128 = 10_000_000_000_000 * 10_i128.pow(AMOUNT_DECIMALS);
/// Maximum exchange rate: a million HKD per unit.
const RATE_MAX: i128 = 1_000_000 * 10_i128.pow(RATE_DECIMALS);
const _: () = assert!(AMOUNT_MAX < i64::MAX as i128);
const _: () = assert!(RATE_MAX < i64::MAX as i128);
const ORDERS_MAX: u32 = 1_000_000;
const ORDER_ID_MAX: usize = 64;
/// Earliest accepted day. Earlier days are rejected as typing errors.
const FIRST_DAY: Date = Date::constant(1990, 1, 1);

/// Number of rows and accounts in an accepted report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    pub rows: usize,
    /// Number of accounts in the report; 0 for exchange rates.
    pub accounts: usize,
}

/// Reported assets of an account in one currency at the end of a day, as decimal text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedAssets {
    pub day: Date,
    pub currency: String,
    pub amount: String,
}

/// Exchange rate of a currency as decimal text, in HKD per unit, valid from `day`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateEntry {
    pub currency: String,
    pub day: Date,
    pub rate: String,
    /// Whether the rate is a built-in approximation. A reported rate takes precedence starting on
    /// its day.
    pub builtin: bool,
}

impl Access {
    /// Imports rows of `account,day,currency,amount`: the assets of an account at the end of a day.
    /// A later report for the same account, day and currency replaces the earlier amount. The
    /// default day is today in Hong Kong.
    pub fn report_assets(
        &self,
        table: &Table,
        by: &Actor,
        present: Present,
    ) -> Result<Reported, AccessError> {
        let known = ["account", "day", "currency", "amount"];
        let rows = table.checked(&["account", "currency", "amount"], &known)?;
        let mut accounts = Names::new(self);
        let (mut entries, mut seen) = (Vec::with_capacity(rows.len()), HashSet::new());
        for row in rows {
            let reader = Reader { table, row, today: self.levels.standings.days.today(present.market) };
            let account = accounts.find(&reader)?;
            let (day, currency) = (reader.day()?, reader.currency()?);
            let amount = reader.decimal("amount", AMOUNT_DECIMALS, AMOUNT_MAX)?;
            if !seen.insert((account, day, currency.clone())) {
                return Err(reader
                    .wrong(format!("{currency} of {day} is reported twice: add it up first"))
                    .into());
            }
            entries.push(ReportedAssetsRow { account, day, currency, amount });
        }
        let reason = audit_reason(entries.len(), entries.iter().map(|entry| entry.day));
        let actor = by.to_string();
        let note = AuditNote { at: present.machine, actor: &actor, reason: &reason };
        if let AssetReportOutcome::Unrated(at) = self.accounts.put_reported_assets(&entries, BASE, &note)? {
            let (line, entry) = (rows.get(at).and_then(|row| row.line), entries.get(at));
            return Err(ReportError::at(line, entry.map(unrated).unwrap_or_default()).into());
        }
        self.reported(rows.len(), entries.iter().map(|entry| entry.account), by, present)
    }

    /// Imports rows of `account,day,count`, the number of orders on a day, which replaces the
    /// previous count, or of `account,day,order_id`, a single order, which is counted once even if
    /// it is reported again. The default day is today in Hong Kong.
    pub fn report_orders(
        &self,
        table: &Table,
        by: &Actor,
        present: Present,
    ) -> Result<Reported, AccessError> {
        let rows = table.checked(&["account"], &["account", "day", "count", "order_id"])?;
        let mut accounts = Names::new(self);
        let (mut entries, mut seen) = (Vec::with_capacity(rows.len()), HashSet::new());
        for row in rows {
            let reader = Reader { table, row, today: self.levels.standings.days.today(present.market) };
            let (account, day, report) = (accounts.find(&reader)?, reader.day()?, reader.orders()?);
            if matches!(report, OrderReport::Count(_)) && !seen.insert((account, day)) {
                return Err(reader
                    .wrong(format!("the orders of {day} are reported twice: add them up first"))
                    .into());
            }
            entries.push(ReportedOrdersRow { account, day, report });
        }
        let reason = audit_reason(entries.len(), entries.iter().map(|entry| entry.day));
        let actor = by.to_string();
        self.accounts.put_reported_orders(
            &entries,
            &AuditNote { at: present.machine, actor: &actor, reason: &reason },
        )?;
        self.reported(rows.len(), entries.iter().map(|entry| entry.account), by, present)
    }

    /// Imports rows of `currency,day,rate`: the exchange rate in HKD per unit, valid from that day
    /// until the day of the next rate. The default day is today in Hong Kong.
    pub fn report_rates(&self, table: &Table, by: &Actor, present: Present) -> Result<Reported, AccessError> {
        let rows = table.checked(&["currency", "rate"], &["currency", "day", "rate"])?;
        let (mut entries, mut seen) = (Vec::with_capacity(rows.len()), HashSet::new());
        for row in rows {
            let reader = Reader { table, row, today: self.levels.standings.days.today(present.market) };
            let (currency, day) = (reader.currency()?, reader.day()?);
            let rate = reader.decimal("rate", RATE_DECIMALS, RATE_MAX)?;
            if currency == BASE {
                return Err(reader.wrong("HKD is the base currency and has no rate").into());
            }
            if rate == 0 {
                return Err(reader.wrong("a rate must be above 0").into());
            }
            if !seen.insert((currency.clone(), day)) {
                return Err(reader
                    .wrong(format!("the rate of {currency} on {day} is reported twice"))
                    .into());
            }
            entries.push(RateRow { currency, day, rate });
        }
        let reason = audit_reason(entries.len(), entries.iter().map(|entry| entry.day));
        let actor = by.to_string();
        self.accounts
            .put_rates(&entries, &AuditNote { at: present.machine, actor: &actor, reason: &reason })?;
        self.settle_all(by, present)?;
        Ok(Reported { rows: rows.len(), accounts: 0 })
    }

    /// Changes the quota or thresholds of one level if the ladder stays valid, and recomputes the
    /// levels of all accounts. Returns the changed step.
    pub fn change_level(
        &self,
        change: impl Into<StepChange>,
        by: &Actor,
        present: Present,
    ) -> Result<Step, AccessError> {
        let (change, actor) = (change.into(), by.to_string());
        let LevelRow { quota, assets, orders, .. } =
            self.accounts.change_level((present.machine, &actor), |rows| {
                let Step { level, quota, assets, orders } = change.applied(rows)?;
                let reason = format!(
                    "level {level}: quota {quota}, assets {}, orders {}",
                    assets.map_or("none".to_owned(), |assets| format!("HKD {assets}")),
                    orders.map_or("none".to_owned(), |orders| format!("more than {orders}"))
                );
                Ok::<_, AccessError>((LevelRow { number: level.number(), quota, assets, orders }, reason))
            })?;
        // Levels cannot be determined while the ladder is invalid.
        if self.ladder().is_ok() {
            self.settle_all(by, present)?;
        }
        Ok(Step { level: change.level, quota, assets, orders })
    }

    /// Returns up to `limit` reported assets of an account, newest day first.
    pub fn reported_assets(&self, id: AccountId, limit: u32) -> Result<Vec<ReportedAssets>, AccessError> {
        let rows = self.accounts.reported_assets_of(id, limit)?;
        let entry = |row: ReportedAssetsRow| ReportedAssets {
            day: row.day,
            currency: row.currency,
            amount: decimal(row.amount, AMOUNT_DECIMALS),
        };
        Ok(rows.into_iter().map(entry).collect())
    }

    /// Returns the number of reported orders of an account on each day, for up to `limit` days,
    /// newest day first.
    pub fn reported_orders(&self, id: AccountId, limit: u32) -> Result<Vec<(Date, u64)>, AccessError> {
        Ok(self.accounts.reported_orders_of(id, limit)?)
    }

    /// Returns up to `limit` exchange rates, including the built-in rates, sorted by currency and
    /// then newest day first. `None` selects all currencies.
    pub fn rates(&self, currency: Option<&str>, limit: u32) -> Result<Vec<RateEntry>, AccessError> {
        let entry = |currency: &str, day: Date, rate: i64, builtin: bool| RateEntry {
            currency: currency.to_owned(),
            day,
            rate: decimal(rate, RATE_DECIMALS),
            builtin,
        };
        let rows = self.accounts.rates(currency, limit)?;
        let mut rates: Vec<RateEntry> =
            rows.iter().map(|row| entry(&row.currency, row.day, row.rate, false)).collect();
        let builtin = BUILTIN_RATES.iter().filter(|(of, _)| currency.is_none_or(|currency| currency == *of));
        rates.extend(builtin.map(|(of, rate)| entry(of, BUILTIN_RATES_FROM, *rate, true)));
        rates.sort_by(|a, b| (&a.currency, b.day).cmp(&(&b.currency, a.day)));
        rates.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(rates)
    }

    fn reported(
        &self,
        rows: usize,
        accounts: impl Iterator<Item = AccountId>,
        by: &Actor,
        present: Present,
    ) -> Result<Reported, AccessError> {
        let accounts: std::collections::BTreeSet<AccountId> = accounts.collect();
        let count = accounts.len();
        self.settle_each(accounts, by, present)?;
        Ok(Reported { rows, accounts: count })
    }
}

/// Parser for one row of a report.
struct Reader<'a> {
    table: &'a Table,
    row: &'a Row,
    today: Date,
}

impl<'a> Reader<'a> {
    fn wrong(&self, problem: impl Into<String>) -> ReportError {
        ReportError::at(self.row.line, problem)
    }

    fn field(&self, name: &str) -> Option<&'a str> {
        self.table.field(self.row, name)
    }

    fn needed(&self, name: &str) -> Result<&'a str, ReportError> {
        self.field(name).ok_or_else(|| self.wrong(format!("{name} is blank")))
    }

    fn day(&self) -> Result<Date, ReportError> {
        let Some(text) = self.field("day") else { return Ok(self.today) };
        let digits: String = text.chars().take(20).collect();
        let day = match digits.parse::<Date>() {
            Ok(day) if digits.len() == 10 => day,
            _ => parse_date(&digits).map_err(|error| self.wrong(error.to_string()))?,
        };
        if day > self.today {
            return Err(self.wrong(format!("{day} is in the future: today is {} in Hong Kong", self.today)));
        }
        if day < FIRST_DAY {
            return Err(self.wrong(format!("{day} is before {FIRST_DAY}")));
        }
        Ok(day)
    }

    fn currency(&self) -> Result<String, ReportError> {
        let text = self.needed("currency")?;
        let code = text.to_ascii_uppercase();
        if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) {
            let text: String = text.chars().take(20).collect();
            return Err(self.wrong(format!("{text:?} is not a currency: write three letters, such as USD")));
        }
        Ok(code)
    }

    fn decimal(&self, name: &str, decimals: u32, max: i128) -> Result<i64, ReportError> {
        let text = self.needed(name)?;
        let shown: String = text.chars().take(40).collect();
        let (value, exact) = parse_scaled(text.as_bytes(), decimals)
            .map_err(|error| self.wrong(format!("{name} {shown:?}: {error}")))?;
        if !exact {
            return Err(self.wrong(format!("{name} {shown:?}: more than {decimals} decimals")));
        }
        match i64::try_from(value) {
            Ok(value) if (0..=max).contains(&i128::from(value)) => Ok(value),
            _ if value < 0 => Err(self.wrong(format!("{name} {shown:?}: less than 0"))),
            _ => Err(self.wrong(format!("{name} {shown:?}: too large"))),
        }
    }

    fn orders(&self) -> Result<OrderReport, ReportError> {
        match (self.field("count"), self.field("order_id")) {
            (Some(count), None) => {
                let number = count.parse().ok().filter(|number| *number <= ORDERS_MAX);
                let wrong = || {
                    let count: String = count.chars().take(20).collect();
                    self.wrong(format!("{count:?} is not a count of orders: write 0 to {ORDERS_MAX}"))
                };
                number.map(OrderReport::Count).ok_or_else(wrong)
            }
            (None, Some(order)) => {
                let is_plain = order.chars().all(|letter| !letter.is_control() && !letter.is_whitespace());
                if order.len() > ORDER_ID_MAX || !is_plain {
                    let wrong = format!("an order id has at most {ORDER_ID_MAX} bytes and no blanks");
                    return Err(self.wrong(wrong));
                }
                Ok(OrderReport::Order(order.to_owned()))
            }
            _ => Err(self.wrong("a row must have either a count or an order_id")),
        }
    }
}

/// Account lookup by name or number, with a cache for the rows of a report.
struct Names<'a> {
    access: &'a Access,
    known: HashMap<String, AccountId>,
}

impl Names<'_> {
    fn new(access: &Access) -> Names<'_> {
        Names { access, known: HashMap::new() }
    }

    fn find(&mut self, reader: &Reader<'_>) -> Result<AccountId, AccessError> {
        let name = reader.needed("account")?;
        if let Some(id) = self.known.get(name) {
            return Ok(*id);
        }
        let account = self.access.account_called(name)?;
        let shown: String = name.chars().take(64).collect();
        let id = account.ok_or_else(|| reader.wrong(format!("there is no account {shown:?}")))?.id;
        self.known.insert(name.to_owned(), id);
        Ok(id)
    }
}

impl Access {
    /// Returns an account by name or, if no account has that name, by number.
    pub fn account_called(&self, name: &str) -> Result<Option<crate::Account>, AccessError> {
        if let Some(account) = self.account_named(name)? {
            return Ok(Some(account));
        }
        match name.parse() {
            Ok(number) => Ok(self.account(AccountId(number))?.map(|account| (*account).clone())),
            Err(_) => Ok(None),
        }
    }

    /// Returns the date in Hong Kong at a time by the market clock. This date is the default day of
    /// reports.
    pub fn today(&self, now: Timestamp) -> Date {
        self.levels.standings.days.today(now)
    }
}

fn unrated(entry: &ReportedAssetsRow) -> String {
    let ReportedAssetsRow { currency, day, .. } = entry;
    format!(
        "there is no exchange rate of {currency} on or before {day}: report one first, for example with \
         `chandler account rates {currency} RATE --day {day}`"
    )
}

/// Returns the reason text of a report's audit row: the number of rows and their range of days.
fn audit_reason(rows: usize, days: impl Iterator<Item = Date> + Clone) -> String {
    let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    match (days.clone().min(), days.max()) {
        (Some(first), Some(last)) if first == last => format!("{rows} for {first}"),
        (Some(first), Some(last)) => format!("{rows} for {first} to {last}"),
        _ => rows,
    }
}

/// Formats a scaled integer with at least two decimals and no further trailing zeros.
fn decimal(value: i64, decimals: u32) -> String {
    let unit = 10_i64.pow(decimals);
    let digits = format!("{:0width$}", value % unit, width = usize::try_from(decimals).unwrap_or(0));
    let (cents, rest) = digits.split_at_checked(2).unwrap_or((&digits, ""));
    format!("{}.{cents}{}", value / unit, rest.trim_end_matches('0'))
}
