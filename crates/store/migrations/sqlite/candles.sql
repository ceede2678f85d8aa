-- Candles, trades and securities, and the ledger of imports. Ids come from `counter` and are never
-- reused, so anything cached by a block id stays valid. A column `seal` is a checksum of the row
-- (`seal.rs`). A table with blobs has a rowid: in a WITHOUT ROWID table each key comparison copies
-- the blob.

-- The next id of each kind. `version` is the version of the store.
create table counter (
    name text not null primary key,
    next bigint not null,
    seal bigint not null default 0
) without rowid;
insert into counter (name, next) values
    ('block', 1), ('series', 1), ('import', 1), ('quarantine', 1), ('trade', 1), ('mirror', 1),
    ('mirror_report', 1), ('version', 0);

create table security (
    symbol text not null primary key,
    name_en text,
    name_cn text,
    name_hk text,
    exchange text,
    currency text,
    lot_size bigint,
    board text,
    listing_date text,
    decimals bigint not null default 3,
    total_shares bigint,
    circulating_shares bigint,
    hk_shares bigint,
    eps text,
    eps_ttm text,
    bps text,
    dividend_yield text,
    series_count bigint not null default 0,
    action_count bigint not null default 0,
    seal bigint not null default 0,
    kind text,
    delisted_on text,
    trade_day_count bigint not null default 0,
    dated_figures text
) without rowid;

create table corporate_action (
    symbol text not null references security (symbol),
    ex_date text not null,
    cash text not null,
    split text not null,
    bonus text not null,
    rights text not null,
    rights_price text not null,
    seal bigint not null default 0,
    pay_date text,
    primary key (symbol, ex_date, cash, split, bonus, rights, rights_price)
) without rowid;

create table series (
    id integer not null primary key,
    symbol text not null references security (symbol),
    grain text not null,
    lane text not null,
    row_count bigint not null,
    block_count bigint not null,
    byte_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    version bigint not null,
    seal bigint not null default 0,
    unique (symbol, grain, lane)
);

create table block_body (
    id integer not null primary key,
    body blob not null
);

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
    tail blob,
    seal bigint not null default 0,
    primary key (series_id, first_at)
) without rowid;
create unique index block_index_body on block_index (body_id);

create table import (
    id integer not null primary key,
    file text not null,
    digest blob not null,
    byte_count bigint not null,
    kind text not null,
    options text not null,
    state text not null,
    started_at bigint not null,
    finished_at bigint,
    rows_read bigint not null default 0,
    rows_done bigint not null default 0,
    added bigint not null default 0,
    replaced bigint not null default 0,
    unchanged bigint not null default 0,
    quarantined bigint not null default 0,
    message text
);
create index import_content on import (digest, options, id);

create table import_series (
    import_id bigint not null references import (id),
    symbol text not null references security (symbol),
    grain text not null,
    lane text not null,
    row_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    primary key (symbol, grain, lane, import_id)
) without rowid;
create index import_series_import on import_series (import_id);

create table quarantine (
    id integer not null primary key,
    import_id bigint not null references import (id),
    line bigint not null,
    symbol text,
    content text not null,
    reason text not null
);
create index quarantine_import on quarantine (import_id, id);
create index quarantine_symbol on quarantine (symbol, id);

-- Adjustment factors, derived from the corporate actions and the daily closes of a symbol. Rows may
-- be missing.
create table adjustment (
    symbol text not null primary key references security (symbol),
    factors blob not null,
    seal bigint not null default 0
);

-- The sealed tables: their columns and row counts.
create table sealed_table (
    name text not null primary key,
    key_columns text not null,
    columns text not null,
    indexed_columns text not null,
    row_count bigint not null
) without rowid;

-- Initial, maintenance and forced-sale margin, as decimals. The symbol need not be in `security`.
create table margin (
    symbol text not null primary key,
    im text not null,
    mm text not null,
    fm text not null,
    seal bigint not null default 0
) without rowid;

