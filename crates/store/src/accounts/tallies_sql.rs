//! SQL statements of the contribution of paper accounts to levels.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    UNTALLIED: "list the paper accounts that were not tallied",
        "select h.account_id from sealed_journal_head h where h.account_id > $1 and not exists \
            (select 1 from sealed_paper_tally t \
             where t.account_id = h.account_id and t.day = $2 and t.era = h.revision / 4294967296) \
         order by h.account_id limit $3";
    TALLIED: "look when a paper account was tallied", "select day, era from sealed_paper_tally where account_id = $1";
    PUT_TALLY: "note that a paper account was tallied",
        "insert into paper_tally (account_id, day, era) values ($1, $2, $3) \
         on conflict (account_id) do update set day = excluded.day, era = excluded.era";
    ANY_TALLY: "look for tallies of paper accounts", "select exists (select 1 from sealed_paper_tally)";

    ASSETS_AS_OF: "read what an account had on paper",
        "select a.day, a.currency, a.amount, \
            coalesce( \
                (select r.rate from sealed_exchange_rate r where r.currency = a.currency and r.day <= a.day \
                 order by r.day desc limit 1), \
                (select r.rate from sealed_exchange_rate r where a.currency = 'CNH' and r.currency = 'CNY' \
                 and r.day <= a.day order by r.day desc limit 1)) \
         from sealed_paper_asset a where a.account_id = $1 \
            and a.day = (select max(b.day) from sealed_paper_asset b where b.account_id = $1 and b.day <= $2) \
         order by a.currency";
    ASSETS_ON: "read what an account had on paper on a day",
        "select currency, amount from sealed_paper_asset where account_id = $1 and day = $2 order by currency";
    CUT_ASSETS_ON: "take back what an account had on paper on a day",
        "delete from paper_asset where account_id = $1 and day = $2";
    ADD_ASSETS: "note what an account had on paper",
        "insert into paper_asset (account_id, day, currency, amount) values ($1, $2, $3, $4)";

    ORDERS_BETWEEN: "count the orders of an account on paper",
        "select cast(coalesce(sum(orders), 0) as bigint) from sealed_paper_order_count where account_id = $1 and day >= $2 and day < $3";
    ORDERS_FROM: "list the orders of an account on paper",
        "select day, orders from sealed_paper_order_count where account_id = $1 and day >= $2 order by day";
    ADD_ORDERS: "note the orders of an account on paper",
        "insert into paper_order_count (account_id, day, orders) values ($1, $2, $3)";

    CUT_ASSETS: "take back what an account had on paper",
        "delete from paper_asset where account_id = $1 and day >= $2";
    CUT_ORDERS: "take back the orders of an account on paper",
        "delete from paper_order_count where account_id = $1 and day >= $2";
    CUT_TALLY: "note that a paper account is to be tallied anew", "delete from paper_tally where account_id = $1";

    DROP_ASSETS: "forget what accounts had on paper", "delete from paper_asset";
    DROP_ORDERS: "forget the orders of accounts on paper", "delete from paper_order_count";
    DROP_TALLIES: "forget when paper accounts were tallied", "delete from paper_tally";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These run for each account at the start of a day.
    #[test]
    fn reading_tallies_for_a_level_uses_the_indexes() {
        let all = [TALLIED, ASSETS_AS_OF, ASSETS_ON, ORDERS_BETWEEN, ORDERS_FROM];
        crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &all);
    }
}
