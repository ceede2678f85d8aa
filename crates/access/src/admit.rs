use std::sync::Arc;
use std::time::Duration;

use market::{Date, Symbol, Timestamp};
use store::{AccountId, MonthUsage, Spend};

use crate::admission_cache::{Grade, Standpoint};
use crate::health::briefly;
use crate::standing::UnrecordedLevel;
use crate::{
    Access, AccessError, Account, Actor, AdmissionCache, CallRule, Caller, Freshness, Hold, Level, Month,
    RateLimit, RateRule, Right, Role, Scope, Standing,
};

/// The data for which a request must be admitted.
#[derive(Debug)]
pub enum Demand<'a> {
    /// History of a security. The ticket proves that the request passed the rate limit;
    /// [`Access::admit`] checks the quota.
    History { ticket: Ticket, symbol: &'a Symbol },
    /// Market data of one market, other than history.
    Quotes { caller: &'a Caller, market: Right },
    /// Data available to every active account, such as its profile or the calendars.
    Open { caller: &'a Caller },
}

/// Why a caller may not act as an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOperator {
    #[error("this requires the operator role")]
    Role,
    #[error("OAuth clients may not do this: use the API key of the account")]
    Program,
    #[error("this is not allowed with a token in the URL: send the token in a header")]
    Address,
}

/// Proof that a history request has passed the rate limit. Valid for one request.
#[derive(Debug)]
#[must_use = "a ticket has been counted; hand it to `admit`"]
pub struct Ticket(Standpoint);

impl Ticket {
    /// Returns the account as of the rate check.
    pub fn account(&self) -> &Account {
        self.0.account()
    }
}

/// An account's history rate limit and the number of requests that remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Maximum number of requests in any window of `seconds` seconds.
    pub limit: u32,
    pub seconds: u32,
    pub remaining: u32,
    /// Time until the oldest request leaves the window and one more is allowed; zero if the window
    /// is empty.
    pub more_in: Duration,
}

/// Proof that a request may be answered: the account is active and the credentials cover the scope.
/// Only [`Access`] creates permits. If answers are counted, pass the permit to [`Access::spend`]
/// after the answer is prepared and before it is sent.
#[derive(Debug)]
#[must_use = "a permit that is not spent leaves the quota uncharged"]
pub struct Permit {
    standpoint: Standpoint,
    /// The level to record, if it differs from the level last recorded in the database.
    unrecorded: Option<UnrecordedLevel>,
    charge: Option<Charge>,
    /// Time of admission by the market clock.
    now: Timestamp,
}

/// The security that [`Access::spend`] charges to the monthly quota.
#[derive(Debug)]
struct Charge {
    symbol: Symbol,
}

impl Permit {
    /// Returns a permit for an active account whose level has not been determined.
    pub(crate) fn of(version: i64, account: Arc<Account>, now: Timestamp) -> Permit {
        let standpoint = Standpoint::Current { version, account };
        Permit { standpoint, unrecorded: None, charge: None, now }
    }

    /// Returns an admission cache for further requests by the same caller, so that the account is
    /// not looked up again.
    pub fn admission_cache(&self, caller: &Caller) -> AdmissionCache {
        let standpoint = match &self.standpoint {
            // Unrecorded levels are not cached.
            Standpoint::Graded(grade) if self.unrecorded.is_some() => {
                Standpoint::Current { version: grade.version, account: Arc::clone(&grade.account) }
            }
            known => known.clone(),
        };
        AdmissionCache::of(caller, standpoint)
    }

    /// Returns the admitted account as of the time of admission.
    pub fn account(&self) -> &Arc<Account> {
        self.standpoint.account()
    }

    /// Returns whether [`Access::spend`] will neither charge nor write anything, and so will not
    /// block.
    pub fn is_free(&self) -> bool {
        let is_graded = matches!(self.standpoint, Standpoint::Graded(_));
        is_graded && self.charge.is_none() && self.unrecorded.is_none()
    }

    /// Returns whether [`Access::spend`] will charge a security to the account's monthly quota.
    pub fn is_charged(&self) -> bool {
        self.charge.is_some()
    }

    /// Returns whether the account held a right at the time of admission and, if not, why.
    pub fn hold(&self, right: Right) -> Hold {
        self.account().rights.hold(right, self.now)
    }

    pub fn holds(&self, right: Right) -> bool {
        self.hold(right) == Hold::Held
    }

    /// Returns whether the account may receive overnight candles. They are also omitted, without an
    /// error, if the connection has not requested them.
    pub fn overnight(&self) -> bool {
        self.holds(Right::UsOvernight)
    }
}

