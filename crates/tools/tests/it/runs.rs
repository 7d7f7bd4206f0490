//! Tools that run code, on real kernels: our own runner and ipykernel.

mod bash;
mod desk;
mod kernels;
mod large;
mod long;
mod notebooks;
mod old_format;
mod python;
mod several;
mod variables;
