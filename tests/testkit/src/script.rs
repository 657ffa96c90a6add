//! Programs of a test's own: shell scripts that stand in for a real one. Never writes one from this
//! process.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable shell script; `#!/bin/sh` is put before the text.
///
/// A shell writes it, because a file that this process holds open for writing is inherited by every
/// process that another test starts at that moment, and is *busy* until that one runs its program.
///
/// # Panics
/// When it cannot be written.
pub fn write(path: &Path, text: &str) {
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell can be started");
    let mut input = shell.stdin.take().expect("it is piped");
    write!(input, "#!/bin/sh\n{text}\n").expect("the shell reads");
    drop(input);
    let ended = shell.wait().expect("the shell ends");
    assert!(ended.success(), "{} was not written", path.display());
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn a_script_can_be_run_while_other_threads_start_processes() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for name in 0..8 {
                let path = folder.path().join(name.to_string());
                scope.spawn(move || {
                    for _ in 0..25 {
                        super::write(&path, "echo yes");
                        let output = Command::new(&path).output().unwrap();
                        assert_eq!(output.stdout, b"yes\n");
                    }
                });
            }
        });
    }
}
