-- What paper accounts contribute to levels. It follows from their journals: may be deleted at any time, and is worked out anew.

-- What an account had on paper at the end of a day in Hong Kong, in ten-thousandths of the currency; less than 0 where it owes.
create table paper_asset (
    account_id bigint not null references account (id),
    day text collate "C" not null,
    currency text collate "C" not null,
    amount bigint not null,
    primary key (account_id, day, currency)
);

-- How many orders have their first fill booked on a day.
create table paper_order_count (
    account_id bigint not null references account (id),
    day text collate "C" not null,
    orders bigint not null,
    primary key (account_id, day)
);

-- On which day of the market it was last worked out, and from which era of the journal.
create table paper_tally (
    account_id bigint not null primary key references account (id),
    day text collate "C" not null,
    era bigint not null
);
