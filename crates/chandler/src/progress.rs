//! Progress of long operations. A progress bar is drawn on stderr if stderr is a terminal and
//! `--quiet` was not given. Nothing is written to stdout.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use history::import::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::chart::Glyphs;
use crate::{output, terminal};

/// The flag of every command that may run long.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Flags {
    /// No progress bar and no notes on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Progress bar. Does nothing if progress is not shown.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Flags {
    /// Creates a bar that counts items such as securities, blocks or candles.
    pub(crate) fn count(self, total: u64, of: &'static str) -> Bar {
        self.styled(total, &format!("{{bar:30}} {{human_pos}}/{{human_len}} {of}  {{msg}}  ETA {{eta}}"))
    }

    /// Creates a bar that counts bytes.
    pub(crate) fn bytes(self, total: u64) -> Bar {
        self.styled(total, "{bar:30} {bytes}/{total_bytes}  {msg}  {bytes_per_sec}  ETA {eta}")
    }

    /// Creates a bar that shows the position in a range as a percentage.
    pub(crate) fn range(self, total: u64) -> Bar {
        self.styled(total, "{bar:30} {percent:>3} %  {msg}")
    }

    /// Creates a bar whose text uses the rest of the line, and is cut at its end.
    pub(crate) fn described(self, total: u64) -> Bar {
        self.styled(total, "{bar:20} {percent:>3} %  {wide_msg}")
    }

    fn styled(self, total: u64, template: &str) -> Bar {
        if self.quiet || !std::io::stderr().is_terminal() {
            return Bar { bar: None, quiet: self.quiet };
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(match terminal::glyphs(true, |name| std::env::var(name).ok()) {
            Glyphs::Unicode => style,
            Glyphs::Ascii => style.progress_chars("##-"),
        });
        Bar { bar: Some(bar), quiet: false }
    }

    /// Writes a note to stderr, unless `--quiet` was given.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet {
            output::note(text);
        }
    }
}

impl Bar {
    pub(crate) fn set(&self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
    }

    pub(crate) fn set_length(&self, total: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
        }
    }

    pub(crate) fn advance(&self, by: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(by);
        }
    }

    /// Sets the text next to the bar. `text` is not called if there is no bar.
    pub(crate) fn say(&self, text: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text());
        }
    }

    pub(crate) fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Writes other output while the bar is hidden.
    pub(crate) fn above(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Writes a line above the bar, unless `--quiet` was given.
    pub(crate) fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(text)),
            None if self.quiet => {}
            None => output::note(text),
        }
    }

    /// Runs an import and shows the number of bytes and rows read so far.
    pub(crate) fn over_import<T>(&self, progress: &Progress, total: u64, work: impl FnOnce() -> T) -> T {
        let Some(bar) = &self.bar else { return work() };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    bar.set_position(progress.bytes.load(Ordering::Relaxed).min(total));
                    let rows = progress.rows.load(Ordering::Relaxed);
                    let rate = rows as f64 / bar.elapsed().as_secs_f64().max(0.001);
                    bar.set_message(format!("{} rows, {:.2} M/s", output::thousands(rows), rate / 1e6));
                    std::thread::park_timeout(Duration::from_millis(100));
                }
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            result
        })
    }
}

impl Drop for Bar {
    /// Removes the bar from the screen, whether or not the operation succeeded.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
