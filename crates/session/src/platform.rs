//! What each operating system does in its own way, behind one set of functions.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heaps;
#[cfg(target_os = "linux")]
mod large_pages;
#[cfg(target_os = "linux")]
mod lease;
#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::*;
#[cfg(unix)]
pub(crate) use unix::*;

/// Makes the room that a buffer has cheaper to fill, where the system can.
pub(crate) fn prepare_large(buffer: &mut Vec<u8>) {
    #[cfg(target_os = "linux")]
    large_pages::advise(buffer);
    #[cfg(not(target_os = "linux"))]
    let _ = buffer;
}

/// Has the system's allocator give back what a process that lives long does not need any more, though it has many threads.
/// To be called before they start.
pub fn keep_memory_small() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    heaps::stay_small();
}

/// Whether some process has a file open for writing.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux tells"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    Some,
    None,
    /// The system does not tell.
    Unknown,
}

/// Which file it is and which state of it, as far as that can be told without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) device: u64,
    pub(crate) number: u64,
    length: u64,
    pub(crate) modified: Option<std::time::SystemTime>,
    made: Option<std::time::SystemTime>,
}

/// Which file it is, whatever it holds: writing into it leaves it the same, putting another one in its place does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// When it was made, in nanoseconds of Unix time: numbers are used again. 0 where that is not known.
    pub(crate) made: u128,
}

impl Mark {
    pub(crate) fn identity(&self) -> Identity {
        let since = self.made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
        Identity { device: self.device, number: self.number, made: since.map_or(0, |since| since.as_nanos()) }
    }
}
