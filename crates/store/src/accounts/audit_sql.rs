//! SQL statements of the audit log.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    // With a sequence, changes of different accounts do not wait for each other. Ids may have gaps.
    NEXT_ID: "take new ids", "update counter set next = next + 1 where name = 'audit' returning next - 1"
        => "select nextval('audit_id')";
    WRITE: "write to the audit",
        "insert into audit (id, at, actor, account_id, event, reason) values ($1, $2, $3, $4, $5, $6)";
    READ: "read the audit",
        "select id, at, actor, account_id, event, reason from sealed_audit \
         where id < $1 and at >= $2 and (cast($3 as text) is null or event = $3) order by id desc limit $4";
    READ_OF: "read the audit of an account",
        "select id, at, actor, account_id, event, reason from sealed_audit \
         where account_id = $1 and id < $2 and at >= $3 and (cast($4 as text) is null or event = $4) order by id desc limit $5";
    AT_WILL: "look at what an account has done of late",
        "select at from sealed_audit where account_id = $1 and actor = $2 and event in ('login.accepted', 'code.approved', 'code.denied', \
            'device.approved', 'device.denied', 'connection.closed') order by id desc limit 1 offset $3";
    PRUNE: "forget old rows of the audit",
        "delete from audit where id in (select id from audit where at < $1 order by id limit $2)";
    HAS_OLDER: "look for old rows of the audit",
        "select exists (select 1 from audit where at < $1)";
    PRUNE_OLDEST: "forget the oldest rows of the audit",
        "delete from audit where at < $1 and id in (select id from audit order by id limit $2)";
}
