//! `/v1/admin/accounts` lists accounts; `/v1/admin/accounts/{name}` reads or changes an account.

use access::{Account, Level, ParseRateRuleError, TermsChange};
use market::{Date, ParseFloorsError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin_request::{AdminRequest, NAME, has_no_default, not_null, null_or, problem, wrong};
use crate::kit::Problem;
use crate::kit::doc::refusals::{BAD_REQUEST, CONFLICT, NOT_FOUND};
use crate::kit::doc::{self, AnswerDoc, Doc, Kind, Media, Parameter, Tag, Word, data};
use crate::quota_document::{QuotaDocument, RightDocument, rights};
use crate::refusal::Refusal;
use crate::written::Instant;

/// Maximum number of accounts per response.
const ACCOUNTS_MAX: u32 = 10_000;

pub(super) const AS_IT_IS_NOW: &[AnswerDoc] =
    &[AnswerDoc::ok("The updated account", &[data::<AdminAccount>()])];

pub(super) const ACCOUNTS: Doc = Doc::new(Tag::Admin, "adminAccounts", "List accounts")
    .parameters(&[
        Parameter::query("query", Kind::Text, "Part of an account name, or an account number"),
        Parameter::query(
            "after",
            Kind::Whole,
            "Only accounts with a higher number; `next` of the previous page",
        ),
        Parameter::query("limit", Kind::Between(1, ACCOUNTS_MAX), "Maximum number of accounts")
            .or(Word::Number(ACCOUNTS_MAX)),
    ])
    .answers(&[AnswerDoc::ok("The accounts, oldest first", &[data::<AdminAccounts>()])])
    .refuses(&[BAD_REQUEST]);

pub(super) const SHOW_ACCOUNT: Doc =
    Doc::new(Tag::Admin, "adminAccount", "One account, with its quota for the current month")
        .parameters(&[NAME])
        .answers(&[AnswerDoc::ok("The account", &[data::<AdminAccount>()])])
        .refuses(&[NOT_FOUND]);

pub(super) const SET_ACCOUNT: Doc =
    Doc::new(Tag::Admin, "adminSetAccount", "Change the limits of an account; omitted fields stay unchanged")
        .parameters(&[NAME])
        .body(&[Media::json::<AdminTermsChange>()])
        .answers(AS_IT_IS_NOW)
        .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT]);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AdminAccounts {
    /// Number of matching accounts on all pages.
    pub(super) total: usize,
    /// Matching accounts, at most 10,000.
    pub(super) accounts: Vec<AdminAccount>,
    /// Value of `after` for the next page; null on the last page.
    pub(super) next: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AdminAccount {
    pub(super) account_id: i64,
    pub(super) account: String,
    #[schemars(schema_with = "doc::region")]
    pub(super) region: &'static str,
    #[schemars(schema_with = "doc::role")]
    pub(super) role: &'static str,
    pub(super) created_at: Instant,
    pub(super) revoked_at: Option<Instant>,
    /// Effective level, which is fixed or earned.
    pub(super) level: u32,
    pub(super) used: u32,
    /// Effective limit on the number of securities per month.
    pub(super) limit: u32,
    pub(super) rights: Vec<RightDocument>,
    pub(super) terms: AdminTerms,
    /// Present only when a single account is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "QuotaDocument")]
    pub(super) quota: Option<QuotaDocument>,
    /// Present only when a single account is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AdminSignIn")]
    pub(super) sign_in: Option<AdminSignIn>,
}

/// How the account's owner signs in to the pages.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AdminSignIn {
    /// Whether a password is set.
    pub(super) password: bool,
    /// Expiry of the unused password link; null if there is no such link.
    pub(super) link_until: Option<Instant>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AdminTerms {
    /// Fixed level; null if the level is earned.
    pub(super) level: Option<u32>,
    /// Fixed number of securities per month; null if the level determines it.
    pub(super) quota: Option<u32>,
    /// Rate limit as calls/seconds, for example 60/30, or unlimited.
    pub(super) rate: String,
    pub(super) connections: u32,
    /// Maximum number of distinct securities that all its connections subscribe to.
    pub(super) subscriptions: u32,
    /// Earliest history the account may read: published, none, or dates such as
    /// HK.day=1995-01-03,US.minute=none; null for the server's default.
    pub(super) floors: Option<String>,
    /// Whether the account may read its paper account but not change it.
    pub(super) read_only: bool,
    /// API date that the account is pinned to, such as 2024-08-01 (see GET /v1/versions); null for
    /// the newest date.
    pub(super) api_date: Option<String>,
    /// Whether rate, quota, connections, subscriptions and floors are all lifted.
    pub(super) unlimited: bool,
    /// All terms as one string, in the format of the audit log. If a change sends this string as
    /// `was`, the change is refused when the terms were modified in the meantime.
    pub(super) text: String,
}

/// Changes to an account's limits; absent fields stay unchanged.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminTermsChange {
    /// Fixed level, 1 to 6; null for the earned level.
    #[serde(default, deserialize_with = "null_or")]
    #[schemars(with = "Option<u32>", skip_serializing_if = "has_no_default")]
    level: Option<Option<u32>>,
    /// Fixed number of securities per month; null for the number of the level.
    #[serde(default, deserialize_with = "null_or")]
    #[schemars(with = "Option<u32>", skip_serializing_if = "has_no_default")]
    quota: Option<Option<u32>>,
    /// Rate limit as calls/seconds, for example 60/30, or unlimited; null for the server's default.
    #[serde(default, deserialize_with = "null_or")]
    #[schemars(with = "Option<String>", skip_serializing_if = "has_no_default")]
    rate: Option<Option<String>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "u32", skip_serializing_if = "has_no_default")]
    connections: Option<u32>,
    /// Maximum number of distinct securities that all its connections subscribe to, 0 to 100,000.
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "u32", skip_serializing_if = "has_no_default")]
    subscriptions: Option<u32>,
    /// Earliest history the account may read: published, none, or dates such as
    /// HK.day=1995-01-03,US.minute=none; null for the server's default.
    #[serde(default, deserialize_with = "null_or")]
    #[schemars(with = "Option<String>", skip_serializing_if = "has_no_default")]
    floors: Option<Option<String>>,
    /// Whether the account may read its paper account but not change it.
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "bool", skip_serializing_if = "has_no_default")]
    read_only: Option<bool>,
    /// API date to pin the account to, such as 2024-08-01; null for the newest date.
    #[serde(default, deserialize_with = "null_or")]
    #[schemars(with = "Option<String>", skip_serializing_if = "has_no_default")]
    api_date: Option<Option<String>>,
    /// true removes the limits on rate, quota, connections and floors; false restores the published
    /// limits. Cannot be combined with those four fields.
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "bool", skip_serializing_if = "has_no_default")]
    unlimited: Option<bool>,
    /// The `text` of the terms that the change is based on. The change is refused if the terms were
    /// modified in the meantime.
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "String", skip_serializing_if = "has_no_default")]
    was: Option<String>,
}

