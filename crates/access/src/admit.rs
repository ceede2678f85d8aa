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

/// What a request wants.
#[derive(Debug)]
pub enum Demand<'a> {
    /// The history of a security: counted by rate (the ticket) and by quota.
    History { ticket: Ticket, symbol: &'a Symbol },
    /// Other quotes of one market.
    Quotes { caller: &'a Caller, market: Right },
    /// Anything open to every active account: its profile, calendars.
    Open { caller: &'a Caller },
}

/// Why a caller may not act as an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOperator {
    #[error("this is for accounts with the operator's role")]
    Role,
    #[error("a program that signed in with OAuth may not do this: use the API key of the account")]
    Program,
    #[error("this may not be done with a token in the address: send it as a header")]
    Address,
}

/// A history request that was not too fast. It is good for this one request.
#[derive(Debug)]
#[must_use = "a ticket has been counted; hand it to `admit`"]
pub struct Ticket(Standpoint);

impl Ticket {
    /// The account of the request, at the time of the ticket.
    pub fn account(&self) -> &Account {
        self.0.account()
    }
}

/// What remains of an account's rate window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Requests in any window of `seconds`.
    pub limit: u32,
    pub seconds: u32,
    pub remaining: u32,
    /// Until the oldest request leaves the window; zero when none is in it.
    pub more_in: Duration,
}

/// Proof that a request may be answered: its account is active, and its credentials cover the
/// scope. Only [`Access`] makes one. Where answers are counted, it is given back with
/// [`Access::spend`] when the answer is made, and before it is sent.
#[derive(Debug)]
#[must_use = "a permit that is not spent leaves the quota uncharged"]
pub struct Permit {
    standpoint: Standpoint,
    /// The level differs from the recorded one, and has to be recorded.
    unrecorded: Option<UnrecordedLevel>,
    charge: Option<Charge>,
    /// The market's time.
    now: Timestamp,
}

/// What the answer will cost.
#[derive(Debug)]
struct Charge {
    symbol: Symbol,
}

impl Permit {
    /// For an active account whose level has not been looked up.
    pub(crate) fn of(version: i64, account: Arc<Account>, now: Timestamp) -> Permit {
        let standpoint = Standpoint::Current { version, account };
        Permit { standpoint, unrecorded: None, charge: None, now }
    }

    /// An admission cache for further requests of the same caller, so that the account is not
    /// looked up again.
    pub fn admission_cache(&self, caller: &Caller) -> AdmissionCache {
        let standpoint = match &self.standpoint {
            // A level that is not recorded yet is not cached.
            Standpoint::Graded(grade) if self.unrecorded.is_some() => {
                Standpoint::Current { version: grade.version, account: Arc::clone(&grade.account) }
            }
            known => known.clone(),
        };
        AdmissionCache::of(caller, standpoint)
    }

    /// The admitted account, at the time of the permit.
    pub fn account(&self) -> &Arc<Account> {
        self.standpoint.account()
    }

    /// Whether spending it is known to cost nothing, and so does not block.
    pub fn is_free(&self) -> bool {
        let is_graded = matches!(self.standpoint, Standpoint::Graded(_));
        is_graded && self.charge.is_none() && self.unrecorded.is_none()
    }

    /// Whether spending it charges a security to the account's month.
    pub fn is_charged(&self) -> bool {
        self.charge.is_some()
    }

    /// Whether a right held then, and if not, why.
    pub fn hold(&self, right: Right) -> Hold {
        self.account().rights.hold(right, self.now)
    }

    pub fn holds(&self, right: Right) -> bool {
        self.hold(right) == Hold::Held
    }

    /// Whether overnight candles may be shown. A connection must also have requested them;
    /// otherwise they are left out, which is not a refusal.
    pub fn overnight(&self) -> bool {
        self.holds(Right::UsOvernight)
    }
}

/// Why a request is not answered. The messages are for the caller.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("more than {requests} history requests in {seconds} s: try again in {}", tenths_up(*retry_after))]
    TooFast { requests: u32, seconds: u32, retry_after: Duration },
    #[error("more than {calls} calls in a second: try again in {}", tenths_up(*retry_after))]
    TooManyCalls { calls: u32, retry_after: Duration },
    #[error("{}", no_access(*right, *hold))]
    NoAccess { right: Right, hold: Hold },
    #[error(
        "this account has used {used} of {limit} securities in {month} ({}): those stay available, others from {resets} \
         (Hong Kong time)",
        if *own_quota { format!("level {level}, with a number of its own") } else { format!("level {level}") }
    )]
    QuotaSpent {
        used: u32,
        limit: u32,
        month: Month,
        level: Level,
        /// The limit is set for the account, not by its level.
        own_quota: bool,
        resets: Date,
    },
    #[error("this account has been revoked")]
    Revoked,
    #[error("the access token is not good for the scope {}: sign in again and ask for openapi", scope.as_str())]
    ScopeMissing { scope: Scope },
    #[error(transparent)]
    NotOperator(NotOperator),
    /// The database is unreachable, so a charge cannot be recorded. Nothing was charged.
    #[error(
        "new securities cannot be charged at the moment, because the database is away: those that this account has paid \
         for this month go on; try again later, nothing was charged"
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

