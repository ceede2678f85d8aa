-- Single trades, by symbol and trading day. A day is a row that says what its blocks come to; the blocks of a day are numbered
-- from 0, in the order of time. Each day knows the next one that the symbol has (null for the last), and the security how many
-- days there are, so that one that is missing is missed.
insert into counter (name, next) values ('trade', 1);

alter table security add column trade_day_count bigint not null default 0;

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
    -- The amounts in millionths from which on a trade of this day is large or medium, and the shares in percent that they are
    -- for; null where that is reckoned when it is asked for.
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

-- Deleting a body looks here for whoever still points at it.
create unique index trade_index_body on trade_index (body_id);

-- Which import brought trades of which symbol.
create table import_trade (
    import_id bigint not null references import (id),
    symbol text not null references security (symbol),
    row_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    primary key (symbol, import_id)
) without rowid;

create index import_trade_import on import_trade (import_id);
