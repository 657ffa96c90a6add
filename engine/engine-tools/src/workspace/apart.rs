//! Keeps files that are being written out of the hands of child processes. Never starts one.
//!
//! Between its fork and its exec, a child that another thread starts holds a copy of every descriptor
//! of the process. If one of them writes a file, that file cannot be executed meanwhile: an agent that
//! writes a script and runs it would now and then be told "Text file busy". A thread with a table of
//! descriptors of its own has nothing that a child could hold.

/// Runs work that opens and closes files on a thread whose descriptors no child of this process gets.
/// Where the system does not allow that, it runs all the same.
///
/// What it opens it must close: a descriptor means nothing outside of it.
pub(super) fn with_own_descriptors<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let apart = || {
        set_apart();
        work()
    };
    match std::thread::scope(|scope| scope.spawn(apart).join()) {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[cfg(target_os = "linux")]
#[allow(
    deprecated,
    reason = "it is to become unsafe because descriptors must not cross threads, which these do not"
)]
fn set_apart() {
    use rustix::thread::{UnshareFlags, unshare};
    // Some containers refuse the call. What is lost then is told above.
    let _ = unshare(UnshareFlags::FILES);
}

#[cfg(not(target_os = "linux"))]
fn set_apart() {}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Whether a thread has a file open.
    fn holds(thread: i32, file: &Path) -> bool {
        let mut open = fs::read_dir(format!("/proc/self/task/{thread}/fd")).unwrap();
        open.any(|fd| fs::read_link(fd.unwrap().path()).is_ok_and(|target| target == file))
    }

    fn this_thread() -> i32 {
        rustix::thread::gettid().as_raw_nonzero().get()
    }

    #[test]
    fn a_file_that_is_written_is_open_in_no_other_thread() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("f");
        let other = this_thread();
        with_own_descriptors(|| {
            let open = fs::File::create(&file).unwrap();
            assert!(holds(this_thread(), &file));
            assert!(!holds(other, &file));
            drop(open);
        });
    }

    #[test]
    fn what_is_open_outside_can_be_used_inside() {
        let folder = tempfile::tempdir().unwrap();
        let outside = fs::File::open(folder.path()).unwrap();
        let is_folder = with_own_descriptors(|| outside.metadata().unwrap().is_dir());
        assert!(is_folder && outside.metadata().unwrap().is_dir());
    }
}
