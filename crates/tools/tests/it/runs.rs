//! Tools that run code, on real kernels: the built-in runner and ipykernel.

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
