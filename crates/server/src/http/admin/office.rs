//! The operators' endpoints: list accounts, grant and withdraw rights, report the assets and orders that decide levels, read the audit. The
//! command line does the same on the machine of the store.

use access::{
    AccessError, Account, Actor, AuditFilter, AuditId, Level, Present, ReportError, Right, Step, StepChange,
    Table, TermsChange, Validity,
};
use hyper::header::CONTENT_TYPE;
use market::Timestamp;
use serde_json::{Map, Value};

use super::shapes::{
    AdminAccount, AdminAccounts, AdminTerms, AssetsRow, AssetsRows, AuditEntry, AuditRows, Grant, LevelRow,
    Levels, OrdersRow, OrdersRows, RatesRow, RatesRows, Reported, Rows,
};
use crate::kit::Problem;
use crate::kit::Site;
use crate::kit::fields::echo;
use crate::kit::{Admitted, Call};
use crate::quota_document::{QuotaDocument, rights};
use crate::refusal::Refusal;
use crate::written::{Day, Instant};

/// The most accounts of one answer.
const ACCOUNTS_MAX: usize = 10_000;
/// The most rows of a list, and the default.
pub(super) const ROWS_MAX: u32 = 1_000;

/// The kinds of reports that operators send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Assets,
    Orders,
    Rates,
}

/// One request of one operator.
pub(super) struct Office<'a> {
    call: &'a Call<'a>,
    site: &'a Site,
    by: Actor,
    present: Present,
}

impl<'a> Office<'a> {
    /// For an operator, who has been let in as one.
    pub(super) fn open(call: &'a Call<'a>, site: &'a Site, by: &Admitted) -> Office<'a> {
        Office { call, site, by: Actor::Account(by.account().id), present: site.core.present() }
    }
}

impl Office<'_> {
    pub(super) fn accounts(&self) -> Result<AdminAccounts, Problem> {
        let accounts = self.site.core.access.list().map_err(problem)?;
        let mut listed = Vec::new();
        for account in accounts.iter().take(ACCOUNTS_MAX) {
            listed.push(self.described(account)?);
        }
        Ok(AdminAccounts { total: accounts.len(), accounts: listed })
    }

