//! Removal of expired rows. Runs as a job on one node at a time.

use super::single_use::{password_sql, signature_sql};
use super::{Shared, arrivals, guards, node, paces, slots};
use crate::engine::StoreError;
use market::Timestamp;

const MINUTE_US: i64 = 60_000_000;
/// Time for which expired passwords are retained, to distinguish them from unknown passwords.
const PASSWORDS_KEPT_US: i64 = 10 * MINUTE_US;
/// Time for which clients' gateways are retained. Equal to the validity of session ids, which is a
/// day.
const SESSIONS_KEPT_US: i64 = 24 * 60 * MINUTE_US;
/// Time for which missed trades are sent again.
const MISSED_KEPT_US: i64 = 10 * MINUTE_US;
/// Time for which withdrawals of rights are retained.
const WITHDRAWALS_KEPT_US: i64 = 2 * 60 * MINUTE_US;
/// Time for which arrivals of late candles are retained. Longer than any query reads back.
const ARRIVALS_KEPT_S: i64 = 8 * 86_400;
/// Time for which rate windows are retained. Longer than the window of any rate limit.
const RATES_KEPT_US: i64 = 2 * 60 * MINUTE_US;

impl Shared {
    /// Removes expired rows, except those of [`Self::sweep_windows`]. `now` is wall-clock time,
    /// used for arrivals.
    pub fn sweep(&self, now: Timestamp) -> Result<(), StoreError> {
        let db = self.quick();
        let now_us: i64 = db.one(paces::sql::NOW, [], |row| row.get(0))?;
        db.run(password_sql::SWEEP, [now_us - PASSWORDS_KEPT_US])?;
        db.run(paces::sql::SWEEP, [now_us])?;
        db.run(guards::sql::SWEEP, [now_us])?;
        db.run(slots::sql::SWEEP_CLIENTS, [now_us - SESSIONS_KEPT_US])?;
        db.run(slots::sql::SWEEP_MISSED, [now_us - MISSED_KEPT_US])?;
        db.run(signature_sql::SWEEP, [])?;
        db.run(node::sql::SWEEP_WITHDRAWALS, [now_us - WITHDRAWALS_KEPT_US])?;
        db.run(arrivals::SWEEP, [now.0 - ARRIVALS_KEPT_S])?;
        db.run(node::sql::SWEEP, [])?;
        db.run(slots::sql::SWEEP, [])?;
        Ok(())
    }

    /// Removes the rate windows and token buckets of idle accounts, for a range of account ids that
    /// starts at `from`. Returns the start of the next range, or `None` after the last range.
    pub fn sweep_windows(&self, from: i64) -> Result<Option<i64>, StoreError> {
        let now_us: i64 = self.quick().one(paces::sql::NOW, [], |row| row.get(0))?;
        self.sweep_rates(from, now_us - RATES_KEPT_US)
    }
}
