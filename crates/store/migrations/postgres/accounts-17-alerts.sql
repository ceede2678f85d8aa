-- Price alerts. `seen_` and `met` are the last quote that was compared, `revision` grows with each
-- change of the row, so that an alert fires once although several servers compare the same quotes.
-- Prices and percentages are in millionths.
insert into counter (name, next) values ('alert', 1);

create table alert (
    id bigint not null primary key,
    account_id bigint not null references account (id),
    symbol text collate "C" not null,
    condition text collate "C" not null,
    value bigint not null,
    frequency text collate "C" not null,
    enabled bigint not null,
    revision bigint not null,
    created_at bigint not null,
    met bigint not null,
    seen_at bigint,
    seen_day text collate "C",
    seen_high bigint,
    seen_low bigint,
    seen_last bigint,
    fired_on text collate "C"
);
create index alert_account on alert (account_id, id);
create index alert_enabled on alert (enabled, id);

-- The last alerts that fired, by account, with their conditions at that time.
create table alert_firing (
    account_id bigint not null references account (id),
    number bigint not null,
    alert_id bigint not null,
    symbol text collate "C" not null,
    condition text collate "C" not null,
    value bigint not null,
    at bigint not null,
    price bigint not null,
    primary key (account_id, number)
);

-- An account's drawings on the chart of a security, as text that only the pages interpret.
create table drawing (
    account_id bigint not null references account (id),
    symbol text collate "C" not null,
    items text collate "C" not null,
    updated_at bigint not null,
    primary key (account_id, symbol)
);
