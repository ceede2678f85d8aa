//! Tests against scripted servers.
