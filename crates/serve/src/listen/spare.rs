//! A file that is held open to be given up: the owner gets in when no other can be opened.

use std::fs::File;

/// One descriptor, where there was one to hold.
#[derive(Debug)]
pub(crate) struct Spare(Option<File>);

impl Spare {
    /// Holds one.
    pub(crate) fn hold() -> Spare {
        Spare(open())
    }

    /// Gives it up, and says whether there was one.
    pub(crate) fn give_up(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// Holds one again, if one can be had.
    pub(crate) fn hold_again(&mut self) {
        if self.0.is_none() {
            self.0 = open();
        }
    }
}

fn open() -> Option<File> {
    File::open("/dev/null").ok()
}
