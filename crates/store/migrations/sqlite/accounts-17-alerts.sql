-- Price alerts. `seen_` and `met` are the last quote that was compared, `revision` grows with each
-- change of the row, so that an alert fires once although several servers compare the same quotes.
-- Prices and percentages are in millionths.
insert into counter (name, next) values ('alert', 1);

create table alert (
    id integer not null primary key,
    account_id bigint not null references account (id),
    symbol text not null,
    condition text not null,
    value bigint not null,
    frequency text not null,
    enabled bigint not null,
    revision bigint not null,
    created_at bigint not null,
    met bigint not null,
    seen_at bigint,
    seen_day text,
    seen_high bigint,
    seen_low bigint,
    seen_last bigint,
    fired_on text,
    seal bigint not null default 0
);
create index alert_account on alert (account_id, id);
create index alert_enabled on alert (enabled, id);

-- The last alerts that fired, by account, with their conditions at that time.
create table alert_firing (
    account_id bigint not null references account (id),
    number bigint not null,
    alert_id bigint not null,
    symbol text not null,
    condition text not null,
    value bigint not null,
    at bigint not null,
    price bigint not null,
    seal bigint not null default 0,
    primary key (account_id, number)
) without rowid;

-- An account's drawings on the chart of a security, as text that only the pages interpret.
create table drawing (
    account_id bigint not null references account (id),
    symbol text not null,
    items text not null,
    updated_at bigint not null,
    seal bigint not null default 0,
    primary key (account_id, symbol)
) without rowid;
