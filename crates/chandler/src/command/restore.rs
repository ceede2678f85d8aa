//! `chandler restore`: replaces a store with a backup. No server may have the store open.

use std::io::Write;
use std::path::{Path, PathBuf};

use access::Actor;
use clap::{Args, ValueEnum};
use serde_json::json;
use store::{Existing, Manifest, Part, Restore, Restored, Scope, StoreUrl};

use super::backup::{
    CheckDepth, Interruptible, NOT_BLOCKS, UNCHANGED, VERSION, Words, describe, manifest_json, server,
};
use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::progress::Flags;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Backup folder
    source: PathBuf,
    /// Verify the backup without restoring it
    #[arg(long, conflicts_with_all = ["replace", "only", "key", "no_verify", "discard"])]
    check: bool,
    /// Replace an existing store with the backup; stop its server first
    #[arg(long)]
    replace: bool,
    /// With --replace: do not back up the store that is replaced
    #[arg(long, requires = "replace")]
    discard: bool,
    /// Restore only this database, and leave the other unchanged
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<OnlyArgument>,
    /// The secret.key that belongs to a backup made without it
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Compare checksums, but do not verify every page and block
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    progress: Flags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnlyArgument {
    Candles,
    Accounts,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let source = &arguments.source;
    let watched = Interruptible::begin(arguments.progress)?;
    let venues = context.history.venues();
    let words = Words { damaged: "the backup is damaged: use another one", stopped: UNCHANGED };
    if arguments.check {
        let manifest = watched.run(|watch| store::verify(source, watch))?;
        let looked = watched.check(source, venues, &words)?;
        return checked(arguments, &manifest, looked);
    }
    let actor = Actor::Operator.to_string();
    let directory = match context.url()? {
        StoreUrl::Path(directory) => directory,
        StoreUrl::Server(address) => {
            return server::say_restore(address, source, context, arguments.format);
        }
    };
    let restore = Restore {
        from: source,
        store: directory,
        scope: match arguments.only {
            None => Scope::All,
            Some(OnlyArgument::Candles) => Scope::Candles,
            Some(OnlyArgument::Accounts) => Scope::Accounts,
        },
        key: arguments.key.as_deref(),
        existing: match (arguments.replace, arguments.discard) {
            (false, _) => Existing::Refuse,
            (true, false) => Existing::Replace,
            (true, true) => Existing::ReplaceAndForget,
        },
        chandler: VERSION,
        now: Clock::Machine.now(),
        actor: &actor,
    };
    let prepared = watched.run(|watch| restore.prepare(watch))?;
    if !arguments.no_verify {
        // Checks the prepared copy, which has been migrated to the current schema.
        watched.check(prepared.dir(), venues, &words)?;
    }
    let restored = watched.run(|watch| prepared.go_live(watch))?;
    match arguments.format {
        Format::Json => Ok(output::json(&json!({
            "store": directory.display().to_string(), "manifest": manifest_json(&restored.manifest),
            "restored": restored.parts.iter().map(|part| part.file_name()).collect::<Vec<_>>(),
            "kept": restored.previous.as_ref().map(|path| path.display().to_string()),
            "still_revoked": restored.still_revoked, "gone": restored.gone,
        }))?),
        Format::Table => report(&restored, directory),
    }
}

fn checked(arguments: &Arguments, manifest: &Manifest, looked: CheckDepth) -> Result<(), Failure> {
    let verified = looked == CheckDepth::AtBlocks;
    if arguments.format == Format::Json {
        let backup = arguments.source.display().to_string();
        return Ok(output::json(
            &json!({"backup": backup, "verified": verified, "manifest": manifest_json(manifest)}),
        )?);
    }
    let mut out = output::stdout();
    describe(&mut out, manifest)?;
    let verdict = if verified { "no damage found" } else { NOT_BLOCKS };
    writeln!(out, "{}: {verdict}", arguments.source.display())?;
    Ok(out.flush()?)
}

/// Maximum number of names listed. If there are more, only their number is shown.
const NAMES_SHOWN: usize = 20;

fn report(restored: &Restored, directory: &Path) -> Result<(), Failure> {
    let mut out = output::stdout();
    describe(&mut out, &restored.manifest)?;
    let parts = restored.parts.iter().map(|part| part.file_name()).collect::<Vec<_>>().join(" and ");
    writeln!(out, "restored {parts} in {}", directory.display())?;
    if restored.parts.contains(&Part::Accounts) {
        writeln!(out, "sessions have ended: users must sign in again; API keys are those of the backup")?;
    }
    let names = |out: &mut dyn Write, what: &str, all: &[String]| -> std::io::Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        let mut shown: Vec<String> =
            all.iter().take(NAMES_SHOWN).map(|name| output::printable(name)).collect();
        if all.len() > NAMES_SHOWN {
            shown.push(format!("and {} more", all.len() - NAMES_SHOWN));
        }
        writeln!(out, "{what}: {}", shown.join(", "))
    };
    names(&mut out, "revoked since the backup, and still revoked", &restored.still_revoked)?;
    names(&mut out, "not in the backup, and removed", &restored.gone)?;
    if let Some(stored) = &restored.previous {
        writeln!(out, "the previous files are in {}", stored.display())?;
    }
    Ok(out.flush()?)
}
