use std::time::Duration;

use market::Timestamp;

use crate::{
    Access, Caller, Connection, ConnectionId, Denial, Lineage, Moment, Scope, Seats, Secret, Session, session,
};

/// A connection that knows who it belongs to.
#[derive(Debug)]
pub struct SignedOn {
    pub caller: Caller,
    /// Keep it as long as the connection lives: dropping it gives the seat up.
    pub connection: Connection,
    /// Always a fresh one; those issued before stay good until they expire.
    pub session: Session,
    /// The same for all connections that one client opens one after the other.
    pub lineage: Lineage,
    /// Connections of the account, this one counted.
    pub seats: Seats,
    /// Older connections of the same client, to be closed. They are not counted any more.
    pub superseded: Vec<ConnectionId>,
}

impl Access {
    /// A password with which a connection can sign on as this caller, once, within [`OTP_LIFE`](crate::OTP_LIFE). The connection and
    /// its sessions are good for the scopes of the caller. A connection is for quotes and orders, and of no use without either; a token
    /// in an address is for single answers.
    pub fn issue_otp(&self, caller: &Caller, uptime: Duration) -> Result<Secret, Denial> {
        let is_of_use = caller.has(Scope::Quote) || caller.has(Scope::Trade);
        if !is_of_use || caller.is_in_address() {
            return Err(Denial::ScopeMissing);
        }
        Ok(self.otps.issue(*caller, uptime)?)
    }

    /// Connections of the caller's account, open and allowed.
    pub fn seats(&self, caller: &Caller) -> Result<Seats, Denial> {
        let (_, account) = self.standing(caller)?.ok_or(REVOKED)?;
        Ok(Seats { online: self.registry.online(account.id), limit: account.terms.connections })
    }

    /// Signs a connection on with a one-time password. A refusal, for instance because all seats are taken, leaves the
    /// password good. `present` is what the same connection signed on with before, if it did.
    pub fn sign_on(
        &self,
        otp: &str,
        present: Option<&Connection>,
        moment: Moment,
    ) -> Result<SignedOn, Denial> {
        self.otps.redeem(otp, moment.uptime, |caller| self.seat(caller, Lineage::new()?, present, moment.now))
    }

    /// Signs a connection on with the session of an earlier one, which gives its seat up if it is still there. However
    /// often that is done, it comes to an end with the token that the first one was signed on with.
    pub fn resume(
        &self,
        session: &str,
        present: Option<&Connection>,
        now: Timestamp,
    ) -> Result<SignedOn, Denial> {
        let (caller, lineage) = session::read(&self.keys, session, now)?;
        self.seat(caller, lineage, present, now)
    }

    fn seat(
        &self,
        caller: Caller,
        lineage: Lineage,
        present: Option<&Connection>,
        now: Timestamp,
    ) -> Result<SignedOn, Denial> {
        let (_, account) = self.standing(&caller)?.ok_or(REVOKED)?;
        if caller.until() <= now {
            return Err(EXPIRED);
        }
        if let Some(family) = caller.family()
            && !self.accounts.family_stands(&family.text(), now)?
        {
            return Err(EXPIRED);
        }
        let session = session::issue(&self.keys, caller, lineage, now)?;
        let limit = account.terms.connections;
        let seated =
            self.registry.sit(account.id, lineage, present, limit).map_err(Denial::ConnectionsTaken)?;
        Ok(SignedOn {
            caller,
            connection: seated.connection,
            session,
            lineage,
            seats: Seats { online: seated.online, limit },
            superseded: seated.superseded,
        })
    }
}

const REVOKED: Denial = Denial::TokenInvalid("the account or this sign-in has been revoked");
const EXPIRED: Denial =
    Denial::TokenExpired("the access token of this connection has expired: authenticate with a new one");
