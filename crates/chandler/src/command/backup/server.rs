//! Backups of stores on PostgreSQL, which are made with PostgreSQL's own tools. This module prints
//! the commands and verifies the results.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use store::{Access, Accounts, Address, Depth, Scratch, Store, StoreError, StoreUrl};

use super::Interruptible;
use crate::clock::Clock;
use crate::command::check;
use crate::context::{CommandContext, shell_word, store_word};
use crate::failure::{Failure, usage};
use crate::output::{self, Format};
use crate::progress;

/// Suggested command for a task that PostgreSQL's tools perform.
struct Instead {
    what: &'static str,
    command: String,
}

/// Prints the commands that back up a store on PostgreSQL. Always returns an error, because nothing
/// was copied.
pub(crate) fn say_backup(
    address: &Address,
    to: &Path,
    context: &CommandContext,
    format: Format,
) -> Result<(), Failure> {
    let day: String = Clock::Machine.now().to_string().chars().filter(char::is_ascii_digit).take(8).collect();
    let (dump, base) = (to.join(format!("chandler-{day}.dump")), to.join(format!("base-{day}")));
    let [dump, base] = [dump, base].map(|path| shell_word(&path.display().to_string()));
    let (with, url) = (with_password(address), shell_word(&address.for_tools()));
    let schemas = address.schemas().map(|schema| format!("--schema={schema}")).join(" ");
    let mut all = vec![
        Instead {
            what: "one file with a consistent snapshot of both schemas; servers may keep running",
            command: format!(
                "mkdir -p {} && {with}pg_dump --format=custom {schemas} --file={dump} --dbname={url}",
                shell_word(&to.display().to_string())
            ),
        },
        Instead {
            what: "verification: restores the file into a temporary database and reads it completely",
            command: format!(
                "chandler --store {} backup --verify {dump}",
                shell_word(&store_word(context.url()?))
            ),
        },
        Instead {
            what: "the whole server; with WAL archiving, any later point in time can be restored (docs/scaling.md)",
            command: format!(
                "{with}pg_basebackup --pgdata={base} --wal-method=stream --checkpoint=fast --dbname={url} && pg_verifybackup {base}"
            ),
        },
    ];
    if let Some(key) = context.key_file() {
        all.push(Instead {
            what: "the key file for app secrets, which no backup contains: store a copy elsewhere",
            command: format!("install -m 600 {} PLACE", shell_word(&key.display().to_string())),
        });
    }
    say(&all, format)?;
    Err(usage(
        "a store on PostgreSQL is backed up with pg_dump or pg_basebackup: the commands are on standard output",
    ))
}

/// Prints the commands that restore a store on PostgreSQL, or returns an error if a server is using
/// the store. An unreachable database is accepted, because it may be the reason for the restore.
/// Always returns an error, because nothing was restored.
pub(crate) fn say_restore(
    address: &Address,
    from: &Path,
    context: &CommandContext,
    format: Format,
) -> Result<(), Failure> {
    if let Ok(running @ 1..) = store::servers(context.url()?) {
        let servers = output::count(running, "server");
        return Err(
            anyhow!("the store at {address} is open in {servers}: stop every server, then retry").into()
        );
    }
    let (with, url) = (with_password(address), shell_word(&address.for_tools()));
    let file = shell_word(&from.display().to_string());
    let store = shell_word(&store_word(context.url()?));
    let all = [
        Instead {
            what: "with every server stopped: replaces the store with a pg_dump file, in one transaction",
            command: format!(
                "{with}pg_restore --clean --if-exists --single-transaction --no-owner --dbname={url} {file}"
            ),
        },
        Instead {
            what: "verification of the restored store",
            command: format!("chandler --store {store} check"),
        },
    ];
    say(&all, format)?;
    Err(usage(
        "a store on PostgreSQL is restored with pg_restore or from a base backup: the commands are on standard output",
    ))
}

