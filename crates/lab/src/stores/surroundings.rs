//! What all stores of a run have in common: a directory, cores, whether they are reached over Unix
//! sockets, namespaces or TLS.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::tls::Certificate;
use crate::{LabError, cpu};

/// Removed with all that is in it when the last who knows it is gone.
pub(super) struct Directory(pub PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        // Left-over sockets in the temporary directory are untidy and nothing worse.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What all stores of a run have in common.
#[derive(Clone)]
pub struct Surroundings {
    /// A directory of this run alone, for sockets and for what the stores print.
    directory: Arc<Directory>,
    pub unix: bool,
    pub server_cores: Vec<usize>,
    pub server_threads: usize,
    /// The binary that serves Dolium: this one, or another version of it.
    pub dolium: PathBuf,
    /// This program, which serves the null servers.
    pub(super) itself: PathBuf,
    /// Whether children are pinned to `server_cores`.
    pub pinned: bool,
    /// Each server in a network namespace of its own, shaped to so many gigabits if there are any.
    pub namespaces: Option<Option<f64>>,
    /// Servers listen with TLS beside their plain port, if there is a certificate.
    pub(super) certificate: Option<Arc<Certificate>>,
}

impl Surroundings {
    /// Makes the directory.
    pub fn new(
        unix: bool,
        server_threads: usize,
        dolium: Option<PathBuf>,
    ) -> Result<Self, LabError> {
        let mut name = format!("dolium-lab-{}", std::process::id());
        if cfg!(test) {
            // Tests of one process run beside each other: none takes another's directory along.
            name = format!("{name}-{:?}", std::thread::current().id());
        }
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).map_err(|error| {
            LabError::system(format!("make the directory {}", directory.display()), error)
        })?;
        let itself = std::env::current_exe()
            .map_err(|error| LabError::system("find this program's own file", error))?;
        let dolium = dolium.unwrap_or_else(|| itself.clone());
        let server_cores = cores_for(server_threads);
        let directory = Arc::new(Directory(directory));
        let (pinned, namespaces, certificate) = (true, None, None);
        Ok(Self {
            directory,
            unix,
            server_cores,
            server_threads,
            dolium,
            itself,
            pinned,
            namespaces,
            certificate,
        })
    }

    /// The same run with other threads, on cores of their own or not.
    pub fn with(&self, unix: bool, server_threads: usize, pinned: bool) -> Self {
        let server_cores = cores_for(server_threads);
        Self { unix, server_threads, pinned, server_cores, ..self.clone() }
    }

    /// The same run with a thread on each of these cores.
    pub fn on(&self, cores: &[usize]) -> Self {
        Self { server_cores: cores.to_vec(), server_threads: cores.len(), ..self.clone() }
    }

    /// From now on stores listen with TLS, too.
    pub fn with_tls(mut self) -> Result<Self, LabError> {
        if self.certificate.is_none() {
            self.certificate = Some(Arc::new(Certificate::make(self.directory())?));
        }
        Ok(self)
    }

    /// Where this run's stores keep their files.
    pub fn directory(&self) -> &Path {
        &self.directory.0
    }

    /// Cores that the servers leave to the generator; all of them if nothing is left.
    pub fn client_cores(&self) -> Vec<usize> {
        let all = cpu::allowed();
        let rest: Vec<usize> =
            all.iter().copied().filter(|core| !self.server_cores.contains(core)).collect();
        if rest.is_empty() { all } else { rest }
    }

    /// Whether so many threads of the generator have a core each that no server may use, nor another
    /// processor of that core.
    pub fn client_is_alone(&self, threads: usize) -> bool {
        let cores = self.client_cores();
        let is_servers = |core: &usize| self.server_cores.contains(core);
        self.pinned
            && threads <= cores.len()
            && !cores.iter().flat_map(|&core| cpu::siblings(core)).any(|core| is_servers(&core))
    }
}

/// One core a thread, as far as there are cores.
fn cores_for(threads: usize) -> Vec<usize> {
    cpu::allowed().into_iter().take(threads).collect()
}
