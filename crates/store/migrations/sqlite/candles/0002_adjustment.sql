-- What a symbol's corporate actions and daily closes come to, so that an adjusted answer need not decode years of
-- closes. Reckoned again after either has changed; a row that is not there is reckoned when it is asked for. No
-- WITHOUT ROWID around a blob.

create table adjustment (
    symbol text not null primary key references security (symbol),
    factors blob not null
);
