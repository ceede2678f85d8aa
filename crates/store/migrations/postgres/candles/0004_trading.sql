-- What orders need to know of a security. A kind that is null has not been told. From `delisted_on` on it is not traded.
alter table security add column kind text collate "C";
alter table security add column delisted_on text collate "C";

-- When the cash of an action is paid; null where that is not known.
alter table corporate_action add column pay_date text collate "C";

-- Initial, maintenance and forced-sale margin, as decimals. A symbol may be here before anything else is known of it.
create table margin (
    symbol text collate "C" not null primary key,
    im text collate "C" not null,
    mm text collate "C" not null,
    fm text collate "C" not null
);
