//! The log as a whole, on a simulated disk.

mod append;
mod cutting;
mod damage;
mod producers;
mod reading;
mod recovery;
mod support;
