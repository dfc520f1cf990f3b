//! The binary `gracchus`.
fn main() {}
