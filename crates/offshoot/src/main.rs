//! The one binary; what it does is in the library of the same name.

use std::process::ExitCode;

/// A server's many small values on a few threads are what this one is made for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    offshoot::main()
}
