//! Short names told apart over all processes, safe in addresses and file names.

/// Digits and letters without those that are taken for one another.
pub const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// How many characters a name has.
pub const LENGTH: usize = 8;

/// A name that nobody has, as far as chance can tell.
pub fn random() -> String {
    let mut bytes = [0; LENGTH];
    if getrandom::fill(&mut bytes).is_err() {
        // Without randomness the clock and the process must do.
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let seed = since.as_nanos() ^ (u128::from(std::process::id()) << 32);
        bytes.copy_from_slice(&seed.to_le_bytes()[..LENGTH]);
    }
    bytes.map(|byte| char::from(ALPHABET[usize::from(byte) % 32])).iter().collect()
}
