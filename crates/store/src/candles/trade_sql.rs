//! SQL statements for trades. The dialect is described in `sql.rs`.

use crate::engine::statements::statements;

macro_rules! day_columns {
    () => {
        "symbol, day, row_count, block_count, byte_count, first_at, last_at, version, next_day, \
         large_percent, medium_percent, large_from, medium_from"
    };
}
macro_rules! entry_columns {
    () => {
        "body_id, first_at, last_at, row_count, byte_count, tail, place"
    };
}

statements! {
    for crate::engine::migrations::ALL;
    DAYS_BACK: "list the days with trades", concat!("select ", day_columns!(),
        " from sealed_trade_day where symbol = $1 and day <= $2 order by day desc limit $3");
    DAYS: "list the days with trades", concat!("select ", day_columns!(),
        " from sealed_trade_day where symbol = $1 order by day");
    DAY_COUNT: "read a security", "select trade_day_count from sealed_security where symbol = $1";
    COUNT_DAYS: "count the days with trades", "select count(day) from sealed_trade_day where symbol = $1";
    SYMBOLS: "list the symbols with trades",
        "select symbol, count(*), cast(sum(row_count) as bigint), cast(sum(byte_count) as bigint), min(day), max(day) \
         from sealed_trade_day group by symbol order by symbol";
    ENTRIES: "list the blocks of a day", concat!("select ", entry_columns!(),
        " from sealed_trade_index where symbol = $1 and day = $2 order by place");
    BODY: "read a block of trades", "select body from trade_body where id = $1";

    REMOVE_ENTRIES: "remove blocks of trades",
        "delete from trade_index where symbol = $1 and day = $2 and place >= $3 returning body_id";
    REMOVE_BODY: "remove a block of trades", "delete from trade_body where id = $1"
        => "insert into retired_body (kind, id, at_us) \
         values (1, $1, cast(extract(epoch from clock_timestamp()) * 1000000 as bigint))";
    ADD_BODY: "write a block of trades", "insert into trade_body (id, body) values ($1, $2)";
    ADD_ENTRY: "write a block of trades",
        "insert into trade_index (symbol, day, place, first_at, last_at, row_count, byte_count, body_id, tail) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    ADD_DAY: "write a day of trades",
        "insert into trade_day (symbol, day, row_count, block_count, byte_count, first_at, last_at, version, next_day) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, \
         (select min(day) from trade_day where symbol = $1 and day > $2))";
    PUT_DAY: "write a day of trades",
        "update trade_day set row_count = $1, block_count = $2, byte_count = $3, first_at = $4, last_at = $5, \
         version = $6 where symbol = $7 and day = $8";
    LINK_DAY: "link a day of trades to the next",
        "update trade_day set next_day = $1 where symbol = $2 and day = \
         (select max(day) from trade_day where symbol = $2 and day < $1)";
    COUNT_DAY: "count a day of trades", "update security set trade_day_count = trade_day_count + 1 where symbol = $1";
    FORGET_CLASSES: "delete the sizes of trades",
        "update trade_day set large_percent = null, medium_percent = null, large_from = null, medium_from = null \
         where symbol = $1 and day > $2 and large_percent is not null";
    PUT_CLASSES: "write the sizes of trades",
        "update trade_day set large_percent = $1, medium_percent = $2, large_from = $3, medium_from = $4 \
         where symbol = $5 and day = $6";

    ADD_SOURCE: "write the trades of an import",
        "insert into import_trade (import_id, symbol, row_count, first_at, last_at) values ($1, $2, $3, $4, $5) \
         on conflict (symbol, import_id) do update set \
         row_count = import_trade.row_count + excluded.row_count, \
         first_at = case when excluded.first_at < import_trade.first_at \
         then excluded.first_at else import_trade.first_at end, \
         last_at = case when excluded.last_at > import_trade.last_at \
         then excluded.last_at else import_trade.last_at end";
    SOURCES: "list the sources of trades",
        "select i.file, i.started_at, t.row_count, t.first_at, t.last_at, i.id from import_trade t \
         join import i on i.id = t.import_id where t.symbol = $1 order by i.id";

    // These statements read without verifying seals, for the consistency check.
    RAW_DAYS: "list the days with trades",
        concat!("select ", day_columns!(), " from trade_day order by symbol, day");
    RAW_ENTRIES: "list the blocks of a day", concat!("select ", entry_columns!(),
        " from trade_index where symbol = $1 and day = $2 order by place");
    RAW_TOTAL: "sum the trades", "select cast(coalesce(sum(row_count), 0) as bigint) from trade_day";
    MISCOUNTED: "count the days with trades",
        "select symbol, trade_day_count, (select count(*) from trade_day d where d.symbol = z.symbol) from security z \
         where trade_day_count <> (select count(*) from trade_day d where d.symbol = z.symbol) order by symbol limit $1";
    ORPHANS: "find trades without a day",
        "select i.symbol, i.day from trade_index i left join trade_day d on d.symbol = i.symbol and d.day = i.day \
         where d.day is null group by i.symbol, i.day order by i.symbol, i.day limit $1";
    ORPHAN_BODIES: "find bodies without an entry",
        "select b.id from trade_body b left join trade_index i on i.body_id = b.id where i.body_id is null \
         order by b.id limit $1"
        => "select b.id from trade_body b left join trade_index i on i.body_id = b.id \
         left join retired_body r on r.kind = 1 and r.id = b.id where i.body_id is null and r.id is null \
         order by b.id limit $1";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_trades_of_a_day_uses_the_indexes() {
        let conn = crate::engine::statements::schema_of(crate::engine::migrations::ALL);
        for sql in [DAYS_BACK, DAYS, DAY_COUNT, ENTRIES, BODY] {
            let plan = crate::engine::statements::plan(&conn, &sql);
            let grows = plan.iter().any(|step| step.contains("SCAN") || step.contains("TEMP"));
            assert!(!grows, "{plan:#?}\n{}", sql.text);
        }
    }
}
