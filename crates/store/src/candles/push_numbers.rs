//! The last sequence number reserved for the pushes of each security. It is written with the merged
//! rows, so that all servers use the same number for the same state, even after a restart.

use market::Symbol;

use crate::candles::batch::Batch;
use crate::candles::view::View;
use crate::engine::{StoreError, Value};

/// Prefix of the names of the counters.
const PREFIX: &str = "push ";

impl View {
    /// Returns the last sequence number reserved for the pushes of a security. Returns `None` if no
    /// row of the security was ingested.
    pub fn push_number(&self, symbol: &Symbol) -> Result<Option<i64>, StoreError> {
        self.far().first(sql::PUSH_NUMBER, [name(symbol).as_str()], |row| row.get(0))
    }
}

impl Batch<'_> {
    /// Records the last sequence numbers reserved for securities.
    pub fn put_push_numbers<'n>(
        &mut self,
        numbers: impl IntoIterator<Item = (&'n Symbol, i64)>,
    ) -> Result<(), StoreError> {
        let named: Vec<(String, i64)> =
            numbers.into_iter().map(|(symbol, number)| (name(symbol), number)).collect();
        self.write(|batch| {
            let rows: Vec<[Value<'_>; 2]> =
                named.iter().map(|(name, number)| [Value::Text(name), Value::Int(*number)]).collect();
            batch.db().run_together(sql::PUT_PUSH_NUMBER, rows.iter().map(<[Value<'_>; 2]>::as_slice))
        })
    }
}

fn name(symbol: &Symbol) -> String {
    format!("{PREFIX}{symbol}")
}

mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ALL;
        PUSH_NUMBER: "read the last push of a security", "select next from counter where name = $1";
        PUT_PUSH_NUMBER: "write the last push of a security",
            "insert into counter (name, next) values ($1, $2) on conflict (name) do update \
             set next = case when counter.next < excluded.next then excluded.next else counter.next end"
            => "insert into counter (name, next) \
             select * from unnest(cast($1 as text[]), cast($2 as bigint[])) \
             on conflict (name) do update set next = greatest(counter.next, excluded.next)";
    }
}
