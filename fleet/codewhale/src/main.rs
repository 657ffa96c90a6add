//! The `codewhale` binary.
fn main() {}
