//! `chandler topic`: lists and hides posts about securities. The command changes the store
//! directly, whether or not a server is running; a change takes effect with the next request.

use std::io::Write;

use access::Actor;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use social::{
    Community, Hiding, PageOf, ReplyRow, SocialError, TopicRow, TopicTarget, VisibilityOutcome, hide_reason,
};

use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::open_accounts;
use crate::output::{self, Column, Format};

/// Maximum length of a post's text in a table, in characters.
const SHOWN_CHARS_MAX: usize = 60;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the topics, newest first, or only hidden ones
    List(List),
    /// Hide a topic or a reply: only its author sees it, with the reason
    Hide(Hide),
    /// Show a hidden topic or reply again
    Restore(Restore),
}

#[derive(Debug, Args)]
struct List {
    /// Only hidden topics, followed by hidden replies
    #[arg(long)]
    hidden: bool,
    /// Maximum number of topics
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Hide {
    /// Number of the topic or reply, as in `chandler topic list` and in its address
    id: i64,
    /// Reason, shown to the author and recorded in the audit log
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Restore {
    /// Number of the topic or reply, as in `chandler topic list --hidden`
    id: i64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    context.open(store::Access::Read)?;
    let community = Community::new(open_accounts(context)?.database());
    let (now, actor) = (Clock::Machine.now(), Actor::Operator.to_string());
    match &arguments.action {
        Action::List(list) => list.run(&community),
        Action::Hide(Hide { id, reason, format }) => {
            let reason = hide_reason(reason).map_err(usage)?;
            to_failure(*id, "hidden", community.hide(*id, reason, (now, &actor)), *format)
        }
        Action::Restore(Restore { id, format }) => {
            to_failure(*id, "shown", community.restore(*id, (now, &actor)), *format)
        }
    }
}

impl List {
    fn run(&self, community: &Community) -> Result<(), Failure> {
        let page = PageOf { limit: self.limit, offset: 0 };
        let posts: Vec<Post> = if self.hidden {
            let (topics, replies) = (community.hidden_topics(page)?, community.hidden_replies(page)?);
            let topics = topics.into_iter().map(Post::of_topic);
            topics.chain(replies.into_iter().map(Post::of_reply)).collect()
        } else {
            community.all_topics(page)?.into_iter().map(Post::of_topic).collect()
        };
        if self.format == Format::Json {
            let rows: Vec<Value> = posts.iter().map(Post::document).collect();
            return Ok(output::json(&rows)?);
        }
        let mut out = output::stdout();
        if posts.is_empty() {
            writeln!(out, "{}", if self.hidden { "nothing is hidden" } else { "no topics" })?;
            return Ok(out.flush()?);
        }
        let columns = [
            Column::Right("id"),
            Column::Left("what"),
            Column::Left("author"),
            Column::Left("time"),
            Column::Left("text"),
            Column::Left("hidden because"),
        ];
        writeln!(
            out,
            "{}",
            output::text(
                output::table(&columns, posts.iter().map(Post::cells)).optional(&["time", "author"])
            )
        )?;
        Ok(out.flush()?)
    }
}

/// Topic or reply, as shown in a list.
struct Post {
    id: i64,
    what: &'static str,
    topic: i64,
    author: String,
    account: i64,
    created_at: String,
    title: String,
    body: String,
    hidden: Option<Hiding>,
}

impl Post {
    fn of(target: TopicTarget) -> Post {
        match target {
            TopicTarget::Topic(topic) => Post::of_topic(topic),
            TopicTarget::Reply(reply) => Post::of_reply(reply),
        }
    }

    fn of_topic(row: TopicRow) -> Post {
        Post {
            id: row.id.0,
            what: "topic",
            topic: row.id.0,
            author: row.author_name,
            account: row.author.0,
            created_at: row.created_at.to_string(),
            title: row.title,
            body: row.body,
            hidden: row.hidden,
        }
    }

    fn of_reply(row: ReplyRow) -> Post {
        Post {
            id: row.id.0,
            what: "reply",
            topic: row.topic.0,
            author: row.author_name,
            account: row.author.0,
            created_at: row.created_at.to_string(),
            title: String::new(),
            body: row.body,
            hidden: row.hidden,
        }
    }

    fn cells(&self) -> Vec<String> {
        let text = if self.title.is_empty() { &self.body } else { &self.title };
        let what =
            if self.what == "reply" { format!("reply to {}", self.topic) } else { self.what.to_owned() };
        vec![
            self.id.to_string(),
            what,
            self.author.clone(),
            self.created_at.clone(),
            text.chars().take(SHOWN_CHARS_MAX).collect(),
            self.hidden.as_ref().map(|hiding| hiding.reason.clone()).unwrap_or_default(),
        ]
    }

    fn document(&self) -> Value {
        json!({
            "id": self.id.to_string(), "what": self.what, "topic_id": self.topic.to_string(), "author": self.author,
            "account_id": self.account, "created_at": self.created_at, "title": self.title, "body": self.body,
            "hidden_at": self.hidden.as_ref().map(|hiding| hiding.at.to_string()),
            "hidden_because": self.hidden.as_ref().map(|hiding| hiding.reason.clone()).unwrap_or_default(),
        })
    }
}

fn to_failure(
    id: i64,
    state: &str,
    done: Result<VisibilityOutcome, SocialError>,
    format: Format,
) -> Result<(), Failure> {
    let (target, words) = match done? {
        VisibilityOutcome::Changed(target) => (target, "is now"),
        VisibilityOutcome::Unchanged(target) => (target, "was already"),
        VisibilityOutcome::Absent => {
            return Err(anyhow!("there is no topic or reply {id}: `chandler topic list` shows them").into());
        }
    };
    let post = Post::of(target);
    if format == Format::Json {
        return Ok(output::json(&post.document())?);
    }
    let mut out = output::stdout();
    writeln!(out, "{} {id} of {} {words} {state}", post.what, post.author)?;
    Ok(out.flush()?)
}
