-- What several servers on one database share beside the accounts themselves.

-- Whoever changes something of one account locks the row `account % 16` first, whoever changes anything else all of them in order. So
-- what is read and decided within a change is still true when it is written, on whichever node, as with SQLite's one writer.
create table gate (
    number bigint not null primary key
);

insert into gate (number) values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15);

-- Whoever advances a paper account locks the row `account % 256` while it decides: two nodes take turns. Nothing else waits for these, so that a turn
-- keeps nobody from anything but the same account.
create table turn (
    number bigint not null primary key
);

insert into turn (number) select high.number * 16 + low.number from gate high cross join gate low;

-- Numbers of the audit. The counter of that name is left as it was: changes of different accounts would wait for each other there.
-- Numbers of changes that were rolled back are missing.
create sequence audit_id;
select setval('audit_id', (select next from counter where name = 'audit'), false);

-- Who alone may do something, and until when by the clock of the database, in microseconds. As in the schema of the candles.
create table lease (
    name text collate "C" not null primary key,
    holder text collate "C" not null,
    until_us bigint not null
);

-- What one process keeps in memory holds over all nodes of a database here. PostgreSQL alone: with SQLite there is one process, and it stays
-- in memory. Times are microseconds of the database's clock. Nothing here outlives an hour or a connection but what is said to;
-- rows that have ended are removed by the nodes.

-- The servers on this database. One that was not seen for 15 s does not count, nor do its seats.
create table node (
    id bytea not null primary key,
    name text collate "C" not null,
    started_us bigint not null,
    seen_us bigint not null,
    -- The server of the database to which the node has brought the requests that it admitted last: see shared/rates.rs.
    incarnation text collate "C" not null
) with (fillfactor = 50);

-- When the last history requests of an account were admitted: newest first, 8 bytes each, big-endian. As many as its rule has requests.
create table rate_window (
    account_id bigint not null primary key,
    times bytea not null
) with (fillfactor = 30);
-- Within the row as long as it fits, and never compressed: both cost more than the decision.
alter table rate_window alter column times set storage external;

-- The general rule of quote commands: when the bucket of an account is full again.
create table call_bucket (
    account_id bigint not null primary key,
    full_us bigint not null
) with (fillfactor = 50);

-- Other windows: by address (registrations, devices), by account (searches, orders, …) and of all together (wrong codes).
create table pace (
    kind text collate "C" not null,
    key text collate "C" not null,
    times bytea not null,
    until_us bigint not null,
    primary key (kind, key)
) with (fillfactor = 50);
-- No index on until_us: it changes with every request, which then could not stay within its page.

-- One-time passwords that were issued and not used. One that has expired is remembered for ten minutes, to tell it from an unknown one.
create table one_time_password (
    hash bytea not null primary key,
    account_id bigint not null,
    caller bytea not null,
    issued_us bigint not null
);
create index one_time_password_account on one_time_password (account_id, issued_us);
create index one_time_password_issued on one_time_password (issued_us);

-- Signed-in connections. Each is of a node and goes with it.
create sequence seat_id;
create table seat (
    id bigint not null primary key,
    account_id bigint not null,
    node bytea not null,
    -- The same for all connections that one client opens one after the other.
    lineage bytea not null,
    door text collate "C" not null,
    address text collate "C" not null,
    since bigint not null,
    -- It has not answered for a while: another connection may take its seat if all are taken.
    is_silent boolean not null default false,
    -- Why it is to be closed by its node, if it is; then it is not counted any more.
    ending text collate "C"
);
create index seat_account on seat (account_id);
create index seat_node on seat (node);
-- For a node that looks once a second whether others have ended connections of its own.
create index seat_ending on seat (node) where ending is not null;

-- Accounts from which something was taken, by the version that it made: revoked, other terms, a right withdrawn, a token replaced or ended.
-- Nodes forget what they know of them, so that it is not good again when the database is away.
create table withdrawal (
    version bigint not null,
    account_id bigint not null,
    at_us bigint not null,
    primary key (version, account_id)
);

-- Which gateway a client uses, for those that do not say so when they reconnect, at whatever node.
create table session (
    lineage bytea not null primary key,
    gateway text collate "C" not null,
    seen_us bigint not null
) with (fillfactor = 80);
create index session_seen on session (seen_us);

-- Signatures of changes, each good once.
create table signature (
    fingerprint bytea not null primary key,
    app_key bytea not null,
    first_at bigint not null,
    until_at bigint not null
);
create index signature_until on signature (until_at);
create index signature_key on signature (app_key, until_at);

-- Failed sign-ins, the queue for them, addresses that have signed in, and devices that ask for their tokens.
create table guard (
    kind text collate "C" not null,
    key text collate "C" not null,
    number bigint not null,
    at_us bigint not null,
    until_us bigint not null,
    primary key (kind, key)
) with (fillfactor = 70);
create index guard_until on guard (until_us);
-- Rows that are locked while a sign-in is judged, by a hash of its name and of its address.
insert into guard (kind, key, number, at_us, until_us)
select 'lock', cast(number as text), 0, 0, 9223372036854775807 from generate_series(0, 15) as number;

-- Which key app secrets are sealed with: every node has it in a file, and the database never. Of the key there is a fingerprint here, so
-- that a node with another one is told so at its start.
create table sealing_key (
    number bigint not null primary key check (number = 1),
    fingerprint bytea not null
);

-- Candles that came later than they would have acted, and from when on they act instead, for a week. In seconds of the market's time.
create table arrival (
    symbol text collate "C" not null,
    session bigint not null,
    stamp bigint not null,
    arrived_at bigint not null,
    primary key (symbol, session, stamp)
);
create index arrival_at on arrival (arrived_at);
