//! Every statement about the audit.

use crate::db::{Sql, statements};

statements! {
    WRITE: "write to the audit",
        "insert into audit (id, at, actor, account_id, event, reason) values ($1, $2, $3, $4, $5, $6)";
    READ: "read the audit",
        "select id, at, actor, account_id, event, reason from audit \
         where id < $1 and at >= $2 and ($3 is null or event = $3) order by id desc limit $4";
    READ_OF: "read the audit of an account",
        "select id, at, actor, account_id, event, reason from audit \
         where account_id = $1 and id < $2 and at >= $3 and ($4 is null or event = $4) order by id desc limit $5";
    AT_WILL: "look at what an account has done of late",
        "select at from audit where account_id = $1 and actor = $2 and event in ('login.accepted', 'code.approved', 'code.denied', \
            'device.approved', 'device.denied', 'connection.closed') order by id desc limit 1 offset $3";
    PRUNE: "forget old rows of the audit",
        "delete from audit where id in (select id from audit where at < $1 order by id limit $2)";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_first_appear_in_ascending_order() {
        crate::db::placeholders_ascend(ALL);
    }

    #[test]
    fn every_statement_fits_the_schema() {
        let conn = crate::db::schema_of(crate::migrate::ACCOUNTS);
        for sql in ALL {
            conn.prepare(sql.text).unwrap_or_else(|error| panic!("{error}: {}", sql.text));
        }
    }
}
