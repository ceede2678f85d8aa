//! When candles arrived that came late, the same for all nodes: an order that waits for one is filled once, whichever node looks first.

use market::{Symbol, Timestamp};

use super::{Shared, within};
use crate::StoreError;
use crate::engine::{Fault, Row, Sql};

const NOTE: Sql = Sql::new(
    "note candles that came late",
    "insert into arrival (symbol, session, stamp, arrived_at) values ($1, $2, $3, $4) \
     on conflict (symbol, session, stamp) do nothing",
);

const OF_SYMBOL: Sql = Sql::new(
    "look for candles that came late",
    "select session, stamp, arrived_at from arrival where symbol = $1 and arrived_at > $2",
);

pub(super) const SWEEP: Sql =
    Sql::new("forget candles that came late", "delete from arrival where arrived_at < $1");

/// A candle that came later than it would have acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The number of its session.
    pub session: u8,
    pub stamp: Timestamp,
    /// From when on it acts.
    pub at: Timestamp,
}

impl Shared {
    /// Notes candles that this node has seen for the first time. What another one has noted before stays as it is.
    pub fn note_arrivals(&self, symbol: &Symbol, arrivals: &[Arrival]) -> Result<(), StoreError> {
        within(&self.durable(), |db| {
            for Arrival { session, stamp, at } in arrivals {
                db.run(NOTE, (symbol.as_str(), *session, stamp.0, at.0))?;
            }
            Ok(())
        })
    }

    /// Candles of a symbol that arrived after an instant.
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
