//! Schema of the local copy's file, and SQL statements for the local copy: change notifications
//! between the servers of one database, reads of the shared database's state and of a symbol's
//! rows, and the additional tables of the local file. The dialect is described in `candles/sql.rs`.

use crate::engine::migrations::{self, Migration};
use crate::engine::statements::statements;

/// Additional tables of the local file: the origin of the copy, and its symbols. A symbol that
/// changes in the shared database is marked as not current, but its rows stay until they are
/// fetched again, because most of its blocks are unchanged.
const OWN: Migration = Migration {
    version: 1_000_000,
    name: "copy",
    sqlite: "create table origin (place bigint not null primary key, identity text not null, stamp text, \
             seal bigint not null default 0);
         create table held (symbol text not null primary key, is_current bigint not null, row_bytes bigint not null, \
             body_bytes bigint not null, seal bigint not null default 0) without rowid;",
    // A local copy is always SQLite. The PostgreSQL text is for a test that checks the statements
    // on both engines.
    postgres: "create table origin (place bigint not null primary key, identity text not null, stamp text);
         create table held (symbol text not null primary key, is_current bigint not null, row_bytes bigint not null, \
             body_bytes bigint not null);",
    oldest: 1_000_000,
    replaces: &[],
};

/// Tables that the shared database has for its nodes (`migrations/postgres`). Used by tests that
/// run without a PostgreSQL server.
#[cfg(test)]
pub(crate) const SHARED: &str =
    "create table touched (symbol text not null primary key, version bigint not null);
    create table lineage (version bigint not null primary key, stamp text not null);
    create table retired_body (kind bigint not null, id bigint not null, at_us bigint not null, primary key (kind, id));
    create table identity (id text not null primary key);
    insert into identity (id) values (lower(hex(randomblob(16))));";

/// Returns the migrations of the local file: the migrations of the candle database, and `OWN`.
pub(super) fn steps() -> Vec<Migration> {
    migrations::ALL.iter().copied().chain([OWN]).collect()
}

/// Returns all tables that the copy's statements use.
#[cfg(test)]
pub(crate) fn schema() -> Vec<Migration> {
    let shared = Migration { version: OWN.version + 1, name: "shared", sqlite: SHARED, postgres: "", ..OWN };
    steps().into_iter().chain([shared]).collect()
}

macro_rules! ids_64 {
    () => {
        "($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, \
         $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, \
         $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56, $57, $58, $59, $60, $61, $62, $63, $64)"
    };
}

macro_rules! bodies {
    ($ids:literal) => {
        concat!("select id, body from block_body where id in ", $ids)
    };
}
macro_rules! stored_bodies {
    ($ids:literal) => {
        concat!(
            "select id, body from block_body where id in ",
            $ids,
            " and not exists (select 1 from retired_body r where r.kind = 0 and r.id = block_body.id)"
        )
    };
}
macro_rules! trade_bodies {
    ($ids:literal) => {
        concat!("select id, body from trade_body where id in ", $ids)
    };
}
macro_rules! stored_trade_bodies {
    ($ids:literal) => {
        concat!(
            "select id, body from trade_body where id in ",
            $ids,
            " and not exists (select 1 from retired_body r where r.kind = 1 and r.id = trade_body.id)"
        )
    };
}

/// Payload of the notification of an appended batch. The payload of other notifications is a
/// version, which is a number.
pub(crate) const INGESTED: &str = "ingested";

