/// Versions per era. A commit raises the version by one, a restore moves to the start of the next
/// era: within an era, data cached by block id stays valid.
pub const ERA_VERSIONS: i64 = 1 << 40;

/// The era of a version.
pub fn era(version: i64) -> i64 {
    version / ERA_VERSIONS
}
