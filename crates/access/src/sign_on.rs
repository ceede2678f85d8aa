use std::sync::Arc;
use std::time::Duration;

use market::Timestamp;
use store::{Hash, MissedTrades, NewPassword, NewSlot, Shared, SlotOutcome, SlotRequest};

use crate::connection::HeldSlot;
use crate::{
    Access, Caller, Connection, ConnectionId, Denial, Lineage, Moment, Scope, Secret, Session, Slots, otp,
    session,
};

/// Transport and address of a connection, shown to its owner and to operators on every node.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotLocation<'a> {
    pub transport: &'a str,
    pub address: &'a str,
}

/// A signed-on connection and its authenticated caller.
#[derive(Debug)]
pub struct SignedOn {
    pub caller: Caller,
    /// The connection slot, released on drop.
    pub connection: Connection,
    /// A new session. Earlier sessions stay valid until they expire.
    pub session: Session,
    /// Lineage shared by all successive connections of this client.
    pub lineage: Lineage,
    /// Number of open connections of the account, including this connection, and the connection
    /// limit.
    pub slots: Slots,
    /// Older connections of the same client, which are no longer counted. The server must close
    /// them.
    pub superseded: Vec<ConnectionId>,
    /// Trades that the client's last connection did not receive, if it was to a node.
    pub missed: MissedTrades,
}

impl Access {
    /// Issues a one-time password with which a connection can sign on as this caller within
    /// [`OTP_LIFE`](crate::OTP_LIFE). The connection and its sessions have the caller's scopes.
    /// Refuses a caller without the quote or trade scope, because a connection serves nothing else,
    /// and a caller whose token was in a URL, because such tokens are for single requests.
    pub fn issue_otp(&self, caller: &Caller, uptime: Duration) -> Result<Secret, Denial> {
        let is_of_use = caller.has(Scope::Quote) || caller.has(Scope::Trade);
        if !is_of_use || caller.is_in_address() {
            return Err(Denial::ScopeMissing);
        }
        let Some(shared) = self.cluster.shared() else {
            return Ok(self.identity.otps.issue(*caller, uptime)?);
        };
        let otp = otp::new()?;
        let new = NewPassword {
            hash: &otp::hash(otp.expose()),
            account: caller.account(),
            caller: &otp::write_caller(caller),
        };
        self.cluster.check_query(shared.issue_password(&new, otp::OF_ACCOUNT_MAX))?;
        Ok(otp)
    }

    /// Returns the number of open connections of the caller's account and its connection limit.
    pub fn slots(&self, caller: &Caller) -> Result<Slots, Denial> {
        let (_, account) = self.standing(caller)?.ok_or(REVOKED)?;
        let online = match self.cluster.shared_if_reachable() {
            Some(shared) => self.cluster.check_query(shared.online(account.id))?,
            None => self.cluster.registry.online(account.id),
        };
        Ok(Slots { online, limit: account.terms.connections })
    }

    /// Signs on a connection with a one-time password. A refusal, for example because all slots are
    /// taken, does not consume the password. `present` is the slot from an earlier sign-on of the
    /// same connection, if any, and is released.
    pub fn sign_on(
        &self,
        otp: &str,
        present: Option<&Connection>,
        moment: Moment,
    ) -> Result<SignedOn, Denial> {
        self.sign_on_from(otp, present, SlotLocation::default(), moment)
    }

    /// Like [`Access::sign_on`], but also stores the transport and address of the connection.
    pub fn sign_on_from(
        &self,
        otp: &str,
        present: Option<&Connection>,
        place: SlotLocation<'_>,
        moment: Moment,
    ) -> Result<SignedOn, Denial> {
        let Some(shared) = self.cluster.shared() else {
            return self.identity.otps.redeem(otp, moment.uptime, |caller| {
                self.slot(caller, (Lineage::new()?, present, place), None, moment.now)
            });
        };
        let hash = otp::fitting_hash(otp).ok_or(otp::UNKNOWN)?;
        let issued = self.cluster.check_query(shared.issued_password(&hash))?.ok_or(otp::UNKNOWN)?;
        if issued.age >= otp::OTP_LIFE {
            return Err(otp::EXPIRED);
        }
        let caller = otp::read_caller(&issued.caller).ok_or(otp::UNKNOWN)?;
        self.slot(caller, (Lineage::new()?, present, place), Some(&hash), moment.now)
    }

