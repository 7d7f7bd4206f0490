//! Attacks: a hostile model, a hostile folder, hostile arguments. What must hold is counted.

mod arguments;
mod executed;
mod folder;
mod notebooks;
mod secrets;
