-- What an import changed in a series, so that it can be taken back: which candles it added, and how those were that it
-- replaced. An import has its changes numbered in their order.
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
