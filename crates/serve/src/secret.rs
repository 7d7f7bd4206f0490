//! What nobody can guess, and telling whether someone knows it.

use std::io;

/// 64 letters that nobody can guess.
pub fn random() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Takes the same time wherever two texts of one length differ.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differs == 0
}
