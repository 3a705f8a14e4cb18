//! Where a server is attached to if nobody says where its socket is.
//!
//! There are two places to look at. A server that was started without a session (by systemd, by cron)
//! knows of no runtime folder and listens in /tmp, while the shell of the same user has such a folder; or
//! the other way round.

use crate::error::Error;
use crate::store::Store;
use dolium_engine::ring::hello;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Where a server of this user listens if nobody says otherwise.
pub fn default_path() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR");
    hello::default_path(folder.as_deref(), rustix::process::getuid().as_raw())
}

impl Store {
    /// Attaches where a server of this user listens if nobody says otherwise: in the runtime
    /// folder, or else in /tmp; without a runtime folder in /tmp, or else in the folder that a
    /// session of this user would have.
    pub fn attach_usual() -> Result<Store, Error> {
        let folder = std::env::var_os("XDG_RUNTIME_DIR");
        let user = rustix::process::getuid().as_raw();
        first_that_listens(usual_places(folder.as_deref(), user), Store::attach)
    }
}

/// The first is [`default_path`].
fn usual_places(folder: Option<&OsStr>, user: u32) -> [PathBuf; 2] {
    let shared = hello::default_path(None, user);
    match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => [hello::default_path(Some(folder), user), shared],
        None => {
            let folder = format!("/run/user/{user}");
            [shared, hello::default_path(Some(OsStr::new(&folder)), user)]
        }
    }
}

/// Only where nobody listens the other place is tried: a server that says no has answered.
fn first_that_listens<T>(
    places: [PathBuf; 2],
    attach: impl Fn(PathBuf) -> Result<T, Error>,
) -> Result<T, Error> {
    let [usual, other] = places;
    let (path, error) = match attach(usual) {
        Err(Error::Connect { path, error }) => (path, error),
        answer => return answer,
    };
    match attach(other) {
        Err(Error::Connect { path: other, error: why }) => {
            let both = format!("{error}, nor at {}: {why}", other.display());
            // Where nobody is, there is less to be told of than where one may not go.
            let is_absent = |error: &io::Error| {
                matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused)
            };
            let kind = if is_absent(&error) { why.kind() } else { error.kind() };
            Err(Error::Connect { path, error: io::Error::new(kind, both) })
        }
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dolium_engine::ring::hello::Refusal;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dolium-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_runtime_folder_and_tmp_are_looked_at_in_the_order_of_the_server() {
        let (own, shared) = ("/run/user/7/dolium.attach", "/tmp/dolium-7.attach");
        let places = |folder: Option<&str>| usual_places(folder.map(OsStr::new), 7);
        assert_eq!(places(Some("/run/user/7")), [own, shared].map(PathBuf::from));
        assert_eq!(places(None), [shared, own].map(PathBuf::from));
        assert_eq!(places(Some("")), [shared, own].map(PathBuf::from));
    }

    /// A server that systemd had started listened in /tmp, and a login shell looked for it in its
    /// runtime folder only.
    #[test]
    fn a_server_at_the_other_place_is_found() {
        let folder = folder("other-place");
        let places = [folder.join("runtime"), folder.join("shared")];
        let attach = |path: PathBuf| match UnixStream::connect(&path) {
            Ok(_) => Ok(path),
            Err(error) => Err(Error::Connect { path, error }),
        };
        let nowhere = first_that_listens(places.clone(), attach).unwrap_err().to_string();
        for place in &places {
            assert!(nowhere.contains(&place.display().to_string()), "{nowhere}");
        }
        assert!(
            nowhere.contains("; no server listens there: start one with `dolium`"),
            "{nowhere}"
        );
        let denied = |path: PathBuf| -> Result<PathBuf, Error> {
            let kind = match path.ends_with("shared") {
                true => ErrorKind::PermissionDenied,
                false => ErrorKind::NotFound,
            };
            Err(Error::Connect { path, error: kind.into() })
        };
        let denied = first_that_listens(places.clone(), denied).unwrap_err().to_string();
        assert!(
            denied.ends_with(
                "; the file system does not let this user connect: attach-socket-perm says who may"
            ),
            "{denied}"
        );
        let shared = UnixListener::bind(&places[1]).unwrap();
        assert_eq!(first_that_listens(places.clone(), attach).unwrap(), places[1]);
        // The socket of a server that was killed is there, and nobody listens.
        drop(UnixListener::bind(&places[0]).unwrap());
        assert_eq!(first_that_listens(places.clone(), attach).unwrap(), places[1]);
        drop(shared);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_server_that_refuses_has_answered() {
        let refused = |path: PathBuf| match path.ends_with("first") {
            true => Err(Error::Refused(Refusal::Permission)),
            false => Ok(path),
        };
        let places = ["first", "second"].map(PathBuf::from);
        let answer = first_that_listens(places, refused);
        assert!(matches!(answer, Err(Error::Refused(Refusal::Permission))), "{answer:?}");
    }
}
