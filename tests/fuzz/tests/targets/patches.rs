//! Patches: any text is a patch, or refused with the lines that are wrong.

use crate::spell::spelled;

const WORDS: [&str; 36] = [
    "\n",
    "\r\n",
    " ",
    "+",
    "-",
    " same\n",
    "-old\n",
    "+new\n",
    "\\ No newline at end of file\n",
    "@@ -1,2 +1,2 @@\n",
    "@@ -0,0 +1 @@\n",
    "@@ -1 +0,0 @@\n",
    "@@ -99999999999999999999 +1 @@\n",
    "@@ fn here\n",
    "@@\n",
    "diff --git a/f b/f\n",
    "diff --git a/f b/g\n",
    "diff --git \"a/\\303\\244\" \"b/\\303\\244\"\n",
    "--- a/f\n",
    "+++ b/f\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "new file mode 100755\n",
    "new file mode 120000\n",
    "deleted file mode 100644\n",
    "rename from f\n",
    "rename to g\n",
    "copy from f\n",
    "Binary files a/f and b/f differ\n",
    "index 1..2 100644\n",
    "*** Begin Patch\n",
    "*** End Patch\n",
    "*** Add File: f\n",
    "*** Update File: f\n",
    "*** Move to: g\n",
    "```\n",
];

/// Reads the text as a patch.
///
/// # Panics
/// When it is taken and asks for nothing, or refused without a line of its own.
pub(crate) fn check(bytes: &[u8]) {
    let spelled = spelled(bytes, &WORDS);
    let Ok(text) = std::str::from_utf8(&spelled) else {
        return;
    };
    let lines = text.split('\n').count();
    match engine_tools::patch::parse(text) {
        Ok(patch) => assert!(patch.sections() > 0, "it asks for nothing: {text:?}"),
        Err(faults) => {
            assert!(!faults.is_empty(), "refused without a reason: {text:?}");
            for fault in faults {
                assert!((1..=lines).contains(&fault.line), "{fault:?}: {text:?}");
            }
        }
    }
}
