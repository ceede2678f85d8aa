/// Versions in an era. A commit raises the version by one, a restore goes to the beginning of the next era: within an era, what is
/// kept under the id of a block stays true.
pub const ERA_VERSIONS: i64 = 1 << 40;

/// The era of a version.
pub fn era(version: i64) -> i64 {
    version / ERA_VERSIONS
}
