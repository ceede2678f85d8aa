-- The first shape of candles.db. Ids come from `counter`, never from the engine: an id is used once and never
-- again, so whatever is cached under a block id stays true.

create table counter (
    name text not null primary key,
    next bigint not null
) without rowid;

insert into counter (name, next) values
    ('block', 1), ('series', 1), ('import', 1), ('quarantine', 1), ('version', 0);

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
    dividend_yield text
) without rowid;

create table corporate_action (
    symbol text not null references security (symbol),
    ex_date text not null,
    cash text not null,
    split text not null,
    bonus text not null,
    rights text not null,
    rights_price text not null,
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
    unique (symbol, grain, lane)
);

-- Bodies lie in an ordinary rowid table: a blob inside a WITHOUT ROWID row is copied whole by every key comparison.
create table block_body (
    id integer not null primary key,
    body blob not null
);

create table block_index (
    series_id bigint not null references series (id),
    first_at bigint not null,
    last_at bigint not null,
    row_count bigint not null,
    byte_count bigint not null,
    body_id bigint not null references block_body (id),
    primary key (series_id, first_at)
) without rowid;

-- Deleting a body looks here for whoever still points at it.
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
