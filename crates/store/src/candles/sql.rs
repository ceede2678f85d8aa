//! SQL statements for candles, in the dialect that SQLite and PostgreSQL share: `$1` placeholders
//! numbered by first use, ids and times assigned by this program, `on conflict`, `returning`.
//! Statements for only one engine do not belong in this file.
//!
//! PostgreSQL must infer all types at prepare time, so a parameter that is only compared with null
//! is cast. A sum of bigints is also cast, because its type is numeric. Without `order by` no order
//! is guaranteed, even if an index is used.

use crate::engine::Sql;
use crate::engine::statements::statements;

macro_rules! security_columns {
    () => {
        "symbol, name_en, name_cn, name_hk, exchange, currency, lot_size, board, listing_date, decimals, \
         total_shares, circulating_shares, hk_shares, eps, eps_ttm, bps, dividend_yield, kind, delisted_on, \
         dated_figures"
    };
}
macro_rules! series_columns {
    () => {
        "symbol, grain, lane, row_count, block_count, byte_count, first_at, last_at, version"
    };
}
macro_rules! block_columns {
    () => {
        "b.body_id, b.first_at, b.last_at, b.row_count, b.byte_count, b.tail, b.next_at"
    };
}
/// Resolves the series and reads its directory in one query. Each row includes the first and last
/// timestamp of the series.
macro_rules! blocks_of_series {
    () => {
        concat!(
            "select ",
            block_columns!(),
            ", s.first_at, s.last_at from sealed_series s join sealed_block_index b on b.series_id = s.id \
             where s.symbol = $1 and s.grain = $2 and s.lane = $3 "
        )
    };
}
macro_rules! import_columns {
    () => {
        "i.id, i.file, i.digest, i.byte_count, i.kind, i.options, i.state, i.started_at, i.finished_at, i.rows_read, \
         i.rows_done, i.added, i.replaced, i.unchanged, i.quarantined, i.message"
    };
}
macro_rules! quarantine_from {
    () => {
        "select i.file, q.import_id, q.line, q.symbol, q.content, q.reason, q.id \
         from quarantine q join import i on i.id = q.import_id "
    };
}

/// Returns the recorded row count of a sealed table. SQLite only; PostgreSQL does not record row
/// counts.
pub(crate) const ROWS_WRITTEN: Sql =
    Sql::new("count the rows of a table", "select row_count from sealed_table where name = $1");

