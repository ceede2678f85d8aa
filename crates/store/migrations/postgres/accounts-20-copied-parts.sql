-- Rows that a copy shares with its source, so that copying takes the same time for any length: the
-- entries of a journal (`kind` 1) or the lines of a world's log (`kind` 2) numbered from
-- `from_number` to `to_number` are those of `source_id`. The parts of a copy follow each other
-- without gaps from 1, and its own rows come after them.
create table copied_part (
    account_id bigint not null references account (id),
    kind bigint not null,
    from_number bigint not null,
    to_number bigint not null,
    source_id bigint not null references account (id),
    primary key (account_id, kind, to_number)
);
create index copied_part_source on copied_part (source_id, kind, to_number);
