-- What an import changed in a series, so that it can be taken back: which candles it added, and how those were that it
-- replaced. An import has its changes numbered in their order. No WITHOUT ROWID around a blob.
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
