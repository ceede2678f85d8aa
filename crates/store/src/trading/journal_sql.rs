//! SQL statements for the journals of paper accounts.

use crate::accounts::copied_parts::{part_after, stored_by};
use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    HEAD: "read a journal head",
        "select revision, last_number, horizon, wake from sealed_journal_head where account_id = $1";
    HEAD_AND_VERSION: "read a journal head",
        "select revision, last_number, horizon, wake, (select next from counter where name = 'version') \
         from sealed_journal_head where account_id = $1";
    HEADS: "list the journals",
        "select account_id, revision, last_number, horizon, wake from sealed_journal_head order by account_id";
    DUE: "list the pending accounts",
        "select account_id from sealed_journal_head head where wake <= $1 \
         and not exists (select 1 from sealed_world world where world.account_id = head.account_id) \
         order by wake, account_id limit $2";
    NEXT_WAKE: "find the next pending account",
        "select wake from sealed_journal_head head where wake is not null \
         and not exists (select 1 from sealed_world world where world.account_id = head.account_id) \
         order by wake limit 1";
    PUT_HEAD: "record a journal head",
        "insert into journal_head (account_id, revision, last_number, horizon, wake) values ($1, $2, $3, $4, $5) \
         on conflict (account_id) do update set revision = excluded.revision, last_number = excluded.last_number, \
            horizon = excluded.horizon, wake = excluded.wake";
    MOVE_HEAD: "advance a journal head",
        "update journal_head set revision = $1, last_number = $2, horizon = $3, wake = $4 \
         where account_id = $5 and revision = $6 and last_number = $7 and horizon = $8 and wake is not distinct from $9";

    ENTRIES: "read a journal",
        concat!(
            "select number, at, entry, account_id, ",
            part_after!("to_number", 1),
            " from sealed_journal where account_id = coalesce(",
            part_after!("source_id", 1),
            ", $1) and number > $2 and number <= coalesce(",
            part_after!("to_number", 1),
            ", $3) and number <= $3 order by number limit $4"
        );
    INSTANT: "find a place in a journal",
        concat!("select at from sealed_journal where account_id = ", stored_by!(1), " and number = $2");
    ADD_ENTRY: "write to a journal",
        "insert into journal (account_id, number, at, entry) values ($1, $2, $3, $4)";
    CUT: "cut a journal", "delete from journal where account_id = $1 and number > $2";

    SNAPSHOT: "read a snapshot",
        "select number, state from sealed_journal_snapshot where account_id = $1 and format = $2";
    PUT_SNAPSHOT: "store a snapshot",
        "insert into journal_snapshot (account_id, number, format, state) values ($1, $2, $3, $4) \
         on conflict (account_id) do update set number = excluded.number, format = excluded.format, state = excluded.state";
    DROP_SNAPSHOT: "drop a snapshot", "delete from journal_snapshot where account_id = $1";

    REQUEST: "find a request",
        "select answer from sealed_journal_request where account_id = $1 and name = $2 and at > $3";
    PUT_REQUEST: "record a request",
        "insert into journal_request (account_id, name, answer, at) values ($1, $2, $3, $4) \
         on conflict (account_id, name) do update set answer = excluded.answer, at = excluded.at";
    FORGET_REQUESTS: "delete requests",
        "delete from journal_request where (account_id, name) in \
            (select account_id, name from journal_request where at <= $1 order by at limit $2)";

    FORGET_REQUESTS_OF: "delete the requests of an account", "delete from journal_request where account_id = $1";

    NUMBERS_USED: "read the issued numbers", "select next from counter where name = $1";
    RAISE_NUMBERS_USED: "record the issued numbers",
        "insert into counter (name, next) values ($1, $2) on conflict (name) do update \
         set next = case when excluded.next > counter.next then excluded.next else counter.next end";

    HAS_CUT: "find a cut", "select exists (select 1 from sealed_journal_cut where account_id = $1 and name = $2)";
    ADD_CUT: "record a cut",
        "insert into journal_cut (account_id, name, rewound_to, horizon, cut_at) values ($1, $2, $3, $4, $5)";
    CUTS: "list the cuts",
        "select c.name, c.rewound_to, c.horizon, c.cut_at, \
            (select count(*) from journal_cut_entry e where e.account_id = c.account_id and e.name = c.name) \
         from sealed_journal_cut c where c.account_id = $1 order by c.cut_at, c.name";
    ADD_CUT_ENTRIES: "archive a cut",
        "insert into journal_cut_entry (account_id, name, number, at, entry) \
         select account_id, $1, number, at, entry from sealed_journal where account_id = $2 and number > $3";
    ADD_CUT_SHARED: "archive a cut",
        "insert into journal_cut_entry (account_id, name, number, at, entry) \
         select part.account_id, $1, shared.number, shared.at, shared.entry \
         from sealed_copied_part part join sealed_journal shared on shared.account_id = part.source_id \
            and shared.number >= part.from_number and shared.number <= part.to_number \
         where part.account_id = $2 and part.kind = 1 and part.to_number > $3 and shared.number > $3";
    CUT_ENTRIES: "read an archived cut",
        "select number, at, entry, account_id from sealed_journal_cut_entry \
         where account_id = $1 and name = $2 and number > $3 order by number limit $4";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These statements run for every request of a paper account, so they must not scan a table.
    #[test]
    fn journal_statements_use_the_indexes() {
        let all = [
            HEAD,
            HEAD_AND_VERSION,
            DUE,
            NEXT_WAKE,
            PUT_HEAD,
            MOVE_HEAD,
            ENTRIES,
            INSTANT,
            ADD_ENTRY,
            ADD_CUT_SHARED,
            CUT,
            SNAPSHOT,
            PUT_SNAPSHOT,
            REQUEST,
            PUT_REQUEST,
        ];
        crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &all);
    }
}