/// Why a request was refused. The error message is sent to the caller.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("more than {requests} history requests in {seconds} s: try again in {}", tenths_up(*retry_after))]
    TooFast { requests: u32, seconds: u32, retry_after: Duration },
    #[error("more than {calls} calls in a second: try again in {}", tenths_up(*retry_after))]
    TooManyCalls { calls: u32, retry_after: Duration },
    #[error("{}", no_access(*right, *hold))]
    NoAccess { right: Right, hold: Hold },
    #[error(
        "this account has used {used} of {limit} securities in {month} ({}): these stay available, others \
         become available on {resets} (Hong Kong time)",
        if *own_quota { format!("level {level}, with its own limit") } else { format!("level {level}") }
    )]
    QuotaSpent {
        used: u32,
        limit: u32,
        month: Month,
        level: Level,
        /// Whether the limit is set for this account rather than by its level.
        own_quota: bool,
        resets: Date,
    },
    #[error("this account has been revoked")]
    Revoked,
    #[error("the access token lacks the scope {}: sign in again and request openapi", scope.as_str())]
    ScopeMissing { scope: Scope },
    #[error(transparent)]
    NotOperator(NotOperator),
    /// The database is unreachable, so the charge cannot be recorded. Nothing was charged.
    #[error(
        "new securities cannot be charged at the moment, because the database is unreachable: securities \
         already charged this month stay available; try again later, nothing was charged"
    )]
    Unchargeable,
    #[error("the service failed to check what this account may do: try again")]
    Failed(#[source] AccessError),
}

impl<E: Into<AccessError>> From<E> for Refusal {
    fn from(error: E) -> Refusal {
        Refusal::Failed(error.into())
    }
}

/// Checks that the caller's credentials include a scope and that the account's role permits it.
fn within(caller: &Caller, account: &Account, scope: Scope) -> Result<(), Refusal> {
    let lacks = match (scope, account.role) {
        (Scope::Operator, Role::User) => NotOperator::Role,
        (Scope::Operator, Role::Operator) if caller.has(scope) => return Ok(()),
        // OAuth consent never includes the operator scope.
        (Scope::Operator, Role::Operator) if caller.is_oauth() => NotOperator::Program,
        (Scope::Operator, Role::Operator) => NotOperator::Address,
        // The rows of a feed are visible to all accounts, so only an operator may permit ingest.
        (Scope::Ingest, Role::User) if caller.has(scope) => NotOperator::Role,
        (Scope::Ingest, Role::Operator) if caller.has(scope) => return Ok(()),
        (Scope::Quote | Scope::Trade | Scope::Account, _) if caller.has(scope) => return Ok(()),
        (Scope::Quote | Scope::Trade | Scope::Account | Scope::Ingest, _) => {
            return Err(Refusal::ScopeMissing { scope });
        }
    };
    Err(Refusal::NotOperator(lacks))
}

impl Access {
    /// Admits a caller to a scope, without checking rate limits, quotas or market rights. A request
    /// that needs those checks continues with [`Permit::admission_cache`]. `now` is the time by the
    /// market clock.
    pub fn admit_within(
        &self,
        caller: &Caller,
        scope: Scope,
        look: Freshness,
        now: Timestamp,
    ) -> Result<Permit, Refusal> {
        let (version, account) = self.standing_at(caller, look)?.ok_or(Refusal::Revoked)?;
        within(caller, &account, scope)?;
        Ok(Permit::of(version, account, now))
    }

