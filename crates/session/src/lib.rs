//! Owns all change.
