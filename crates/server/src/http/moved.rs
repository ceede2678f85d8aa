//! Renamed paths. For one release, the old path responds with 410 and the new path. No
//! authentication is needed, because the paths are publicly documented.

/// Old and new paths. Each row is removed in the following release.
pub(super) const MOVED: &[(&str, &str)] =
    &[("/v1/admin/assets", "/v1/admin/reported-assets"), ("/v1/admin/orders", "/v1/admin/reported-orders")];

/// Finds the row for a path, which may begin with several slashes.
pub(super) fn find(path: &str) -> Option<(&'static str, &'static str)> {
    let path = path.trim_start_matches('/');
    MOVED.iter().copied().find(|(old, _)| old.strip_prefix('/') == Some(path))
}
