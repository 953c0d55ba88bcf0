//! Room for what recurses with its input: expressions are parsed and run on a thread of their own, whose stack is
//! large enough for the nesting that `expr` allows. Nothing else happens here.

/// The size, in bytes; memory is used only where it is touched.
pub(crate) const SIZE: usize = 64 << 20;

/// Does something on a large stack and waits for it.
///
/// # Errors
/// No thread can be had, or the work panicked.
pub(crate) fn on_large<T: Send>(work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(SIZE);
        let ended = thread.spawn_scoped(scope, work)?.join();
        ended.map_err(|_| std::io::Error::other("it could not be worked out"))
    })
}
