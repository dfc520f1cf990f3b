//! The built binary, as a person and as a script call it, with a broker of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod descriptors;
mod gracchus;
mod perf;
mod scripts;
mod walk;
