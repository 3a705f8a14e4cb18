//! A file whose bytes are summed up (CRC-32) while they pass: a bit that a disk has turned must not become
//! a value that a client is told.

use crc32fast::Hasher;
use std::io::{self, Read, Write};

/// What is read from it, or written to it, is in its sum.
#[derive(Debug)]
pub struct Summed<F> {
    pub file: F,
    hasher: Hasher,
}

impl<F> Summed<F> {
    pub fn new(file: F) -> Summed<F> {
        Summed { file, hasher: Hasher::new() }
    }

    pub fn sum(&self) -> u32 {
        self.hasher.clone().finalize()
    }
}

impl<F: Read> Read for Summed<F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(bytes)?;
        self.hasher.update(&bytes[..len]);
        Ok(len)
    }
}

impl<F: Write> Write for Summed<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.file.write(bytes)?;
        self.hasher.update(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