    pub(super) fn account(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.parameter)?;
        self.site.core.tally(account.id).map_err(Problem::from_paper)?;
        let described = self.described(&account)?;
        let quota = self.site.core.access.quota(account.id, self.present.market).map_err(problem)?;
        let quota = quota.ok_or_else(Problem::not_found)?;
        Ok(AdminAccount { quota: Some(QuotaDocument::of(&quota, self.present.market)), ..described })
    }

    pub(super) fn set_account(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.parameter)?;
        let fields: Map<String, Value> = self.call.json()?;
        let change = changed(&fields).map_err(Refusal::BadQuery)?;
        self.site.core.access.change_terms(account.id, change, &self.by, self.present).map_err(problem)?;
        self.described(&self.named(self.call.parameter)?)
    }

    pub(super) fn grant(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.parameter)?;
        let Grant { package, from, until } = self.call.json()?;
        let right = right(&package)?;
        let validity = Validity { starts_at: instant(from)?, ends_at: instant(until)? };
        let machine = self.present.machine;
        self.site.core.access.grant(account.id, right, validity, &self.by, machine).map_err(problem)?;
        self.described(&self.named(self.call.parameter)?)
    }

    pub(super) fn withdraw(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.parameter)?;
        let package = self.call.parameter_of("package");
        let right = right(&package.ok_or_else(|| wrong("name the package: ?package=US"))?)?;
        let machine = self.present.machine;
        if !self.site.core.access.withdraw(account.id, right, &self.by, machine).map_err(problem)? {
            return Err(Problem::not_found());
        }
        self.described(&self.named(self.call.parameter)?)
    }

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
        let row =
            |one: access::RateEntry| RatesRow { currency: one.currency, day: Day(one.day), rate: one.rate };
        Ok(RatesRows { rows: rows.into_iter().map(row).collect() })
    }

    /// Stores a report completely or not at all. It is JSON, or the CSV that the command line also accepts.
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
        Ok(Reported { rows, accounts })
    }

    pub(super) fn levels(&self) -> Result<Levels, Problem> {
        let steps = self.site.core.access.steps().map_err(problem)?;
        Ok(Levels { levels: steps.iter().map(step).collect() })
    }

    pub(super) fn set_level(&self) -> Result<Levels, Problem> {
        let level = self.call.parameter.parse().ok().and_then(Level::new).ok_or_else(Problem::not_found)?;
        let fields: Map<String, Value> = self.call.json()?;
        let change = changed_step(level, &fields).map_err(Refusal::BadQuery)?;
        self.site.core.access.change_level(change, &self.by, self.present).map_err(problem)?;
        self.levels()
    }

    pub(super) fn audit(&self) -> Result<AuditRows, Problem> {
        let number = |name: &str| -> Result<Option<i64>, Problem> {
            let text = self.call.parameter_of(name);
            let parse = |text: String| text.parse().map_err(|_| wrong(&format!("{name} is not a number")));
            text.map(parse).transpose()
        };
        let account = self.call.parameter_of("account").map(|name| self.named(&name)).transpose()?;
        let event = self.call.parameter_of("event");
        let filter = AuditFilter {
            account: account.map(|account| account.id),
            event: event.as_deref(),
            since: self.call.parameter_of("since").map(|text| written(&text)).transpose()?,
            before: number("before")?.map(AuditId),
            limit: self.limit()?,
        };
        let rows = self.site.core.access.audit(&filter).map_err(problem)?;
        let row = |row: access::AuditRow| AuditEntry {
            id: row.id.0,
            at: Instant::utc(row.at),
            actor: row.actor,
            account_id: row.account.map(|id| id.0),
            event: row.event,
            reason: row.reason,
        };
        Ok(AuditRows { rows: rows.into_iter().map(row).collect() })
    }

    fn named(&self, name: &str) -> Result<Account, Problem> {
        let account = self.site.core.access.account_called(name).map_err(problem)?;
        account.ok_or_else(Problem::not_found)
    }

    fn account_asked_for(&self) -> Result<Account, Problem> {
        let name = self.call.parameter_of("account");
        self.named(&name.ok_or_else(|| wrong("name the account: ?account=NAME"))?)
    }

    fn limit(&self) -> Result<u32, Problem> {
        let Some(text) = self.call.parameter_of("limit") else { return Ok(ROWS_MAX) };
        let limit = text.parse().ok().filter(|limit| (1..=ROWS_MAX).contains(limit));
        limit.ok_or_else(|| wrong(&format!("limit is a number from 1 to {ROWS_MAX}")))
    }

    fn described(&self, account: &Account) -> Result<AdminAccount, Problem> {
        let usage = self.site.core.access.usage(account.id, self.present.market).map_err(problem)?;
        let usage = usage.ok_or_else(Problem::not_found)?;
        Ok(AdminAccount {
            account_id: account.id.0,
            account: account.name.clone(),
            region: account.region.as_str(),
            role: account.role.as_str(),
            created_at: Instant::utc(account.created_at),
            revoked_at: account.revoked_at.map(Instant::utc),
            level: usage.standing.level.number(),
            used: usage.used,
            limit: usage.limit,
            rights: rights(account, self.present.market),
            terms: AdminTerms {
                level: account.terms.level.map(Level::number),
                quota: account.terms.quota,
                rate: account.terms.rate_rule().to_string(),
                connections: account.terms.connections,
                floors: account.terms.floors.map(|floors| floors.to_string()),
                read_only: account.terms.read_only,
            },
            quota: None,
        })
    }
}

/// Errors that the operator can fix are reported as they are; the others are internal.
fn problem(error: AccessError) -> Problem {
    match error {
        error @ (AccessError::Terms(_) | AccessError::Report(_)) => wrong(&error.to_string()),
        error => Problem::from_access(error),
    }
}

pub(super) fn wrong(text: &str) -> Problem {
    Refusal::BadQuery(text.to_owned()).into()
}

