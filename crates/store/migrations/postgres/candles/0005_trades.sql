-- Single trades, by symbol and trading day. A day is a row that says what its blocks come to; the blocks of a day are numbered
-- from 0, in the order of time. Each day knows the next one that the symbol has (null for the last), and the security how many
-- days there are, so that one that is missing is missed.
insert into counter (name, next) values ('trade', 1);

alter table security add column trade_day_count bigint not null default 0;

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
    -- The amounts in millionths from which on a trade of this day is large or medium, and the shares in percent that they are
    -- for; null where that is reckoned when it is asked for.
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

-- Deleting a body looks here for whoever still points at it.
create unique index trade_index_body on trade_index (body_id);

-- Which import brought trades of which symbol.
create table import_trade (
    import_id bigint not null references import (id),
    symbol text collate "C" not null references security (symbol),
    row_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    primary key (symbol, import_id)
);

create index import_trade_import on import_trade (import_id);
