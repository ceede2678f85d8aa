-- Candles, trades and securities, and the ledger of imports. Ids come from `counter` and are never
-- reused, so anything cached by a block id stays valid. Text has the collation "C", the byte order
-- of SQLite: no locale and no upgrade of the system's library changes an order or breaks an index.

-- The next id of each kind. `version` is the version of the store.
create table counter (
    name text collate "C" not null primary key,
    next bigint not null
);
insert into counter (name, next) values
    ('block', 1), ('series', 1), ('import', 1), ('quarantine', 1), ('trade', 1), ('mirror', 1),
    ('mirror_report', 1), ('version', 0);

create table security (
    symbol text collate "C" not null primary key,
    name_en text collate "C",
    name_cn text collate "C",
    name_hk text collate "C",
    exchange text collate "C",
    currency text collate "C",
    lot_size bigint,
    board text collate "C",
    listing_date text collate "C",
    decimals bigint not null default 3,
    total_shares bigint,
    circulating_shares bigint,
    hk_shares bigint,
    eps text collate "C",
    eps_ttm text collate "C",
    bps text collate "C",
    dividend_yield text collate "C",
    series_count bigint not null default 0,
    action_count bigint not null default 0,
    kind text collate "C",
    delisted_on text collate "C",
    trade_day_count bigint not null default 0,
    dated_figures text collate "C"
);

create table corporate_action (
    symbol text collate "C" not null references security (symbol),
    ex_date text collate "C" not null,
    cash text collate "C" not null,
    split text collate "C" not null,
    bonus text collate "C" not null,
    rights text collate "C" not null,
    rights_price text collate "C" not null,
    pay_date text collate "C",
    primary key (symbol, ex_date, cash, split, bonus, rights, rights_price)
);

create table series (
    id bigint not null primary key,
    symbol text collate "C" not null references security (symbol),
    grain text collate "C" not null,
    lane text collate "C" not null,
    row_count bigint not null,
    block_count bigint not null,
    byte_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    version bigint not null,
    unique (symbol, grain, lane)
);

create table block_body (
    id bigint not null primary key,
    body bytea not null
);
alter table block_body alter column body set storage external;

-- Each block refers to the next one of its series: `next_at`, null for the last. `tail` is the
-- checksum at the end of its body.
create table block_index (
    series_id bigint not null references series (id),
    first_at bigint not null,
    last_at bigint not null,
    row_count bigint not null,
    byte_count bigint not null,
    body_id bigint not null references block_body (id),
    next_at bigint,
    tail bytea,
    primary key (series_id, first_at)
);
create unique index block_index_body on block_index (body_id);

create table import (
    id bigint not null primary key,
    file text collate "C" not null,
    digest bytea not null,
    byte_count bigint not null,
    kind text collate "C" not null,
    options text collate "C" not null,
    state text collate "C" not null,
    started_at bigint not null,
    finished_at bigint,
    rows_read bigint not null default 0,
    rows_done bigint not null default 0,
    added bigint not null default 0,
    replaced bigint not null default 0,
    unchanged bigint not null default 0,
    quarantined bigint not null default 0,
    message text collate "C"
);
-- Without `options`: an index row has at most 2,700 bytes.
create index import_content on import (digest, id);

create table import_series (
    import_id bigint not null references import (id),
    symbol text collate "C" not null references security (symbol),
    grain text collate "C" not null,
    lane text collate "C" not null,
    row_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    primary key (symbol, grain, lane, import_id)
);
create index import_series_import on import_series (import_id);

create table quarantine (
    id bigint not null primary key,
    import_id bigint not null references import (id),
    line bigint not null,
    symbol text collate "C",
    content text collate "C" not null,
    reason text collate "C" not null
);
create index quarantine_import on quarantine (import_id, id);
create index quarantine_symbol on quarantine (symbol, id);

