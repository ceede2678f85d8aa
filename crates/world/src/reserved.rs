/// Shows the clock. Its region does not exist, so no security can have this symbol.
pub const CLOCK: &str = "CLOCK.WORLD";
/// Moves a standing clock to the next instant, or by a number of seconds as `STEP-60.WORLD`.
pub const STEP: &str = "STEP.WORLD";
/// Longest step by seconds. A century is longer than any world.
pub const STEP_SECONDS_MAX: u32 = 4_000_000_000;

/// A symbol of the clock instead of a security. Clients quote it or subscribe to it, because that
/// is possible with every SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    Clock,
    /// A step to the next instant.
    StepNext,
    /// A step by at least one second.
    StepBy(u32),
}

impl Reserved {
    /// Returns the meaning of a symbol, or `None` if it is not reserved. Ignores case, as all
    /// symbols do.
    pub fn parse(symbol: &str) -> Option<Reserved> {
        // The shortest comparison first: most symbols are securities.
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
