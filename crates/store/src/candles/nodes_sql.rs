//! SQL statements for change notifications between the servers of one database. The dialect is
//! described in `sql.rs`. Not used with SQLite; its texts are for tests without a PostgreSQL
//! server.

use crate::engine::statements::statements;

/// Current time of the database in microseconds since 1970. Server clocks may differ.
macro_rules! now {
    () => {
        "cast(unixepoch('subsec') * 1000000 as bigint)"
    };
}
macro_rules! now_postgres {
    () => {
        "cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)"
    };
}

statements! {
    for &crate::candles::copy::sql::schema();

    STATE: "look for changes",
        "select c.next, l.stamp, i.id from counter c cross join identity i left join lineage l on l.version = c.next \
         where c.name = 'version'";
    STAMP: "look for changes", "select stamp from lineage where version = $1";
    TOUCHED: "list the changed symbols", "select symbol from touched where version > $1 order by symbol";
    TOUCH: "note the changed symbols",
        "insert into touched (symbol, version) values ($1, $2) \
         on conflict (symbol) do update set version = excluded.version";
    ADD_STAMP: "note the version", "insert into lineage (version, stamp) values ($1, lower(hex(randomblob(16))))"
        => "insert into lineage (version, stamp) values ($1, cast(gen_random_uuid() as text))";
    FORGET_STAMPS: "forget old versions", "delete from lineage where version < $1";
    NOTIFY: "tell the other servers", "select $1, $2" => "select pg_notify($1, $2)";

    RETIRED: "list replaced blocks",
        concat!("select id from retired_body where kind = $1 and at_us < ", now!(), " - $2 order by at_us limit $3")
        => concat!("select id from retired_body where kind = $1 and at_us < ", now_postgres!(), " - $2 \
         order by at_us limit $3");
    FORGET_RETIRED: "remove replaced blocks", "delete from retired_body where kind = $1 and id = $2";
    DROP_BODY: "remove replaced blocks", "delete from block_body where id = $1";
    DROP_TRADE_BODY: "remove replaced blocks", "delete from trade_body where id = $1";
}