statements! {
    for crate::engine::migrations::ALL;
    VERSION: "read the version of the store", "select next from counter where name = 'version'";
    COUNT_UP: "take new ids", "update counter set next = next + $1 where name = $2 returning next";

    SECURITY: "read a security", concat!("select ", security_columns!(), " from sealed_security where symbol = $1");
    DECIMALS: "read a security", "select decimals from sealed_security where symbol = $1";
    SECURITIES: "list the securities", concat!("select ", security_columns!(), " from sealed_security order by symbol");
    SECURITY_COUNTS: "read a security", "select series_count, action_count from sealed_security where symbol = $1";
    COUNT_SECURITIES: "list the securities", "select count(symbol) from sealed_security";
    ADD_COUNTS: "write a security",
        "update security set series_count = series_count + $1, action_count = action_count + $2 where symbol = $3";
    ENSURE_SECURITY: "add a security",
        "insert into security (symbol, decimals) values ($1, $2) on conflict (symbol) do nothing";
    PUT_SECURITY: "write a security", concat!(
        "insert into security (", security_columns!(), ") \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) \
         on conflict (symbol) do update set name_en = excluded.name_en, name_cn = excluded.name_cn, \
         name_hk = excluded.name_hk, exchange = excluded.exchange, currency = excluded.currency, \
         lot_size = excluded.lot_size, board = excluded.board, listing_date = excluded.listing_date, \
         decimals = excluded.decimals, total_shares = excluded.total_shares, \
         circulating_shares = excluded.circulating_shares, hk_shares = excluded.hk_shares, eps = excluded.eps, \
         eps_ttm = excluded.eps_ttm, bps = excluded.bps, dividend_yield = excluded.dividend_yield, \
         kind = excluded.kind, delisted_on = excluded.delisted_on, dated_figures = excluded.dated_figures");

    ACTIONS: "read corporate actions",
        "select ex_date, cash, split, bonus, rights, rights_price, pay_date from sealed_corporate_action \
         where symbol = $1 order by ex_date, cash, split, bonus, rights, rights_price";
    ADD_ACTION: "write a corporate action",
        "insert into corporate_action (symbol, ex_date, cash, split, bonus, rights, rights_price, pay_date) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    REMOVE_ACTIONS: "replace corporate actions", "delete from corporate_action where symbol = $1 and ex_date = $2";

    MARGIN: "read margin factors", "select symbol, im, mm, fm from sealed_margin where symbol = $1";
    MARGINS: "list margin factors", "select symbol, im, mm, fm from sealed_margin order by symbol";
    COUNT_MARGINS: "list margin factors", "select count(symbol) from sealed_margin";
    PUT_MARGIN: "write margin factors",
        "insert into margin (symbol, im, mm, fm) values ($1, $2, $3, $4) \
         on conflict (symbol) do update set im = excluded.im, mm = excluded.mm, fm = excluded.fm";

    FACTORS: "read adjustment factors", "select factors from sealed_adjustment where symbol = $1";
    PUT_FACTORS: "write adjustment factors",
        "insert into adjustment (symbol, factors) values ($1, $2) \
         on conflict (symbol) do update set factors = excluded.factors";
    REMOVE_FACTORS: "delete adjustment factors", "delete from adjustment where symbol = $1";
    WITHOUT_FACTORS: "find adjustments to compute",
        "select c.symbol from (select symbol from sealed_corporate_action \
            union select symbol from sealed_derived_factor where kind = 'bare') c \
         where not exists (select 1 from sealed_adjustment a where a.symbol = c.symbol) order by c.symbol";

    SERIES: "read a series",
        concat!("select ", series_columns!(), " from sealed_series where symbol = $1 and grain = $2 and lane = $3");
    SERIES_OF: "list the series of a symbol",
        concat!("select ", series_columns!(), " from sealed_series where symbol = $1 order by grain, lane");
    ALL_SERIES: "list the series", concat!("select ", series_columns!(), " from sealed_series order by symbol, grain, lane");
    // In PostgreSQL the type of a sum of bigints is numeric, so the sums are cast.
    TOTALS: "sum the series",
        "select count(*), cast(coalesce(sum(row_count), 0) as bigint), cast(coalesce(sum(block_count), 0) as bigint), \
         cast(coalesce(sum(byte_count), 0) as bigint) from sealed_series";
    SERIES_ID: "find a series", "select id from sealed_series where symbol = $1 and grain = $2 and lane = $3";
    ADD_SERIES: "add a series",
        "insert into series (id, symbol, grain, lane, row_count, block_count, byte_count, first_at, last_at, version) \
         values ($1, $2, $3, $4, 0, 0, 0, 0, 0, 0)";
    TOTAL_SERIES: "update a series",
        "update series set row_count = row_count + $1, block_count = block_count + $2, byte_count = byte_count + $3, \
         version = $4, first_at = (select min(first_at) from sealed_block_index where series_id = $5), \
         last_at = (select last_at from sealed_block_index where series_id = $5 order by first_at desc limit 1) \
         where id = $5";
    REMOVE_SERIES: "remove an empty series", "delete from series where id = $1";
    SERIES_IS_EMPTY: "find the blocks of a series",
        "select not exists (select 1 from block_index where series_id = $1)";

    // The block that contains `from` is the last block that starts at or before `from`, and the
    // scan begins there. This block is returned even if it ends before `from`, because it links to
    // the next block.
    BLOCKS: "list the blocks of a series", concat!(blocks_of_series!(),
        "and b.first_at >= coalesce((select max(h.first_at) from block_index h \
         where h.series_id = s.id and h.first_at <= $4), $4) \
         and b.first_at < $5 order by b.first_at");
    BLOCKS_ALL: "list the blocks of a series", concat!(blocks_of_series!(), "order by b.first_at");
    BLOCKS_BACK: "list the blocks of a series",
        concat!(blocks_of_series!(), "and b.first_at < $4 order by b.first_at desc");
    BLOCKS_FORWARD: "list the blocks of a series", concat!(blocks_of_series!(),
        "and b.first_at >= coalesce((select max(h.first_at) from block_index h \
         where h.series_id = s.id and h.first_at <= $4), $4) order by b.first_at");
    // Reads all data for a simple query in a single statement, which sees a consistent snapshot
    // without a transaction.
    BODIES_BACK: "read the blocks of a series", concat!("select ", block_columns!(), ", s.first_at, s.last_at, \
         z.decimals, y.body \
         from sealed_security z join sealed_series s on s.symbol = z.symbol \
         join sealed_block_index b on b.series_id = s.id left join block_body y on y.id = b.body_id \
         where z.symbol = $1 and s.grain = $2 and s.lane = $3 and b.first_at < $4 order by b.first_at desc");
    // For a database that sends all rows of a statement even if fewer are needed. Reads one page of
    // blocks, with only as many bodies as needed to reach `$6` rows. Rows of a block that extends
    // beyond `$1` are not counted.
    BODIES_BACK_PAGE: "read the blocks of a series", "select p.body_id, p.first_at, p.last_at, p.row_count, p.byte_count, \
         p.tail, p.next_at, p.series_first_at, p.series_last_at, p.decimals, y.body, \
         (select next from counter where name = 'version'), p.series_version \
         from (select b.body_id, b.first_at, b.last_at, b.row_count, b.byte_count, b.tail, b.next_at, \
         s.first_at as series_first_at, s.last_at as series_last_at, s.version as series_version, z.decimals, \
         cast(sum(case when b.last_at < $1 then b.row_count else 0 end) over (order by b.first_at desc) as bigint) \
         - case when b.last_at < $1 then b.row_count else 0 end as rows_before \
         from sealed_security z join sealed_series s on s.symbol = z.symbol \
         join sealed_block_index b on b.series_id = s.id \
         where z.symbol = $2 and s.grain = $3 and s.lane = $4 and b.first_at < $1 order by b.first_at desc limit $5) p \
         left join block_body y on y.id = p.body_id and p.rows_before < $6 order by p.first_at desc";
    BLOCK: "read a block", "select body from block_body where id = $1";

    LAST_STARTING_BY: "find overlapping blocks",
        "select first_at, last_at from sealed_block_index where series_id = $1 and first_at <= $2 \
         order by first_at desc limit 1";
    REMOVE_ENTRY: "remove a block",
        "delete from block_index where body_id = $1 and series_id = $2 \
         returning row_count, byte_count, first_at, next_at";
    // On PostgreSQL other servers may still read the previous state, so the body is retained (see
    // `retired.rs`).
    REMOVE_BODY: "remove a block", "delete from block_body where id = $1"
        => "insert into retired_body (kind, id, at_us) \
         values (0, $1, cast(extract(epoch from clock_timestamp()) * 1000000 as bigint))";
    ADD_BODY: "write a block", "insert into block_body (id, body) values ($1, $2)";
    ADD_ENTRY: "write a block",
        "insert into block_index (series_id, first_at, last_at, row_count, byte_count, body_id, tail, next_at) \
         values ($1, $2, $3, $4, $5, $6, $7, \
         (select min(first_at) from block_index where series_id = $1 and first_at > $2))";
    LINK_ENTRY: "link a block to the next",
        "update block_index set next_at = $1 where series_id = $2 and first_at = \
         (select max(first_at) from block_index where series_id = $2 and first_at < $3)";

    // Links the block before a point to its current successor.
    RELINK_BEFORE: "link a block to the next",
        "update block_index set next_at = (select min(n.first_at) from block_index n \
         where n.series_id = $1 and n.first_at > block_index.first_at) \
         where series_id = $1 and first_at = \
         (select max(p.first_at) from block_index p where p.series_id = $1 and p.first_at < $2)";

    IMPORTS: "list the imports", concat!("select ", import_columns!(), " from import i order by i.id");
    IMPORTS_BEFORE: "list the imports",
        concat!("select ", import_columns!(), " from import i where i.id < $1 order by i.id desc limit $2");
    IMPORT: "read an import", concat!("select ", import_columns!(), " from import i where i.id = $1");
    LAST_IMPORT: "read the last import",
        concat!("select ", import_columns!(), " from import i order by i.id desc limit 1");
    FIND_IMPORT: "find an earlier import", concat!("select ", import_columns!(),
        " from import i where i.digest = $1 and i.options = $2 order by i.id desc limit 1");
    IMPORT_SOURCES: "list the sources of a symbol", concat!("select ", import_columns!(),
        ", s.symbol, s.grain, s.lane, s.row_count, s.first_at, s.last_at \
         from import_series s join import i on i.id = s.import_id where s.symbol = $1 \
         order by i.id, s.grain, s.lane");
    START_IMPORT: "start an import",
        "insert into import (id, file, digest, byte_count, kind, options, state, started_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    CHECKPOINT_IMPORT: "write the progress of an import",
        "update import set state = $1, finished_at = $2, rows_read = $3, rows_done = $4, added = $5, replaced = $6, \
         unchanged = $7, quarantined = $8, message = $9 where id = $10";
    INTERRUPT_IMPORTS: "mark interrupted imports", "update import set state = $1 where state = $2";
    ADD_IMPORT_SERIES: "write the series of an import",
        "insert into import_series (import_id, symbol, grain, lane, row_count, first_at, last_at) \
         values ($1, $2, $3, $4, $5, $6, $7) \
         on conflict (symbol, grain, lane, import_id) do update set \
         row_count = import_series.row_count + excluded.row_count, \
         first_at = case when excluded.first_at < import_series.first_at \
         then excluded.first_at else import_series.first_at end, \
         last_at = case when excluded.last_at > import_series.last_at \
         then excluded.last_at else import_series.last_at end";
    ADD_IMPORT_SERIES_ALL: "write the series of an import",
        "insert into import_series (import_id, symbol, grain, lane, row_count, first_at, last_at) \
         values ($1, $2, $3, $4, $5, $6, $7) \
         on conflict (symbol, grain, lane, import_id) do update set \
         row_count = import_series.row_count + excluded.row_count, \
         first_at = case when excluded.first_at < import_series.first_at \
         then excluded.first_at else import_series.first_at end, \
         last_at = case when excluded.last_at > import_series.last_at \
         then excluded.last_at else import_series.last_at end"
        => "insert into import_series (import_id, symbol, grain, lane, row_count, first_at, last_at) \
         select * from unnest(cast($1 as bigint[]), cast($2 as text[]), cast($3 as text[]), cast($4 as text[]), \
         cast($5 as bigint[]), cast($6 as bigint[]), cast($7 as bigint[])) \
         on conflict (symbol, grain, lane, import_id) do update set \
         row_count = import_series.row_count + excluded.row_count, \
         first_at = case when excluded.first_at < import_series.first_at \
         then excluded.first_at else import_series.first_at end, \
         last_at = case when excluded.last_at > import_series.last_at \
         then excluded.last_at else import_series.last_at end";

    ADD_QUARANTINE: "write a quarantined row",
        "insert into quarantine (id, import_id, line, symbol, content, reason) values ($1, $2, $3, $4, $5, $6)";
    QUARANTINE: "list quarantined rows", concat!(quarantine_from!(), "order by q.id limit $1");
    QUARANTINE_OF_IMPORT: "list quarantined rows",
        concat!(quarantine_from!(), "where q.import_id = $1 order by q.id limit $2");
    QUARANTINE_OF_SYMBOL: "list quarantined rows",
        concat!(quarantine_from!(), "where q.symbol = $1 order by q.id limit $2");
    QUARANTINE_AFTER: "list quarantined rows",
        concat!(quarantine_from!(), "where q.id > $1 order by q.id limit $2");
    QUARANTINE_OF_IMPORT_AFTER: "list quarantined rows",
        concat!(quarantine_from!(), "where q.import_id = $1 and q.id > $2 order by q.id limit $3");
    QUARANTINE_OF_SYMBOL_AFTER: "list quarantined rows",
        concat!(quarantine_from!(), "where q.symbol = $1 and q.id > $2 order by q.id limit $3");
    COUNT_QUARANTINE: "count quarantined rows", "select count(*) from quarantine";
    COUNT_QUARANTINE_OF_IMPORT: "count quarantined rows", "select count(*) from quarantine where import_id = $1";
    COUNT_QUARANTINE_OF_SYMBOL: "count quarantined rows", "select count(*) from quarantine where symbol = $1";

    ORPHAN_BODIES: "find bodies without an entry",
        "select b.id from block_body b left join block_index i on i.body_id = b.id where i.body_id is null \
         order by b.id limit $1"
        => "select b.id from block_body b left join block_index i on i.body_id = b.id \
         left join retired_body r on r.kind = 0 and r.id = b.id where i.body_id is null and r.id is null \
         order by b.id limit $1";
    ORPHAN_ENTRIES: "find entries without a series",
        "select i.body_id from block_index i left join series s on s.id = i.series_id where s.id is null \
         order by i.body_id limit $1";
    // Reads the directory without verifying seals, for the consistency check.
    RAW_BLOCKS: "list the blocks of a series", concat!("select ", block_columns!(), ", s.first_at, s.last_at \
         from series s join block_index b on b.series_id = s.id \
         where s.symbol = $1 and s.grain = $2 and s.lane = $3 order by b.first_at");
    RAW_SERIES: "list the series", concat!("select ", series_columns!(), " from series order by symbol, grain, lane");
    RAW_TOTALS: "sum the series",
        "select count(*), cast(coalesce(sum(row_count), 0) as bigint), cast(coalesce(sum(block_count), 0) as bigint) \
         from series";
    RAW_COUNTERS: "read the counters", "select name, next from counter";
    MISCOUNTED: "count the rows of securities",
        "select symbol, series_count, (select count(*) from series s where s.symbol = z.symbol), \
         action_count, (select count(*) from corporate_action a where a.symbol = z.symbol) from security z \
         where series_count <> (select count(*) from series s where s.symbol = z.symbol) \
         or action_count <> (select count(*) from corporate_action a where a.symbol = z.symbol) \
         order by symbol limit $1";
    USED_IDS: "find ids in use",
        "select 'block', coalesce(max(id), 0) from block_body union all \
         select 'series', coalesce(max(id), 0) from series union all \
         select 'import', coalesce(max(id), 0) from import union all \
         select 'quarantine', coalesce(max(id), 0) from quarantine union all \
         select 'trade', coalesce(max(id), 0) from trade_body union all \
         select 'version', coalesce(max(version), 0) - 1 from series";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without an index, the cost of a directory scan would grow with the size of the store, which
    /// no other test would detect.
    #[test]
    fn directory_scans_use_the_indexes() {
        let conn = crate::engine::statements::schema_of(crate::engine::migrations::ALL);
        for sql in [
            BLOCKS,
            BLOCKS_ALL,
            BLOCKS_BACK,
            BLOCKS_FORWARD,
            BLOCK,
            SERIES,
            SECURITY,
            DECIMALS,
            FACTORS,
            MARGIN,
            LAST_STARTING_BY,
        ] {
            let plan = crate::engine::statements::plan(&conn, &sql);
            assert!(
                !plan.iter().any(|step| step.contains("SCAN") || step.contains("TEMP")),
                "{plan:#?}\n{}",
                sql.text
            );
        }
    }
}
