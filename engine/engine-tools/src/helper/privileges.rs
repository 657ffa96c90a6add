//! What a command of the superuser loses: every capability that reaches past files and processes of
//! its own. Never does anything for an ordinary user, who has none.
//!
//! Without this, Landlock would not hold for root: the memory and the environment of processes
//! outside can be read with the capability to monitor performance, and disks be written through
//! device files made inside the workspace.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
};

/// What builds and tests of a superuser may need, and the sandbox still holds.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_NICE);

/// Sees to it that what the calling thread will start has at most [`KEPT`].
pub(super) fn shed_in_what_this_thread_starts() -> Result<(), Errno> {
    let held = capabilities(None)?;
    if KEPT.contains(held.permitted.union(held.inheritable)) {
        return Ok(());
    }
    clear_ambient_capability_set()?;
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if KEPT.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            // The kernel knows no capability of this number.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
