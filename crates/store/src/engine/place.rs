use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a store is, or one of its databases.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A directory with SQLite's files in it, or one of the files.
    Path(PathBuf),
}

impl Place {
    /// The directory or file, where it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Place::Path(path) => Some(path),
        }
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Place {
        Place::Path(path.to_owned())
    }
}

impl From<&PathBuf> for Place {
    fn from(path: &PathBuf) -> Place {
        Place::Path(path.clone())
    }
}

impl From<PathBuf> for Place {
    fn from(path: PathBuf) -> Place {
        Place::Path(path)
    }
}

impl From<&str> for Place {
    fn from(path: &str) -> Place {
        Place::Path(path.into())
    }
}

impl From<&Place> for Place {
    fn from(place: &Place) -> Place {
        place.clone()
    }
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Place, Infallible> {
        Ok(Place::Path(text.strip_prefix("sqlite:").unwrap_or(text).into()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Path(path) => path.display().fmt(f),
        }
    }
}
