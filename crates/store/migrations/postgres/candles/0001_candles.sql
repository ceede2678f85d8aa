-- The first shape of the candles. Ids come from `counter`, never from the engine: an id is used once and never again, so whatever
-- is cached under a block id stays true.
--
-- Of all steps for PostgreSQL: texts are ordered by their bytes (collation "C"), as SQLite orders them, so that neither a locale
-- nor a newer library of the system changes an order or breaks an index. Numbers are bigint, flags 0 and 1.

create table counter (
    name text collate "C" not null primary key,
    next bigint not null
);

insert into counter (name, next) values
    ('block', 1), ('series', 1), ('import', 1), ('quarantine', 1), ('version', 0);

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
    dividend_yield text collate "C"
);

create table corporate_action (
    symbol text collate "C" not null references security (symbol),
    ex_date text collate "C" not null,
    cash text collate "C" not null,
    split text collate "C" not null,
    bonus text collate "C" not null,
    rights text collate "C" not null,
    rights_price text collate "C" not null,
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

-- Blocks are compressed already: a second attempt at every write gains nothing.
alter table block_body alter column body set storage external;

create table block_index (
    series_id bigint not null references series (id),
    first_at bigint not null,
    last_at bigint not null,
    row_count bigint not null,
    byte_count bigint not null,
    body_id bigint not null references block_body (id),
    primary key (series_id, first_at)
);

-- Deleting a body looks here for whoever still points at it.
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

-- Without the options: they are as long as somebody wrote them, and a row of an index has 2,700 bytes at most.
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
