//! Users and passwords: `-Y FILE` for the text protocol, `MEMCACHED_SASL_PWDB` for SASL.
//!
//! ```text
//!   user:password\n ...        at most eight lines in Memcached; here as many as the file has
//! ```

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Default)]
pub struct Accounts {
    file: Option<PathBuf>,
    users: RwLock<Vec<(Vec<u8>, Vec<u8>)>>,
}

impl Accounts {
    /// Reads a file of accounts; the error is a sentence. A relative path is one from the folder of now also
    /// when it is read again: a server in the background is elsewhere then.
    pub fn read(path: &Path) -> Result<Accounts, String> {
        let path = std::path::absolute(path)
            .map_err(|error| format!("the password file {}: {error}", path.display()))?;
        let accounts = Accounts { file: Some(path), users: RwLock::default() };
        accounts.reload()?;
        Ok(accounts)
    }

    /// Reads the file again, if there is one. What was known stays when that fails.
    pub fn reload(&self) -> Result<(), String> {
        let Some(path) = &self.file else { return Ok(()) };
        let fail = |why: String| format!("the password file {} {why}", path.display());
        let length = std::fs::metadata(path).map_err(|e| fail(format!("cannot be read: {e}")))?;
        if length.len() > FILE_BYTES_MAX {
            return Err(fail(format!("is longer than {FILE_BYTES_MAX} bytes")));
        }
        let bytes = std::fs::read(path).map_err(|e| fail(format!("cannot be read: {e}")))?;
        let mut users = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                return Err(fail("has a line without a colon between user and password".into()));
            };
            users.push((line[..colon].to_vec(), line[colon + 1..].to_vec()));
        }
        if users.is_empty() {
            return Err(fail("names nobody".into()));
        }
        *self.users.write().unwrap_or_else(PoisonError::into_inner) = users;
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.users.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Compares with every account, so that the time does not tell who exists.
    pub fn check(&self, user: &[u8], password: &[u8]) -> bool {
        let users = self.users.read().unwrap_or_else(PoisonError::into_inner);
        users.iter().fold(false, |found, (name, right)| {
            found | (crate::host::same_bytes(name, user) & crate::host::same_bytes(right, password))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_users_and_passwords() {
        let path = std::env::temp_dir().join(format!("dolium-accounts-{}", std::process::id()));
        std::fs::write(&path, "foo:bar\r\nbaaaz:quux:x\n\n").unwrap();
        let accounts = Accounts::read(&path).unwrap();
        std::fs::write(&path, "nobody\n").unwrap();
        let reloaded = accounts.reload();
        std::fs::remove_file(&path).unwrap();
        assert!(accounts.check(b"foo", b"bar"));
        assert!(accounts.check(b"baaaz", b"quux:x"));
        assert!(!accounts.check(b"foo", b"quux:x"));
        assert!(!accounts.check(b"", b""));
        assert!(reloaded.unwrap_err().contains("colon"));
        assert!(Accounts::read(&path).is_err());
    }
}
