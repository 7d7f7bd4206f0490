//! Attacks: a hostile model, a hostile folder, hostile arguments. Each attack counts violations.

mod arguments;
mod executed;
mod folder;
mod notebooks;
mod secrets;
