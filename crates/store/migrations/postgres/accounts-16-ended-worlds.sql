-- Machine time at which a server noticed that a world has ended. Null while it has not.
alter table world add column ended_at bigint;