fn right(name: &str) -> Result<Right, Problem> {
    name.parse().map_err(|error: access::ParseRightError| wrong(&error.to_string()))
}

/// A time in JSON: Unix seconds as a number, or a date or an instant as text.
pub(super) fn instant(value: Option<Value>) -> Result<Option<Timestamp>, Problem> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => written(&text).map(Some),
        Some(Value::Number(seconds)) if seconds.is_i64() => Ok(seconds.as_i64().map(Timestamp)),
        Some(_) => Err(wrong("a time is text, or Unix seconds as a number")),
    }
}

fn written(text: &str) -> Result<Timestamp, Problem> {
    access::parse_instant(text).map_err(|error| wrong(&error.to_string()))
}

/// Rows of JSON as the table of a file. Amounts must be text or whole numbers: a JSON number with a fraction may have lost digits in binary
/// floating point.
fn table(columns: &[&str], rows: &[Map<String, Value>]) -> Result<Table, String> {
    let mut table = Table::new(columns);
    for (index, row) in rows.iter().enumerate() {
        let number = index + 1;
        if let Some(name) = row.keys().find(|name| !columns.contains(&name.as_str())) {
            return Err(format!("row {number}: {:?} is none of {}", echo(name), columns.join(", ")));
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

/// The fields that are present. `null` removes a setting, so that the service decides again.
fn changed(fields: &Map<String, Value>) -> Result<TermsChange, String> {
    if fields.is_empty() {
        return Err("nothing to set: give level, quota, rate, connections, floors or read_only".to_owned());
    }
    let mut change = TermsChange::default();
    for (name, value) in fields {
        let number = || value.as_u64().and_then(|number| u32::try_from(number).ok());
        match (name.as_str(), value) {
            ("level", Value::Null) => change.level = Some(None),
            ("level", _) => {
                let level = number().and_then(Level::new);
                let level = level.ok_or("level is a number from 1 to 6, or null where it is earned")?;
                change.level = Some(Some(level));
            }
            ("quota", Value::Null) => change.quota = Some(None),
            ("quota", _) => change.quota = Some(Some(number().ok_or("quota is a number, or null")?)),
            ("rate", Value::Null) => change.rate = Some(None),
            ("rate", Value::String(text)) => {
                let rate = text.parse().map_err(|error: access::ParseRateRuleError| error.to_string())?;
                change.rate = Some(Some(rate));
            }
            ("connections", _) => change.connections = Some(number().ok_or("connections is a number")?),
            ("floors", Value::Null) => change.floors = Some(None),
            ("floors", Value::String(text)) => {
                let floors = text.parse().map_err(|error: market::ParseFloorsError| error.to_string())?;
                change.floors = Some(Some(floors));
            }
            ("read_only", Value::Bool(on)) => change.read_only = Some(*on),
            _ => {
                let fields = "level, quota, rate (as text), connections, floors (as text) and read_only (true or false)";
                return Err(format!("the fields are {fields}"));
            }
        }
    }
    Ok(change)
}

fn changed_step(level: Level, fields: &Map<String, Value>) -> Result<StepChange, String> {
    if fields.is_empty() {
        return Err("nothing to set: give quota, assets or orders".to_owned());
    }
    let mut change = StepChange { level, quota: None, assets: None, orders: None };
    for (name, value) in fields {
        let number = || value.as_u64().ok_or(format!("{name} is a whole number"));
        let small =
            || number().and_then(|number| u32::try_from(number).map_err(|_| format!("{name} is too large")));
        match (name.as_str(), value) {
            ("quota", _) => change.quota = Some(small()?),
            ("assets", Value::Null) => change.assets = Some(None),
            ("assets", _) => change.assets = Some(Some(number()?)),
            ("orders", Value::Null) => change.orders = Some(None),
            ("orders", _) => change.orders = Some(Some(small()?)),
            _ => return Err("the fields are quota, assets and orders".to_owned()),
        }
    }
    Ok(change)
}

fn step(step: &Step) -> LevelRow {
    LevelRow { level: step.level.number(), quota: step.quota, assets: step.assets, orders: step.orders }
}