/// Returns a shell prefix that sets `PGPASSWORD`, because PostgreSQL's programs do not read the
/// password file named in the address.
fn with_password(address: &Address) -> String {
    address.password_file().map_or_else(String::new, |path| {
        format!("PGPASSWORD=\"$(cat {})\" ", shell_word(&path.display().to_string()))
    })
}

fn say(all: &[Instead], format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let all: Vec<Value> =
            all.iter().map(|one| json!({"what": one.what, "command": one.command})).collect();
        return Ok(output::json(&json!({"instead": all}))?);
    }
    let mut out = output::stdout();
    for Instead { what, command } in all {
        writeln!(out, "# {what}\n{command}\n")?;
    }
    Ok(out.flush()?)
}

/// Verifies a `pg_dump` file by restoring it into another database, or a `pg_basebackup` folder
/// against its manifest.
pub(crate) fn verify(
    address: &Address,
    backup: &Path,
    into: Option<&str>,
    context: &CommandContext,
    flags: progress::Flags,
    format: Format,
) -> Result<(), Failure> {
    if backup.is_dir() {
        return verify_base(backup, format);
    }
    std::fs::File::open(backup)
        .map_err(|error| usage(format!("cannot read {}: {error}", backup.display())))?;
    check_contents(address, backup)?;
    let watched = Interruptible::begin(flags)?;
    let scratch = match into {
        None => Some(scratch(address)?),
        Some(_) => None,
    };
    let target = match (into, &scratch) {
        (Some(text), _) => named_target(text, address)?,
        (None, Some(scratch)) => scratch.address().clone(),
        (None, None) => address.clone(),
    };
    flags.note(&format!("restoring {} into {} …", backup.display(), target.database()));
    let restored = restore(&target, backup);
    if watched.go_on().is_break() {
        return Err(Failure::Interrupted(format!("stopped: {} is not verified", backup.display())));
    }
    restored?;
    let place = StoreUrl::from(&target);
    let looked = look(&place, context, flags);
    drop(scratch);
    let (report, accounts, findings) = looked?;
    let problems: Vec<String> =
        report.damage.iter().map(|damage| damage.problem.clone()).chain(findings).collect();
    let is_whole = problems.is_empty();
    match format {
        Format::Json => output::json(&json!({
            "backup": backup.display().to_string(), "verified": is_whole, "blocks": report.blocks, "candles": report.rows,
            "trades": report.trades, "accounts": accounts, "damage": problems,
        }))?,
        Format::Table => {
            let mut out = output::stdout();
            for problem in &problems {
                writeln!(out, "{}", output::printable(problem))?;
            }
            let verdict = if is_whole { "no damage found" } else { "damaged" };
            writeln!(
                out,
                "{}: restored and verified: {} in {}, {}: {verdict}",
                backup.display(),
                output::count(report.rows, "candle"),
                output::count(report.blocks, "block"),
                output::count(accounts, "account"),
            )?;
            if let Some(into) = into {
                writeln!(
                    out,
                    "the restored copy remains in {into}: drop that database when it is no longer needed"
                )?;
            }
            out.flush()?;
        }
    }
    match is_whole {
        true => Ok(()),
        false => {
            output::note("chandler: the backup is damaged: use an older one");
            Err(Failure::Reported)
        }
    }
}

type Looked = (history::CheckReport, u64, Vec<String>);

fn look(place: &StoreUrl, context: &CommandContext, flags: progress::Flags) -> Result<Looked, Failure> {
    let store = Store::open(place, Access::Read)?;
    let report = check::watched(&store, context.history.venues(), flags)?;
    if !Accounts::is_there(place)? {
        return Ok((report, 0, Vec::new()));
    }
    let accounts = Accounts::look(place)?;
    let findings = accounts.check(Depth::Full)?.iter().map(ToString::to_string).collect();
    Ok((report, accounts.count()?, findings))
}

