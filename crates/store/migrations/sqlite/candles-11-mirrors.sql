-- Mirrors: sources of candles. Everything about them is in this database, because a page of candles
-- and the position after it are written in one transaction. `settings` and `state` are text that only
-- the collector interprets; `credentials` is encrypted.
insert into counter (name, next) values ('mirror', 1), ('mirror_report', 1);

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

-- Series that are read or were read, and how far. `position` is text of the walk, `purpose` is why it is
-- read. A job that is done has all candles from `first_day` to `last_day` that the source had.
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
-- `bare`: a bare factor is no known action, and is used as it is. `low` and `high` are the bounds of
-- the factor, `width` how far a cash amount may be wrong.
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