impl AdminTermsChange {
    const FIELDS: &str = "level (1 to 6, or null), quota (a number, or null), rate (as text, or null), connections (a number), \
        subscriptions (a number), floors (as text, or null), read_only (true or false), api_date (a date, or null), unlimited (true or false) and was (as text)";

    /// Converts to a [`TermsChange`]. Returns an error if no field is set.
    fn terms(self) -> Result<TermsChange, String> {
        let nothing = AdminTermsChange { was: self.was.clone(), ..AdminTermsChange::default() };
        if self == nothing {
            return Err(
                "no changes: set level, quota, rate, connections, subscriptions, floors, read_only, api_date or unlimited"
                    .to_owned(),
            );
        }
        self.change()
    }

    pub(super) fn change(self) -> Result<TermsChange, String> {
        let AdminTermsChange {
            level,
            quota,
            rate,
            connections,
            subscriptions,
            floors,
            read_only,
            api_date,
            unlimited,
            was: _,
        } = self;
        let numbers = [connections, subscriptions];
        let has_limit = quota.is_some()
            || rate.is_some()
            || floors.is_some()
            || numbers.iter().any(|number| number.is_some());
        if unlimited.is_some() && has_limit {
            return Err(
                "unlimited cannot be combined with quota, rate, connections, subscriptions or floors"
                    .to_owned(),
            );
        }
        let all = match unlimited {
            Some(true) => TermsChange::unlimited(),
            Some(false) => TermsChange::limited(),
            None => TermsChange::default(),
        };
        let date = |text: String| {
            text.parse::<Date>().map_err(|_| "api_date is a date such as 2024-08-01, or null for the newest")
        };
        let known =
            |number| Level::new(number).ok_or("level is a number from 1 to 6, or null for the earned level");
        Ok(TermsChange {
            level: parsed(level, known)?,
            quota: quota.or(all.quota),
            rate: parsed(rate, |text| text.parse())
                .map_err(|error: ParseRateRuleError| error.to_string())?
                .or(all.rate),
            connections: connections.or(all.connections),
            subscriptions: subscriptions.or(all.subscriptions),
            floors: parsed(floors, |text| text.parse())
                .map_err(|error: ParseFloorsError| error.to_string())?
                .or(all.floors),
            read_only,
            api_date: parsed(api_date, date)?,
        })
    }
}