-- Adjustment factors, derived from the corporate actions and the daily closes of a symbol. Rows may
-- be missing.
create table adjustment (
    symbol text collate "C" not null primary key references security (symbol),
    factors bytea not null
);

-- Initial, maintenance and forced-sale margin, as decimals. The symbol need not be in `security`.
create table margin (
    symbol text collate "C" not null primary key,
    im text collate "C" not null,
    mm text collate "C" not null,
    fm text collate "C" not null
);

-- Trades of a symbol on a trading day. `next_day` is the symbol's next day with trades, null for
-- the last. The amounts are in millionths: trades from `large_from` or `medium_from` on are large
-- or medium, for these percentages; null if not computed yet.
create table trade_day (
    symbol text collate "C" not null references security (symbol),
    day text collate "C" not null,
    row_count bigint not null,
    block_count bigint not null,
    byte_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    version bigint not null,
    next_day text collate "C",
    large_percent bigint,
    medium_percent bigint,
    large_from bigint,
    medium_from bigint,
    primary key (symbol, day)
);

create table trade_body (
    id bigint not null primary key,
    body bytea not null
);
alter table trade_body alter column body set storage external;

-- Blocks of a day, numbered from 0 in the order of time.
create table trade_index (
    symbol text collate "C" not null,
    day text collate "C" not null,
    place bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    row_count bigint not null,
    byte_count bigint not null,
    body_id bigint not null references trade_body (id),
    tail bytea not null,
    primary key (symbol, day, place)
);
create unique index trade_index_body on trade_index (body_id);

create table import_trade (
    import_id bigint not null references import (id),
    symbol text collate "C" not null references security (symbol),
    row_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    primary key (symbol, import_id)
);
create index import_trade_import on import_trade (import_id);

-- The changes of an import to a series, for its undo: candles added, and the previous values of
-- candles replaced.
create table import_change (
    import_id bigint not null references import (id),
    place bigint not null,
    symbol text collate "C" not null,
    grain text collate "C" not null,
    lane text collate "C" not null,
    first_at bigint not null,
    last_at bigint not null,
    added bytea not null,
    replaced bytea not null,
    primary key (import_id, place)
);
create index import_change_series on import_change (symbol, grain, lane, import_id);

-- The version at which a symbol last changed, for local copies of nodes. Removed symbols stay.
create table touched (
    symbol text collate "C" not null primary key,
    version bigint not null
);
create index touched_version on touched (version);

-- The identity of this database: a local copy of another one is discarded.
create table identity (
    id text collate "C" not null primary key
);
insert into identity (id) values (cast(gen_random_uuid() as text));

-- A stamp for each version. Versions lost with a failed server or a restore are numbered again; the
-- stamp distinguishes them.
create table lineage (
    version bigint not null primary key,
    stamp text collate "C" not null
);

-- Bodies of replaced blocks (kind 0: candles, 1: trades). Retained for a while for nodes that read
-- an older state.
create table retired_body (
    kind bigint not null,
    id bigint not null,
    at_us bigint not null,
    primary key (kind, id)
);
create index retired_body_at on retired_body (at_us);

-- Leases: the writing import, and jobs that one process runs. Times are of the database's clock.
create table lease (
    name text collate "C" not null primary key,
    holder text collate "C" not null,
    until_us bigint not null
);

-- Mirrors: sources of candles. Everything about them is in this database, because a page of candles
-- and the position after it are written in one transaction. `settings` and `state` are text that
-- only the collector interprets; `credentials` is encrypted.
create table mirror (
    id bigint not null primary key,
    name text collate "C" not null unique,
    settings text collate "C" not null,
    state text collate "C" not null,
    credentials bytea not null,
    created_at bigint not null
);

-- The securities that a mirror collects, in the order of the list. `note` is why the source refused
-- one, with the time of the refusal.
create table mirror_security (
    mirror_id bigint not null references mirror (id),
    symbol text collate "C" not null,
    place bigint not null,
    note text collate "C",
    noted_at bigint,
    primary key (mirror_id, symbol)
);