/// Parses the `--into` database and checks that it contains no store. The flag is for operators who
/// may not create databases.
fn named_target(text: &str, address: &Address) -> Result<Address, Failure> {
    let place = crate::context::place(text, "--into")?;
    let StoreUrl::Server(target) = &place else {
        return Err(usage(
            "--into names a database on PostgreSQL: write --into postgres://USER@HOST/DATABASE",
        ));
    };
    let [candles, accounts] = address.schemas();
    if target.schemas() != address.schemas() {
        return Err(usage(format!(
            "the restored schemas are named {candles} and {accounts}: write the same `schema=` in --into as in \
            --store, with another database"
        )));
    }
    match Store::open(&place, Access::Read) {
        Err(StoreError::Absent { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(_) => return Err(anyhow!("{place} contains a store: name an empty database").into()),
    }
    Ok((**target).clone())
}

fn scratch(address: &Address) -> Result<Scratch, Failure> {
    let name =
        format!("{}_verify_{}", address.database().chars().take(40).collect::<String>(), std::process::id());
    Scratch::create(address, &name).map_err(|error| match error {
        StoreError::NoRights { .. } | StoreError::Engine { .. } => anyhow!(
            "{error}: `alter role {} createdb`, or name an empty database with --into postgres://USER@HOST/DATABASE",
            address.user()
        )
        .into(),
        error => error.into(),
    })
}

/// Checks that a `pg_dump` file contains this store's schemas. A readable file may be a dump of
/// another database.
fn check_contents(address: &Address, dump: &Path) -> Result<(), Failure> {
    let listed = run(tool("pg_restore")?.arg("--list").arg(dump), dump)?;
    for schema in address.schemas() {
        let has = |line: &str| line.contains(&format!(" TABLE DATA {schema} "));
        if !listed.lines().any(has) {
            return Err(anyhow!(
                "{} does not contain the schema {schema}: create it with the command that `chandler backup` prints",
                dump.display()
            )
            .into());
        }
    }
    Ok(())
}

fn restore(target: &Address, dump: &Path) -> Result<(), Failure> {
    let mut command = tool("pg_restore")?;
    command
        .args(["--exit-on-error", "--no-owner", "--no-privileges", "--dbname", &target.for_tools()])
        .arg(dump);
    if let Some(path) = target.password_file() {
        let password =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        command.env("PGPASSWORD", password.trim_end_matches(['\r', '\n']));
    }
    run(&mut command, dump).map(drop)
}

fn verify_base(folder: &Path, format: Format) -> Result<(), Failure> {
    if !folder.join("backup_manifest").is_file() {
        return Err(usage(format!(
            "{} is not a pg_basebackup folder: it has no backup_manifest; a backup of a directory is verified with \
             `chandler restore {} --check`",
            folder.display(),
            folder.display()
        )));
    }
    run(tool("pg_verifybackup")?.arg("--quiet").arg(folder), folder)?;
    if format == Format::Json {
        return Ok(output::json(&json!({"backup": folder.display().to_string(), "verified": true}))?);
    }
    let mut out = output::stdout();
    writeln!(out, "{}: every file matches the manifest of pg_basebackup", folder.display())?;
    Ok(out.flush()?)
}

/// Finds one of PostgreSQL's programs. Returns an error if it is not installed.
fn tool(name: &str) -> Result<Command, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain(debian())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    let found = found.ok_or_else(|| {
        anyhow!("{name} is not installed: install PostgreSQL's client programs (Debian: postgresql-client)")
    })?;
    Ok(Command::new(found))
}

/// Returns the folders where Debian installs PostgreSQL programs that are not in `PATH`, newest
/// version first.
fn debian() -> Vec<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, folder)| folder).collect()
}

/// Runs a program and returns its standard output. If the program fails, its error output becomes a
/// one-line error.
fn run(command: &mut Command, about: &Path) -> Result<String, Failure> {
    let name =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ran = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {name}"))?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let report = String::from_utf8_lossy(&ran.stderr);
    let report: Vec<&str> = report.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    Err(anyhow!("{} is not valid: {}", about.display(), output::printable(&report.join("; "))).into())
}
