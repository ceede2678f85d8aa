//! Arrival times of late candles, shared by all nodes, so that every node fills waiting orders at
//! the same market time, regardless of which node receives the candle first.

use market::{Symbol, Timestamp};

use super::{Shared, within};
use crate::engine::{Fault, Row, Sql, StoreError};

const NOTE: Sql = Sql::new(
    "record late candles",
    "insert into arrival (symbol, session, stamp, arrived_at) values ($1, $2, $3, $4) \
     on conflict (symbol, session, stamp) do nothing",
);

const OF_SYMBOL: Sql = Sql::new(
    "find late candles",
    "select session, stamp, arrived_at from arrival where symbol = $1 and arrived_at > $2",
);

pub(super) const SWEEP: Sql = Sql::new("delete late candles", "delete from arrival where arrived_at < $1");

/// A candle that arrived after its effective time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Number of the trading session.
    pub session: u8,
    pub stamp: Timestamp,
    /// Time from which the candle takes effect.
    pub at: Timestamp,
}

impl Shared {
    /// Records the arrival of candles. Does not change arrivals that another node has already
    /// recorded.
    pub fn note_arrivals(&self, symbol: &Symbol, arrivals: &[Arrival]) -> Result<(), StoreError> {
        within(&self.durable(), |db| {
            for Arrival { session, stamp, at } in arrivals {
                db.run(NOTE, (symbol.as_str(), *session, stamp.0, at.0))?;
            }
            Ok(())
        })
    }

    /// Returns the candles of a symbol that take effect after `after`.
    pub fn arrivals(&self, symbol: &Symbol, after: Timestamp) -> Result<Vec<Arrival>, StoreError> {
        let read = |row: &Row<'_>| {
            let session: i64 = row.get(0)?;
            Ok(Arrival {
                session: u8::try_from(session).map_err(|_| Fault::value("session", &session.to_string()))?,
                stamp: Timestamp(row.get(1)?),
                at: Timestamp(row.get(2)?),
            })
        };
        self.durable().all(OF_SYMBOL, (symbol.as_str(), after.0), read)
    }
}