-- Series that are read or were read, and how far. `position` is text of the walk, `purpose` is why
-- it is read. A job that is done has all candles from `first_day` to `last_day` that the source
-- had.
create table mirror_job (
    mirror_id bigint not null references mirror (id),
    symbol text collate "C" not null,
    period text collate "C" not null,
    adjustment text collate "C" not null,
    sessions text collate "C" not null,
    purpose text collate "C" not null,
    first_day text collate "C" not null,
    last_day text collate "C" not null,
    position text collate "C" not null,
    outcome text collate "C",
    pages bigint not null,
    row_count bigint not null,
    updated_at bigint not null,
    primary key (mirror_id, symbol, period, adjustment, sessions, purpose, first_day)
);

-- Securities whose history was requested in a month of Hong Kong, which the source counts.
create table mirror_month (
    mirror_id bigint not null references mirror (id),
    month text collate "C" not null,
    symbol text collate "C" not null,
    primary key (mirror_id, month, symbol)
);

-- What a user should know: differences of calendars, revised series, factors with their widths.
create table mirror_report (
    id bigint not null primary key,
    mirror_id bigint not null references mirror (id),
    kind text collate "C" not null,
    symbol text collate "C" not null,
    content text collate "C" not null,
    at bigint not null
);
create unique index mirror_report_content on mirror_report (mirror_id, kind, symbol, content);

-- Received adjusted days, as a block. They are never served; factors are derived from them.
create table mirror_adjusted (
    mirror_id bigint not null references mirror (id),
    symbol text collate "C" not null,
    body bytea not null,
    primary key (mirror_id, symbol)
);

-- Corporate actions and factors that were derived from received days. `kind` is `cash`, `split` or
-- `bare`: a bare factor is no known action, and is used as it is. `low` and `high` are the bounds
-- of the factor, `width` how far a cash amount may be wrong.
create table derived_factor (
    symbol text collate "C" not null references security (symbol),
    ex_date text collate "C" not null,
    kind text collate "C" not null,
    amount text collate "C" not null,
    low text collate "C" not null,
    high text collate "C" not null,
    width text collate "C" not null,
    primary key (symbol, ex_date)
);

-- Rows that arrive while a server runs. A batch is first written to `ingest_batch`, which makes it
-- durable, and then merged into blocks; `applied` is the last merged batch. `push` is the next free
-- sequence number of pushes.
insert into counter (name, next) values ('ingest', 0), ('applied', 0), ('push', 0);

-- Batches in commit order. They are stored for some minutes after they were merged, because every
-- server pushes them. The pushes of a batch have sequence numbers from `push_from` on.
create table ingest_batch (
    id bigint not null primary key,
    push_from bigint not null,
    body bytea not null
);

-- The last accepted batch of each source, and the recent answers, which are repeated.
create table ingest_source (
    source text collate "C" not null primary key,
    last_seq bigint not null
);
create table ingest_answer (
    source text collate "C" not null,
    seq bigint not null,
    answer text collate "C" not null,
    primary key (source, seq)
);

-- Ids of accepted trades, by the trading day. A known one is not added again. `noted_on` is the day
-- since 1970 on which it came; old ones are removed.
create table ingest_trade (
    source text collate "C" not null,
    symbol text collate "C" not null,
    day text collate "C" not null,
    id text collate "C" not null,
    noted_on bigint not null,
    primary key (source, symbol, day, id)
);
create index ingest_trade_noted on ingest_trade (noted_on);

-- Stored minutes that are not final yet. They become final at `final_at` at the latest.
create table partial_minute (
    symbol text collate "C" not null,
    lane text collate "C" not null,
    at bigint not null,
    final_at bigint not null,
    primary key (symbol, lane, at)
);
create index partial_minute_final on partial_minute (final_at);