    /// Admits the local user, who has opened the store on the command line, to an account without
    /// credentials. Also admits the user to revoked accounts. Returns `None` if the account does
    /// not exist. `now` is the time by the market clock.
    pub fn admit_in_process(
        &self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<Option<(Caller, Permit)>, AccessError> {
        let found = self.look(account, Freshness::Fresh)?;
        Ok(found.map(|(version, account)| {
            let caller = Caller::of(&account, Timestamp(i64::MAX)).in_process();
            (caller, Permit::of(version, account, now))
        }))
    }

    /// Checks the rate limit of a history request before the request's parameters are parsed. Every
    /// request that gets a ticket is counted, even if it fails later. A refused request is not
    /// counted, so retrying does not extend the wait.
    pub fn admit_rate(&self, caller: &Caller, uptime: Duration) -> Result<Ticket, Refusal> {
        self.admit_rate_of(caller, 1, Freshness::Fresh, uptime)
    }

    /// Like [`Access::admit_rate`], but counts `calls` requests together, or none if they exceed
    /// the limit. A value above [`Allowance::limit`] is always refused.
    pub fn admit_rate_of(
        &self,
        caller: &Caller,
        calls: u32,
        look: Freshness,
        uptime: Duration,
    ) -> Result<Ticket, Refusal> {
        let (version, account) = self.standing_at(caller, look)?.ok_or(Refusal::Revoked)?;
        within(caller, &account, Scope::Quote)?;
        self.count(&account, calls, uptime)?;
        Ok(Ticket(Standpoint::Current { version, account }))
    }

    /// Like [`Access::admit_rate_of`], but looks up the account in the connection's admission cache
    /// first and uses [`Freshness::Recent`].
    pub fn admit_rate_again(
        &self,
        caller: &Caller,
        calls: u32,
        cache: &AdmissionCache,
        uptime: Duration,
    ) -> Result<Ticket, Refusal> {
        match self.seen().and_then(|version| cache.standpoint(caller, version)) {
            Some(standpoint) => {
                within(caller, standpoint.account(), Scope::Quote)?;
                self.count(standpoint.account(), calls, uptime)?;
                Ok(Ticket(standpoint.clone()))
            }
            None => self.admit_rate_of(caller, calls, Freshness::Recent, uptime),
        }
    }

    /// Returns the account whose rate limit and quota apply to an account.
    pub(crate) fn payer(&self, account: &Arc<Account>) -> Result<Arc<Account>, AccessError> {
        if account.charged() == account.id {
            return Ok(Arc::clone(account));
        }
        let payer = self.look(account.charged(), Freshness::Recent)?;
        // The owner of a world is never deleted.
        Ok(payer.map_or_else(|| Arc::clone(account), |(_, payer)| payer))
    }

    fn count(&self, account: &Arc<Account>, calls: u32, uptime: Duration) -> Result<(), Refusal> {
        let account = self.payer(account)?;
        let RateRule::Window { requests, seconds } = account.terms.rate_rule() else { return Ok(()) };
        let pass = self.limits.pass_rate(
            &self.cluster,
            account.id,
            RateLimit::of_seconds(requests, seconds),
            calls,
            uptime,
        )?;
        pass.map_err(|retry_after| Refusal::TooFast { requests, seconds, retry_after })
    }

    /// Checks the account's general rate limit. This is the first step of every quote command
    /// except history.
    pub fn admit_call(
        &self,
        caller: &Caller,
        rule: CallRule,
        look: Freshness,
        uptime: Duration,
    ) -> Result<(), Refusal> {
        let (_, account) = self.standing_at(caller, look)?.ok_or(Refusal::Revoked)?;
        self.count_call(&account, rule, uptime)
    }

    /// Like [`Access::admit_call`], but looks up the account in the connection's admission cache
    /// first and uses [`Freshness::Recent`].
    pub fn admit_call_again(
        &self,
        caller: &Caller,
        rule: CallRule,
        cache: &AdmissionCache,
        uptime: Duration,
    ) -> Result<(), Refusal> {
        match self.seen().and_then(|version| cache.standpoint(caller, version)) {
            Some(standpoint) => self.count_call(standpoint.account(), rule, uptime),
            None => self.admit_call(caller, rule, Freshness::Recent, uptime),
        }
    }

    fn count_call(&self, account: &Arc<Account>, rule: CallRule, uptime: Duration) -> Result<(), Refusal> {
        let account = self.payer(account)?;
        if account.terms.rate_rule() == RateRule::Unlimited {
            return Ok(());
        }
        let calls = rule.per_second;
        let pass = self.limits.pass_call(&self.cluster, account.id, calls, uptime)?;
        pass.map_err(|retry_after| Refusal::TooManyCalls { calls, retry_after })
    }

    /// Returns whether the caller's account exists and is not revoked, and the caller's session or
    /// OAuth token family has not ended.
    pub fn is_valid(&self, caller: &Caller, look: Freshness) -> Result<bool, AccessError> {
        Ok(self.standing_at(caller, look)?.is_some())
    }

    /// Returns whether the caller's account has the operator role and the caller's credentials
    /// include the operator scope. Uses [`Freshness::Recent`].
    pub fn is_operator(&self, caller: &Caller) -> Result<bool, AccessError> {
        let found = self.standing_at(caller, Freshness::Recent)?;
        Ok(found.is_some_and(|(_, account)| within(caller, &account, Scope::Operator).is_ok()))
    }

    /// Returns the remaining history requests of the caller's account, or `None` if the account has
    /// no rate limit or is not valid.
    pub fn allowance(&self, caller: &Caller, uptime: Duration) -> Result<Option<Allowance>, AccessError> {
        let Some((_, account)) = self.standing(caller)? else { return Ok(None) };
        let account = self.payer(&account)?;
        let RateRule::Window { requests, seconds } = account.terms.rate_rule() else { return Ok(None) };
        let (remaining, more_in) = self.limits.rate_left(
            &self.cluster,
            account.id,
            RateLimit::of_seconds(requests, seconds),
            uptime,
        )?;
        Ok(Some(Allowance { limit: requests, seconds, remaining, more_in }))
    }

    /// Admits a request after checking the account, the scope, the market right and, for history,
    /// the monthly quota. `now` is the time by the market clock.
    pub fn admit(&self, demand: Demand<'_>, now: Timestamp) -> Result<Permit, Refusal> {
        match demand {
            Demand::History { ticket, symbol } => {
                let (grade, unrecorded) = self.grade_of(ticket, symbol, now)?;
                let charge = self.charge(&grade, symbol)?;
                Ok(Permit { standpoint: Standpoint::Graded(grade), unrecorded, charge, now })
            }
            Demand::Quotes { caller, market } => {
                let (version, account) = self.standing(caller)?.ok_or(Refusal::Revoked)?;
                within(caller, &account, Scope::Quote)?;
                allow(&account, market, now)?;
                self.permit(version, account, now)
            }
            Demand::Open { caller } => {
                let (version, account) = self.standing(caller)?.ok_or(Refusal::Revoked)?;
                within(caller, &account, Scope::Quote)?;
                self.permit(version, account, now)
            }
        }
    }

    /// Like [`Access::admit`] for a history request, but uses the connection's admission cache.
    /// Refusals, unrecorded levels and unpaid securities are not cached.
    pub fn admit_again(
        &self,
        caller: &Caller,
        ticket: Ticket,
        symbol: &Symbol,
        cache: &mut AdmissionCache,
        now: Timestamp,
    ) -> Result<Permit, Refusal> {
        let (grade, unrecorded) = self.grade_of(ticket, symbol, now)?;
        let mut charge = None;
        if !cache.is_paid(&grade, symbol) {
            charge = self.charge(&grade, symbol)?;
            if charge.is_none() && unrecorded.is_none() {
                cache.learn(caller, &grade, symbol);
            }
        }
        Ok(Permit { standpoint: Standpoint::Graded(grade), unrecorded, charge, now })
    }

    /// Returns the account's level for a history request, or a refusal if the account has no right
    /// to the security's market.
    fn grade_of(
        &self,
        ticket: Ticket,
        symbol: &Symbol,
        now: Timestamp,
    ) -> Result<(Arc<Grade>, Option<UnrecordedLevel>), Refusal> {
        allow(ticket.account(), symbol.market().into(), now)?;
        Ok(match ticket.0 {
            // Unrecorded levels are never cached, so this level has been recorded.
            Standpoint::Graded(grade) if grade.day.contains(&now) => (grade, None),
            Standpoint::Graded(grade) => self.grade(grade.version, Arc::clone(&grade.account), now)?,
            Standpoint::Current { version, account } => self.grade(version, account, now)?,
        })
    }

    fn permit(&self, version: i64, account: Arc<Account>, now: Timestamp) -> Result<Permit, Refusal> {
        let (grade, unrecorded) = self.grade(version, account, now)?;
        Ok(Permit { standpoint: Standpoint::Graded(grade), unrecorded, charge: None, now })
    }

    fn grade(
        &self,
        version: i64,
        account: Arc<Account>,
        now: Timestamp,
    ) -> Result<(Arc<Grade>, Option<UnrecordedLevel>), AccessError> {
        let (standing, unrecorded) = self.standing_of(version, &*self.payer(&account)?, now)?;
        let days = &self.levels.standings.days;
        let today = days.today(now);
        let tomorrow = today.tomorrow().map_or(Timestamp(i64::MAX), |next| days.midnight(next));
        let (day, month) = (days.midnight(today)..tomorrow, Month::of(today));
        Ok((Arc::new(Grade { version, account, standing, day, month }), unrecorded))
    }

    /// Returns the account's level at the time of admission.
    pub fn standing_for(&self, permit: &Permit) -> Result<Arc<Standing>, AccessError> {
        match &permit.standpoint {
            Standpoint::Graded(grade) => Ok(Arc::clone(&grade.standing)),
            Standpoint::Current { version, account } => {
                Ok(self.standing_of(*version, &*self.payer(account)?, permit.now)?.0)
            }
        }
    }

    /// Charges the account for a prepared answer. The first answer for a security in a month is
    /// charged durably before this function returns; later answers for that security are free. If
    /// two requests race for the last unit of the quota, the second is refused here. `now` is the
    /// time by the machine's clock, for the audit.
    pub fn spend(&self, permit: Permit, now: Timestamp) -> Result<(), Refusal> {
        let Permit { standpoint, unrecorded, charge, now: at } = permit;
        let (grade, unrecorded) = match standpoint {
            Standpoint::Graded(grade) => (grade, unrecorded),
            Standpoint::Current { version, account } => self.grade(version, account, at)?,
        };
        let Grade { version, ref account, ref standing, month, .. } = *grade;
        // A level change that cannot be recorded now is detected again by a later request.
        if let Some(unrecorded) = unrecorded.filter(|_| !self.cluster.health.is_unreachable()) {
            let change = (account.charged(), Arc::clone(standing), unrecorded);
            match briefly(|| self.record_levels(&[change], &Actor::Service, now)) {
                Err(AccessError::Store(error)) if error.is_unanswered() || error.is_full() => {
                    self.cluster.note_unreachable(&error);
                }
                recorded => recorded?,
            }
        }
        let Some(Charge { symbol }) = charge else { return Ok(()) };
        if self.cluster.health.is_unreachable() {
            return Err(Refusal::Unchargeable);
        }
        let spend =
            self.accounts.spend(account.charged(), &month.to_string(), &symbol, standing.limit, (at, now));
        match self.cluster.check_query(spend).map_err(unchargeable)? {
            Spend::Free | Spend::Charged { .. } => {
                self.limits.paid.paid(version, account.charged(), month, symbol);
                Ok(())
            }
            Spend::Refused { used } => Err(spent(standing, month, used)),
        }
    }

    /// Returns the charge for an answer, or `None` if the account has already paid for the security
    /// this month. Refuses if the monthly quota is used up or the database is unreachable.
    fn charge(&self, grade: &Grade, symbol: &Symbol) -> Result<Option<Charge>, Refusal> {
        let Grade { version, ref account, ref standing, month, .. } = *grade;
        let payer = account.charged();
        if self.limits.paid.is_paid(self.cluster.health.learnt(version), payer, month, symbol) {
            return Ok(None);
        }
        if self.cluster.health.is_unreachable() {
            return Err(Refusal::Unchargeable);
        }
        let used = self.cluster.check_query(self.accounts.used(payer, &month.to_string(), symbol));
        let MonthUsage { counted, total } = used.map_err(unchargeable)?;
        if counted {
            self.limits.paid.paid(version, payer, month, symbol.clone());
            return Ok(None);
        }
        if total >= standing.limit {
            return Err(spent(standing, month, total));
        }
        Ok(Some(Charge { symbol: symbol.clone() }))
    }
}

/// Maps an unreachable database to [`Refusal::Unchargeable`], and any other error to
/// [`Refusal::Failed`].
fn unchargeable(error: AccessError) -> Refusal {
    if error.is_unreachable() { Refusal::Unchargeable } else { Refusal::Failed(error) }
}

fn allow(account: &Account, right: Right, now: Timestamp) -> Result<(), Refusal> {
    match account.rights.hold(right, now) {
        Hold::Held => Ok(()),
        hold => Err(Refusal::NoAccess { right, hold }),
    }
}

fn spent(standing: &Standing, month: Month, used: u32) -> Refusal {
    let Standing { level, limit, own_quota, .. } = *standing;
    Refusal::QuotaSpent { used, limit, month, level, own_quota, resets: month.next() }
}

fn no_access(right: Right, hold: Hold) -> String {
    match hold {
        Hold::Never | Hold::Held => {
            format!("this account lacks the right {right}: ask the operator to grant it")
        }
        Hold::Begins(at) => {
            format!("the right {right} of this account begins {at}: wait, or ask the operator")
        }
        Hold::Ended(at) => {
            format!("the right {right} of this account ended {at}: ask the operator to renew it")
        }
    }
}

/// Formats a wait in seconds with one decimal, rounded up so that a client that waits this long
/// does not retry too early.
fn tenths_up(wait: Duration) -> String {
    let tenths = wait.as_nanos().div_ceil(100_000_000);
    format!("{}.{} s", tenths / 10, tenths % 10)
}
