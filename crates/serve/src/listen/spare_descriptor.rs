//! A descriptor held in reserve, so that the host's socket can accept a client when all others are
//! in use.

use std::fs::File;

/// The reserved descriptor, if one was available.
#[derive(Debug)]
pub(crate) struct SpareDescriptor(Option<File>);

impl SpareDescriptor {
    /// Reserves a descriptor.
    pub(crate) fn reserve() -> SpareDescriptor {
        SpareDescriptor(open())
    }

    /// Releases it. Returns whether there was one.
    pub(crate) fn release(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// Reserves one again, if possible.
    pub(crate) fn reserve_again(&mut self) {
        if self.0.is_none() {
            self.0 = open();
        }
    }
}

fn open() -> Option<File> {
    File::open("/dev/null").ok()
}
