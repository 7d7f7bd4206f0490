//! What code produced, as data.