/// Parses a field if it is present and not null.
fn parsed<T, U, E>(
    field: Option<Option<T>>,
    parse: impl FnOnce(T) -> Result<U, E>,
) -> Result<Option<Option<U>>, E> {
    Ok(match field {
        Some(Some(value)) => Some(Some(parse(value)?)),
        Some(None) => Some(None),
        None => None,
    })
}

impl AdminRequest<'_> {
    pub(super) fn accounts(&self) -> Result<AdminAccounts, Problem> {
        let (query, after) = (self.call.parameter_of("query").unwrap_or_default(), self.whole("after")?);
        let limit = match self.call.parameter_of("limit") {
            None => ACCOUNTS_MAX,
            Some(text) => {
                let limit = text.parse().ok().filter(|limit| (1..=ACCOUNTS_MAX).contains(limit));
                limit.ok_or_else(|| wrong(&format!("limit is a number from 1 to {ACCOUNTS_MAX}")))?
            }
        };
        let mut accounts = self.site.core.access.list().map_err(problem)?;
        let query = query.trim().to_lowercase();
        accounts.retain(|account| {
            account.name.to_lowercase().contains(&query) || account.id.0.to_string() == query
        });
        let total = accounts.len();
        accounts.retain(|account| after.is_none_or(|after| account.id.0 > after));
        let (rest, limit) = (accounts.len(), usize::try_from(limit).unwrap_or(usize::MAX));
        accounts.truncate(limit);
        let next = accounts.last().filter(|_| limit < rest).map(|account| account.id.0);
        let listed: Result<Vec<AdminAccount>, Problem> =
            accounts.iter().map(|account| self.described(account)).collect();
        Ok(AdminAccounts { total, accounts: listed?, next })
    }

    pub(super) fn account(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        self.site.core.tally(account.id, self.as_of).map_err(Problem::from_paper)?;
        let described = self.described(&account)?;
        let quota = self.site.core.access.quota(account.id, self.present.market).map_err(problem)?;
        let quota = quota.ok_or_else(Problem::not_found)?;
        let access = &self.site.core.access;
        let until = access.password_link_until(account.id, self.present.machine).map_err(problem)?;
        let sign_in = AdminSignIn {
            password: access.has_password(account.id).map_err(problem)?,
            link_until: until.map(Instant::utc),
        };
        Ok(AdminAccount {
            quota: Some(QuotaDocument::of(&quota, self.present.market)),
            sign_in: Some(sign_in),
            ..described
        })
    }

    pub(super) fn set_account(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let change: AdminTermsChange = self.change(AdminTermsChange::FIELDS)?;
        let was = change.was.clone();
        let change = change.terms().map_err(Refusal::BadQuery)?;
        let access = &self.site.core.access;
        access
            .change_terms_if(account.id, was.as_deref(), change, &self.by, self.present)
            .map_err(problem)?;
        self.described(&self.named(self.call.path_value("name"))?)
    }

    pub(super) fn described(&self, account: &Account) -> Result<AdminAccount, Problem> {
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
                subscriptions: account.terms.subscriptions,
                floors: account.terms.floors.map(|floors| floors.to_string()),
                read_only: account.terms.read_only,
                api_date: account.terms.api_date.map(|date| date.to_string()),
                unlimited: account.terms.is_unlimited(),
                text: account.terms.to_string(),
            },
            quota: None,
            sign_in: None,
        })
    }
}
