-- The most distinct securities that an account subscribes to on all its connections. Accounts
-- without limits stay without limits.
alter table account add column subscriptions bigint not null default 500;
update account set subscriptions = 100000
where quota = 100000 and rate = 'unlimited' and connections = 1000 and floors = 'none';
