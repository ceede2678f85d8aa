-- What several servers on one database need to know of each other's writing.

-- The version of the store with which something of a symbol was last changed: which symbols a node's local copy has to fetch again.
-- A symbol that was removed stays here, so it refers to no security.
create table touched (
    symbol text collate "C" not null primary key,
    version bigint not null
);

create index touched_version on touched (version);

-- Which database this is: a local copy of another one, though it be of the same name, is of no use.
create table identity (
    id text collate "C" not null primary key
);

insert into identity (id) values (cast(gen_random_uuid() as text));

-- A stamp for each commit that made a version. Versions that were lost with a failed server, or by going back to a backup, are counted
-- again: by the stamp a local copy of the lost ones is told apart.
create table lineage (
    version bigint not null primary key,
    stamp text collate "C" not null
);

-- Bodies of blocks that were replaced (kind 0 for candles, 1 for trades), and when, in microseconds. They stay for a while: a node that
-- reads the state before fetches bodies by their ids.
create table retired_body (
    kind bigint not null,
    id bigint not null,
    at_us bigint not null,
    primary key (kind, id)
);

create index retired_body_at on retired_body (at_us);

-- Who alone may do something, and until when by the clock of the database, in microseconds: the one import that writes, and jobs
-- that only one process runs. Whoever holds one renews it; a writer locks its row in each of its transactions.
create table lease (
    name text collate "C" not null primary key,
    holder text collate "C" not null,
    until_us bigint not null
);
