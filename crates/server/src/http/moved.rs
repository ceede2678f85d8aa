//! Renamed paths. For one release the old path answers 410 with the new one, without
//! authentication: the paths are in the public documentation.

/// Old and new paths. A row is removed with the next release.
pub(super) const MOVED: &[(&str, &str)] =
    &[("/v1/admin/assets", "/v1/admin/reported-assets"), ("/v1/admin/orders", "/v1/admin/reported-orders")];

/// Finds a path, which may begin with several slashes.
pub(super) fn find(path: &str) -> Option<(&'static str, &'static str)> {
    let path = path.trim_start_matches('/');
    MOVED.iter().copied().find(|(old, _)| old.strip_prefix('/') == Some(path))
}