-- Trades of a symbol on a trading day. `next_day` is the symbol's next day with trades, null for
-- the last. The amounts are in millionths: trades from `large_from` or `medium_from` on are large
-- or medium, for these percentages; null if not computed yet.
create table trade_day (
    symbol text not null references security (symbol),
    day text not null,
    row_count bigint not null,
    block_count bigint not null,
    byte_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    version bigint not null,
    next_day text,
    large_percent bigint,
    medium_percent bigint,
    large_from bigint,
    medium_from bigint,
    seal bigint not null default 0,
    primary key (symbol, day)
) without rowid;

create table trade_body (
    id integer not null primary key,
    body blob not null
);

-- Blocks of a day, numbered from 0 in the order of time.
create table trade_index (
    symbol text not null,
    day text not null,
    place bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    row_count bigint not null,
    byte_count bigint not null,
    body_id bigint not null references trade_body (id),
    tail blob not null,
    seal bigint not null default 0,
    primary key (symbol, day, place)
) without rowid;
create unique index trade_index_body on trade_index (body_id);

create table import_trade (
    import_id bigint not null references import (id),
    symbol text not null references security (symbol),
    row_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    primary key (symbol, import_id)
) without rowid;
create index import_trade_import on import_trade (import_id);

-- The changes of an import to a series, for its undo: candles added, and the previous values of
-- candles replaced.
create table import_change (
    import_id bigint not null references import (id),
    place bigint not null,
    symbol text not null,
    grain text not null,
    lane text not null,
    first_at bigint not null,
    last_at bigint not null,
    added blob not null,
    replaced blob not null,
    seal bigint not null default 0,
    primary key (import_id, place)
);
create index import_change_series on import_change (symbol, grain, lane, import_id);

-- Mirrors: sources of candles. Everything about them is in this database, because a page of candles
-- and the position after it are written in one transaction. `settings` and `state` are text that
-- only the collector interprets; `credentials` is encrypted.
create table mirror (
    id bigint not null primary key,
    name text not null unique,
    settings text not null,
    state text not null,
    credentials blob not null,
    created_at bigint not null
);

-- The securities that a mirror collects, in the order of the list. `note` is why the source refused
-- one, with the time of the refusal.
create table mirror_security (
    mirror_id bigint not null references mirror (id),
    symbol text not null,
    place bigint not null,
    note text,
    noted_at bigint,
    primary key (mirror_id, symbol)
) without rowid;

-- Series that are read or were read, and how far. `position` is text of the walk, `purpose` is why
-- it is read. A job that is done has all candles from `first_day` to `last_day` that the source
-- had.
create table mirror_job (
    mirror_id bigint not null references mirror (id),
    symbol text not null,
    period text not null,
    adjustment text not null,
    sessions text not null,
    purpose text not null,
    first_day text not null,
    last_day text not null,
    position text not null,
    outcome text,
    pages bigint not null,
    row_count bigint not null,
    updated_at bigint not null,
    primary key (mirror_id, symbol, period, adjustment, sessions, purpose, first_day)
) without rowid;

-- Securities whose history was requested in a month of Hong Kong, which the source counts.
create table mirror_month (
    mirror_id bigint not null references mirror (id),
    month text not null,
    symbol text not null,
    primary key (mirror_id, month, symbol)
) without rowid;

-- What a user should know: differences of calendars, revised series, factors with their widths.
create table mirror_report (
    id bigint not null primary key,
    mirror_id bigint not null references mirror (id),
    kind text not null,
    symbol text not null,
    content text not null,
    at bigint not null
);
create unique index mirror_report_content on mirror_report (mirror_id, kind, symbol, content);

-- Received adjusted days, as a block. They are never served; factors are derived from them.
create table mirror_adjusted (
    mirror_id bigint not null references mirror (id),
    symbol text not null,
    body blob not null,
    primary key (mirror_id, symbol)
);

-- Corporate actions and factors that were derived from received days. `kind` is `cash`, `split` or
-- `bare`: a bare factor is no known action, and is used as it is. `low` and `high` are the bounds
-- of the factor, `width` how far a cash amount may be wrong.
create table derived_factor (
    symbol text not null references security (symbol),
    ex_date text not null,
    kind text not null,
    amount text not null,
    low text not null,
    high text not null,
    width text not null,
    seal bigint not null default 0,
    primary key (symbol, ex_date)
) without rowid;
