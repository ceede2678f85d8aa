-- What a symbol's corporate actions and daily closes come to, so that an adjusted answer need not decode years of
-- closes. Reckoned again after either has changed; a row that is not there is reckoned when it is asked for.

create table adjustment (
    symbol text collate "C" not null primary key references security (symbol),
    factors bytea not null
);
