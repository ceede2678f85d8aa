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
