-- What several servers on one database need to know of each other's writing.

-- The version of the store with which something of a symbol was last changed: which symbols a node's local copy has to fetch again.
-- A symbol that was removed stays here, so it refers to no security.
create table touched (
    symbol text collate "C" not null primary key,
    version bigint not null
);

create index touched_version on touched (version);

-- Who alone may do something, and until when by the clock of the database, in microseconds: the one import that writes, and jobs
-- that only one process runs. Whoever holds one renews it; a writer locks its row in each of its transactions.
create table lease (
    name text collate "C" not null primary key,
    holder text collate "C" not null,
    until_us bigint not null
);