    /// Signs on a connection with the session of an earlier connection, whose slot is released if
    /// that connection is still open. Resuming does not extend the session beyond the expiry of the
    /// original token.
    pub fn resume(
        &self,
        session: &str,
        present: Option<&Connection>,
        now: Timestamp,
    ) -> Result<SignedOn, Denial> {
        self.resume_from(session, present, SlotLocation::default(), now)
    }

    /// Like [`Access::resume`], but also stores the transport and address of the connection.
    pub fn resume_from(
        &self,
        session: &str,
        present: Option<&Connection>,
        place: SlotLocation<'_>,
        now: Timestamp,
    ) -> Result<SignedOn, Denial> {
        let (caller, lineage) = session::read(&self.identity.keys, session, now)?;
        self.slot(caller, (lineage, present, place), None, now)
    }

    fn slot(
        &self,
        caller: Caller,
        (lineage, present, place): (Lineage, Option<&Connection>, SlotLocation<'_>),
        password: Option<&Hash>,
        now: Timestamp,
    ) -> Result<SignedOn, Denial> {
        let (_, account) = self.standing(&caller)?.ok_or(REVOKED)?;
        let caller = caller.of_account(&account);
        if caller.until() <= now {
            return Err(EXPIRED);
        }
        // While the database is unreachable, `standing` has already checked the cached state of the
        // token family.
        if let Some(family) = caller.family()
            && !self.cluster.health.is_unreachable()
            && !self.cluster.check_query(self.accounts.family_stands(&family.text(), now))?
        {
            return Err(EXPIRED);
        }
        let session = session::issue(&self.identity.keys, caller, lineage, now)?;
        let limit = account.terms.connections;
        let with_slot = match self.cluster.shared() {
            None => self
                .cluster
                .registry
                .sit(account.id, lineage, present, limit)
                .map_err(Denial::ConnectionsTaken)?,
            Some(shared) => {
                let slot = NewSlot {
                    account: account.id,
                    lineage: lineage.0,
                    transport: place.transport.to_owned(),
                    address: place.address.to_owned(),
                    since: now,
                };
                self.sit_among_all(shared, slot, (present, limit), password)?
            }
        };
        Ok(SignedOn {
            caller,
            connection: with_slot.connection,
            session,
            lineage,
            slots: Slots { online: with_slot.online, limit },
            superseded: with_slot.superseded,
            missed: with_slot.missed,
        })
    }

    /// Takes a connection slot in the shared database. While the database is unreachable, a resumed
    /// connection gets a local slot, which is written to the database after recovery, and a sign-on
    /// with a one-time password fails.
    fn sit_among_all(
        &self,
        shared: &Arc<Shared>,
        slot: NewSlot,
        (present, limit): (Option<&Connection>, u32),
        password: Option<&Hash>,
    ) -> Result<HeldSlot, Denial> {
        if self.cluster.health.is_unreachable() && password.is_none() {
            let id = ConnectionId::alone()?;
            let with_slot = self.cluster.registry.sit_alone(id, slot, present, limit);
            return with_slot.map_err(Denial::ConnectionsTaken);
        }
        let present = present.map(|connection| connection.id().slot());
        let request = SlotRequest { slot: &slot, limit, present, password };
        match self.cluster.check_query(shared.sit(&request))? {
            SlotOutcome::HeldSlot { id, online, superseded, missed } => {
                let connection = self.cluster.registry.with_slot(ConnectionId::of_slot(id), slot);
                let superseded = superseded.into_iter().map(ConnectionId::of_slot).collect();
                Ok(HeldSlot { connection, online, superseded, missed })
            }
            SlotOutcome::Taken { online } => Err(Denial::ConnectionsTaken(Slots { online, limit })),
            SlotOutcome::PasswordUsed => Err(otp::UNKNOWN),
        }
    }
}

const REVOKED: Denial = Denial::TokenInvalid("the account or this sign-in has been revoked");
const EXPIRED: Denial =
    Denial::TokenExpired("the access token of this connection has expired: authenticate with a new one");
