/// Symbol that shows the clock. No security has this region.
pub const CLOCK: &str = "CLOCK.WORLD";
/// Symbol that moves a stopped clock to the next instant. `STEP-60.WORLD` moves it by 60 seconds.
pub const STEP: &str = "STEP.WORLD";
/// Maximum step in seconds, about 127 years, which is longer than any world.
pub const STEP_SECONDS_MAX: u32 = 4_000_000_000;

/// A reserved symbol, which controls the clock. Symbols are used because every SDK can request them
/// and subscribe to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    Clock,
    /// A step to the next instant.
    StepNext,
    /// A step by at least one second.
    StepBy(u32),
}

impl Reserved {
    /// Returns the meaning of a symbol, or `None` if it is not reserved. Ignores case, as for all
    /// symbols.
    pub fn parse(symbol: &str) -> Option<Reserved> {
        // A cheap check first, because most symbols are securities.
        let ticker = symbol.len().checked_sub(".WORLD".len()).and_then(|end| symbol.split_at_checked(end));
        let (ticker, _) = ticker.filter(|(_, region)| region.eq_ignore_ascii_case(".WORLD"))?;
        if ticker.eq_ignore_ascii_case("CLOCK") {
            return Some(Reserved::Clock);
        }
        if ticker.eq_ignore_ascii_case("STEP") {
            return Some(Reserved::StepNext);
        }
        let (step, seconds) = ticker.split_once('-')?;
        let is_number = !seconds.starts_with('0') && seconds.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = seconds.parse().ok().filter(|seconds| (1..=STEP_SECONDS_MAX).contains(seconds))?;
        (step.eq_ignore_ascii_case("STEP") && is_number).then_some(Reserved::StepBy(seconds))
    }
}