/// Whether the credentials of a caller are good for a scope, and the account has what the scope needs.
fn within(caller: &Caller, account: &Account, scope: Scope) -> Result<(), Refusal> {
    let lacks = match (scope, account.role) {
        (Scope::Operator, Role::User) => NotOperator::Role,
        (Scope::Operator, Role::Operator) if caller.has(scope) => return Ok(()),
        // OAuth consent never includes the operator scope.
        (Scope::Operator, Role::Operator) if caller.is_oauth() => NotOperator::Program,
        (Scope::Operator, Role::Operator) => NotOperator::Address,
        (Scope::Quote | Scope::Trade | Scope::Account, _) if caller.has(scope) => return Ok(()),
        (Scope::Quote | Scope::Trade | Scope::Account, _) => return Err(Refusal::ScopeMissing { scope }),
    };
    Err(Refusal::NotOperator(lacks))
}

impl Access {
    /// Admits a caller to a scope. That is enough where no rate limit, quota or market right applies; other requests continue from
    /// this permit ([`Permit::admission_cache`]). `now` is the market's.
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

    /// Admits the user of this process, who has opened the store, to an account in it: for a command
    /// line, without credentials. A revoked account can still be read. `None` if there is no such
    /// account. `now` is the market's.
    pub fn admit_in_process(
        &self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<Option<(Caller, Permit)>, AccessError> {
        let found = self.look(account, Freshness::Fresh)?;
        Ok(found.map(|(version, account)| {
            let caller = Caller::new(account.id, account.epoch, Timestamp(i64::MAX)).in_process();
            (caller, Permit::of(version, account, now))
        }))
    }

    /// The first step of a history request, before its parameters are parsed. The window counts
    /// requests that get this ticket, whatever their outcome; a request refused here is not
    /// counted, so retrying does not extend the wait.
    pub fn admit_rate(&self, caller: &Caller, uptime: Duration) -> Result<Ticket, Refusal> {
        self.admit_rate_of(caller, 1, Freshness::Fresh, uptime)
    }

    /// The same for a request that does the work of several: all of them are counted, or none. More `calls` than
    /// [`Allowance::limit`] are refused whenever they come.
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

    /// The same for a connection with an admission cache, by [`Freshness::Recent`].
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

    fn count(&self, account: &Account, calls: u32, uptime: Duration) -> Result<(), Refusal> {
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

    /// The first step of every other quote command: checks the general rate limit of the account.
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

    /// The same for a connection with an admission cache, by [`Freshness::Recent`].
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

    fn count_call(&self, account: &Account, rule: CallRule, uptime: Duration) -> Result<(), Refusal> {
        if account.terms.rate_rule() == RateRule::Unlimited {
            return Ok(());
        }
        let calls = rule.per_second;
        let pass = self.limits.pass_call(&self.cluster, account.id, calls, uptime)?;
        pass.map_err(|retry_after| Refusal::TooManyCalls { calls, retry_after })
    }

    /// Whether the account of a caller exists and has not been revoked, and its sign-in has not
    /// been ended.
    pub fn is_valid(&self, caller: &Caller, look: Freshness) -> Result<bool, AccessError> {
        Ok(self.standing_at(caller, look)?.is_some())
    }

    /// Whether a caller is an operator, by credentials with that scope and [`Freshness::Recent`].
    pub fn is_operator(&self, caller: &Caller) -> Result<bool, AccessError> {
        let found = self.standing_at(caller, Freshness::Recent)?;
        Ok(found.is_some_and(|(_, account)| within(caller, &account, Scope::Operator).is_ok()))
    }

    /// How many history requests a caller may make now; `None` without a rule, or without an account.
    pub fn allowance(&self, caller: &Caller, uptime: Duration) -> Result<Option<Allowance>, AccessError> {
        let Some((_, account)) = self.standing(caller)? else { return Ok(None) };
        let RateRule::Window { requests, seconds } = account.terms.rate_rule() else { return Ok(None) };
        let (remaining, more_in) = self.limits.rate_left(
            &self.cluster,
            account.id,
            RateLimit::of_seconds(requests, seconds),
            uptime,
        )?;
        Ok(Some(Allowance { limit: requests, seconds, remaining, more_in }))
    }

    /// The one entry point: checks access first, then whether the month has room. `now` is the
    /// market's.
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

    /// The same for a history request on a connection with an admission cache. Refusals, levels
    /// that are not recorded yet and securities that are still to be paid for are not cached.
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

    /// The level at which a history request is answered, if its account may see the market.
    fn grade_of(
        &self,
        ticket: Ticket,
        symbol: &Symbol,
        now: Timestamp,
    ) -> Result<(Arc<Grade>, Option<UnrecordedLevel>), Refusal> {
        allow(ticket.account(), symbol.market().into(), now)?;
        Ok(match ticket.0 {
            // An unrecorded level is never cached, so this one is recorded.
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
        let (standing, unrecorded) = self.standing_of(version, &account, now)?;
        let days = &self.levels.standings.days;
        let today = days.today(now);
        let tomorrow = today.tomorrow().map_or(Timestamp(i64::MAX), |next| days.midnight(next));
        let (day, month) = (days.midnight(today)..tomorrow, Month::of(today));
        Ok((Arc::new(Grade { version, account, standing, day, month }), unrecorded))
    }

    /// The level of an account that has a permit, as of then.
    pub fn standing_for(&self, permit: &Permit) -> Result<Arc<Standing>, AccessError> {
        match &permit.standpoint {
            Standpoint::Graded(grade) => Ok(Arc::clone(&grade.standing)),
            Standpoint::Current { version, account } => {
                Ok(self.standing_of(*version, account, permit.now)?.0)
            }
        }
    }

    /// Pays for an answer that has been made. The first answer for a security in a month is on disk
    /// before this returns; the others cost nothing. Of two requests that race for the last free
    /// place one is refused here. `now` is the machine's, for the audit.
    pub fn spend(&self, permit: Permit, now: Timestamp) -> Result<(), Refusal> {
        let Permit { standpoint, unrecorded, charge, now: at } = permit;
        let (grade, unrecorded) = match standpoint {
            Standpoint::Graded(grade) => (grade, unrecorded),
            Standpoint::Current { version, account } => self.grade(version, account, at)?,
        };
        let Grade { version, ref account, ref standing, month, .. } = *grade;
        // A change of level that cannot be recorded now is found again later: nothing is lost.
        if let Some(unrecorded) = unrecorded.filter(|_| !self.cluster.health.is_away()) {
            let change = (account.id, Arc::clone(standing), unrecorded);
            match briefly(|| self.record_levels(&[change], &Actor::Service, now)) {
                Err(AccessError::Store(error)) if error.is_unanswered() || error.is_full() => {
                    self.cluster.note_away(&error);
                }
                recorded => recorded?,
            }
        }
        let Some(Charge { symbol }) = charge else { return Ok(()) };
        if self.cluster.health.is_away() {
            return Err(Refusal::Unchargeable);
        }
        let spend = self.accounts.spend(account.id, &month.to_string(), &symbol, standing.limit, (at, now));
        match self.cluster.asked(spend).map_err(unchargeable)? {
            Spend::Free | Spend::Charged { .. } => {
                self.limits.paid.paid(version, account.id, month, symbol);
                Ok(())
            }
            Spend::Refused { used } => Err(spent(standing, month, used)),
        }
    }

    /// The cost of an answer now, or a refusal if the month has no room.
    fn charge(&self, grade: &Grade, symbol: &Symbol) -> Result<Option<Charge>, Refusal> {
        let Grade { version, ref account, ref standing, month, .. } = *grade;
        if self.limits.paid.is_paid(self.cluster.health.learnt(version), account.id, month, symbol) {
            return Ok(None);
        }
        if self.cluster.health.is_away() {
            return Err(Refusal::Unchargeable);
        }
        let used = self.cluster.asked(self.accounts.used(account.id, &month.to_string(), symbol));
        let MonthUsage { counted, total } = used.map_err(unchargeable)?;
        if counted {
            self.limits.paid.paid(version, account.id, month, symbol.clone());
            return Ok(None);
        }
        if total >= standing.limit {
            return Err(spent(standing, month, total));
        }
        Ok(Some(Charge { symbol: symbol.clone() }))
    }
}

/// Maps an unreachable database to [`Refusal::Unchargeable`].
fn unchargeable(error: AccessError) -> Refusal {
    if error.is_away() { Refusal::Unchargeable } else { Refusal::Failed(error) }
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

/// Seconds with one decimal, rounded up: a client that waits this long is not too early.
fn tenths_up(wait: Duration) -> String {
    let tenths = wait.as_nanos().div_ceil(100_000_000);
    format!("{}.{} s", tenths / 10, tenths % 10)
}