statements! {
    for &crate::candles::copy::sql::schema();

    // Statements that read changes of the shared database. They are not used with SQLite; the
    // SQLite texts are for tests that run without a PostgreSQL server.
    STATE: "check for changes",
        "select c.next, l.stamp, i.id from counter c cross join identity i left join lineage l on l.version = c.next \
         where c.name = 'version'";
    STAMP: "check for changes", "select stamp from lineage where version = $1";
    TOUCHED: "list the changed symbols", "select symbol from touched where version > $1 order by symbol";
    TOUCH: "record the changed symbols",
        "insert into touched (symbol, version) values ($1, $2) \
         on conflict (symbol) do update set version = excluded.version"
        => "insert into touched (symbol, version) \
         select * from unnest(cast($1 as text[]), cast($2 as bigint[])) \
         on conflict (symbol) do update set version = excluded.version";
    ADD_STAMP: "record the version", "insert into lineage (version, stamp) values ($1, lower(hex(randomblob(16))))"
        => "insert into lineage (version, stamp) values ($1, cast(gen_random_uuid() as text))";
    FORGET_STAMPS: "delete old versions", "delete from lineage where version < $1";
    NOTIFY: "notify the other servers", "select $1, $2" => "select pg_notify($1, $2)";

    // Statements on the shared database. If there are fewer ids than placeholders, the last id is
    // repeated. A node also needs recently replaced bodies.
    BODIES_1: "fetch blocks", bodies!("($1)");
    BODIES_8: "fetch blocks", bodies!("($1, $2, $3, $4, $5, $6, $7, $8)");
    BODIES_64: "fetch blocks", concat!("select id, body from block_body where id in ", ids_64!());
    STORED_BODIES_1: "read a block", bodies!("($1)") => stored_bodies!("($1)");
    STORED_BODIES_8: "read a block", bodies!("($1, $2, $3, $4, $5, $6, $7, $8)")
        => stored_bodies!("($1, $2, $3, $4, $5, $6, $7, $8)");
    STORED_BODIES_64: "read a block", concat!("select id, body from block_body where id in ", ids_64!())
        => concat!("select id, body from block_body where id in ", ids_64!(),
        " and not exists (select 1 from retired_body r where r.kind = 0 and r.id = block_body.id)");
    TRADE_BODIES_1: "fetch blocks of trades", trade_bodies!("($1)");
    TRADE_BODIES_8: "fetch blocks of trades", trade_bodies!("($1, $2, $3, $4, $5, $6, $7, $8)");
    TRADE_BODIES_64: "fetch blocks of trades", concat!("select id, body from trade_body where id in ", ids_64!());
    STORED_TRADE_BODIES_1: "read a block of trades", trade_bodies!("($1)") => stored_trade_bodies!("($1)");
    STORED_TRADE_BODIES_8: "read a block of trades", trade_bodies!("($1, $2, $3, $4, $5, $6, $7, $8)")
        => stored_trade_bodies!("($1, $2, $3, $4, $5, $6, $7, $8)");
    STORED_TRADE_BODIES_64: "read a block of trades", concat!("select id, body from trade_body where id in ", ids_64!())
        => concat!("select id, body from trade_body where id in ", ids_64!(),
        " and not exists (select 1 from retired_body r where r.kind = 1 and r.id = trade_body.id)");

    // Statements on the local file.
    ORIGIN: "read the origin of the copy", "select identity, stamp from sealed_origin where place = 0";
    PUT_ORIGIN: "write the origin of the copy",
        "insert into origin (place, identity, stamp) values (0, $1, $2) \
         on conflict (place) do update set identity = excluded.identity, stamp = excluded.stamp";
    SET_VERSION: "write the version of the copy", "update counter set next = $1 where name = 'version'";
    HELD: "list the copied symbols", "select symbol, is_current, row_bytes, body_bytes from sealed_held";
    // This statement does not verify the seal, which would double the cost. The in-memory index
    // already shows that the symbol is current.
    IS_CURRENT: "find a copied symbol", "select is_current from held where symbol = $1";
    PUT_HELD: "record a copied symbol",
        "insert into held (symbol, is_current, row_bytes, body_bytes) values ($1, $2, $3, $4) \
         on conflict (symbol) do update set is_current = excluded.is_current, row_bytes = excluded.row_bytes, \
         body_bytes = excluded.body_bytes";
    OUTDATE: "record that a symbol has changed", "update held set is_current = 0 where symbol = $1";
    PUT_SIZE: "record the size of a symbol", "update held set body_bytes = $1 where symbol = $2";
    FORGET: "delete a symbol", "delete from held where symbol = $1";
    MISSING_BODIES: "find blocks to fetch",
        "select b.body_id, b.row_count, b.byte_count from block_index b left join block_body y on y.id = b.body_id \
         where b.series_id = (select s.series_id from block_index s where s.body_id = $1) and b.first_at <= $2 \
         and y.id is null order by b.first_at desc limit $3";
    HAS_BODY: "find a block", "select 1 from block_body where id = $1";
    HAS_TRADE_BODY: "find a block of trades", "select 1 from trade_body where id = $1";
    SYMBOL_OF_BLOCK: "find a block",
        "select s.symbol from block_index b join series s on s.id = b.series_id where b.body_id = $1";
    SYMBOL_OF_TRADE_BLOCK: "find a block of trades", "select symbol from trade_index where body_id = $1";
    KEEP_BODY: "store a block", "insert into block_body (id, body) values ($1, $2) on conflict (id) do nothing";
    KEEP_TRADE_BODY: "store a block of trades",
        "insert into trade_body (id, body) values ($1, $2) on conflict (id) do nothing";
    DROP_BODY: "delete a block", "delete from block_body where id = $1 returning length(body)";
    DROP_TRADE_BODY: "delete a block of trades", "delete from trade_body where id = $1 returning length(body)";

    // Tables that contain rows of a symbol. Key columns come first.
    SECURITY: "fetch a security",
        "select symbol, name_en, name_cn, name_hk, exchange, currency, lot_size, board, listing_date, decimals, \
         total_shares, circulating_shares, hk_shares, eps, eps_ttm, bps, dividend_yield, kind, delisted_on, \
         dated_figures, series_count, action_count, trade_day_count from sealed_security where symbol = $1";
    ADD_SECURITY: "store a security",
        "insert into security (symbol, name_en, name_cn, name_hk, exchange, currency, lot_size, board, listing_date, \
         decimals, total_shares, circulating_shares, hk_shares, eps, eps_ttm, bps, dividend_yield, kind, delisted_on, \
         dated_figures, series_count, action_count, trade_day_count) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
         $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)";
    DROP_SECURITY: "delete a security", "delete from security where symbol = $1";

    SERIES: "fetch the series of a symbol",
        "select id, symbol, grain, lane, row_count, block_count, byte_count, first_at, last_at, version \
         from sealed_series where symbol = $1";
    ADD_SERIES: "store a series",
        "insert into series (id, symbol, grain, lane, row_count, block_count, byte_count, first_at, last_at, version) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    DROP_SERIES: "delete a series", "delete from series where id = $1";

    BLOCKS: "fetch the blocks of a series",
        "select series_id, first_at, last_at, row_count, byte_count, body_id, tail, next_at \
         from sealed_block_index where series_id = $1";
    ADD_BLOCK: "store the entry of a block",
        "insert into block_index (series_id, first_at, last_at, row_count, byte_count, body_id, tail, next_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    DROP_BLOCK: "delete the entry of a block", "delete from block_index where series_id = $1 and first_at = $2";

    ACTIONS: "fetch corporate actions",
        "select symbol, ex_date, cash, split, bonus, rights, rights_price, pay_date from sealed_corporate_action \
         where symbol = $1";
    ADD_ACTION: "store a corporate action",
        "insert into corporate_action (symbol, ex_date, cash, split, bonus, rights, rights_price, pay_date) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    DROP_ACTION: "delete a corporate action",
        "delete from corporate_action where symbol = $1 and ex_date = $2 and cash = $3 and split = $4 and bonus = $5 \
         and rights = $6 and rights_price = $7";

    FACTORS: "fetch adjustment factors", "select symbol, factors from sealed_adjustment where symbol = $1";
    ADD_FACTORS: "store adjustment factors", "insert into adjustment (symbol, factors) values ($1, $2)";
    DROP_FACTORS: "delete adjustment factors", "delete from adjustment where symbol = $1";

    MARGIN: "fetch margin factors", "select symbol, im, mm, fm from sealed_margin where symbol = $1";
    ADD_MARGIN: "store margin factors", "insert into margin (symbol, im, mm, fm) values ($1, $2, $3, $4)";
    DROP_MARGIN: "delete margin factors", "delete from margin where symbol = $1";

    TRADE_DAYS: "fetch the days with trades",
        "select symbol, day, row_count, block_count, byte_count, first_at, last_at, version, next_day, large_percent, \
         medium_percent, large_from, medium_from from sealed_trade_day where symbol = $1";
    ADD_TRADE_DAY: "store a day with trades",
        "insert into trade_day (symbol, day, row_count, block_count, byte_count, first_at, last_at, version, next_day, \
         large_percent, medium_percent, large_from, medium_from) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    DROP_TRADE_DAY: "delete a day with trades", "delete from trade_day where symbol = $1 and day = $2";

    TRADE_BLOCKS: "fetch the blocks of trades",
        "select symbol, day, place, first_at, last_at, row_count, byte_count, body_id, tail from sealed_trade_index \
         where symbol = $1";
    TRADE_BLOCKS_OF_DAY: "fetch the blocks of a day",
        "select symbol, day, place, first_at, last_at, row_count, byte_count, body_id, tail from sealed_trade_index \
         where symbol = $1 and day = $2";
    ADD_TRADE_BLOCK: "store the entry of a block of trades",
        "insert into trade_index (symbol, day, place, first_at, last_at, row_count, byte_count, body_id, tail) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    DROP_TRADE_BLOCK: "delete the entry of a block of trades",
        "delete from trade_index where symbol = $1 and day = $2 and place = $3";
}
