//! Confines the calling thread, and all it will start, through Landlock and a system-call filter.
//! Never confines another thread: the helper itself stays free to end what it started.
//!
//! Held: writing, making, removing, renaming and truncating outside the granted places; device
//! control; signals and abstract sockets to processes outside; TCP and every other kind of internet
//! socket when the network is denied; gaining privileges through set-user-id programs.
//! Not held by any kernel so far: reading, changes of mode, owner and times of files that the
//! person owns, and named sockets before Landlock's ninth version.

use super::{filter, privileges};
use crate::shell::confinement::{Confinement, Hold};
use crate::shell::wire::{FenceOrder, Network, Shortfall};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    make_bitflags,
};
use std::fs;

/// The newest version of Landlock whose rights are asked for. Older kernels give what they have.
const NEWEST: ABI = ABI::V9;

/// The oldest version under which files count as fully held: the first that holds truncation.
const FILES_FULL: ABI = ABI::V3;

/// Devices that any command may write to.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];

/// Rights that no place is granted with: files that stand for devices.
const NEVER: BitFlags<AccessFs> = make_bitflags!(AccessFs::{MakeChar | MakeBlock});

/// What this kernel would hold, with the network denied.
pub(super) fn available() -> Confinement {
    let files = if can_handle(AccessFs::from_all(FILES_FULL)) {
        Hold::Full
    } else if can_handle(AccessFs::from_all(ABI::V1)) {
        Hold::Partial
    } else {
        Hold::None
    };
    let network = if filter::is_available() {
        Hold::Full
    } else if Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::from_all(ABI::V4))
        .and_then(Ruleset::create)
        .is_ok()
    {
        Hold::Partial
    } else {
        Hold::None
    };
    Confinement { files, network }
}

fn can_handle(access: BitFlags<AccessFs>) -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(access)
        .and_then(Ruleset::create)
        .is_ok()
}

/// Confines the calling thread. Returns what is held; one sentence when that is too little.
pub(super) fn confine_this_thread(fence: &FenceOrder) -> Result<Confinement, String> {
    let mut held = super::probe::available(fence.network);
    let rules = ruleset(fence).map_err(|error| format!("cannot confine it: {error}"))?;
    privileges::shed_in_what_this_thread_starts()
        .map_err(|error| format!("cannot shed its privileges: {error}"))?;
    let status = rules
        .restrict_self()
        .map_err(|error| format!("cannot confine it: {error}"))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        held.files = Hold::None;
    }
    if fence.network == Network::Denied && filter::deny_sockets_to_this_thread().is_err() {
        held.network = match held.files {
            Hold::None => Hold::None,
            _ => Hold::Partial,
        };
    }
    match (held.shortfall(), fence.shortfall) {
        (Some(lack), Shortfall::Refused) => Err(lack),
        _ => Ok(held),
    }
}

fn ruleset(fence: &FenceOrder) -> Result<RulesetCreated, String> {
    let as_text = |error: RulesetError| error.to_string();
    let mut asked = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .map_err(as_text)?;
    if fence.network == Network::Denied {
        asked = asked
            .handle_access(AccessNet::from_all(NEWEST))
            .map_err(as_text)?;
    }
    let mut rules = asked.create().map_err(as_text)?;
    rules = grant(rules, "/", AccessFs::from_read(NEWEST))?;
    for device in DEVICES {
        rules = grant(
            rules,
            device,
            AccessFs::from_read(NEWEST) | AccessFs::WriteFile,
        )?;
    }
    for place in &fence.writable {
        let place = place
            .to_str()
            .ok_or_else(|| format!("`{}` is not valid UTF-8", place.display()))?;
        rules = grant(rules, place, AccessFs::from_all(NEWEST) & !NEVER)?;
    }
    Ok(rules)
}

fn grant(
    rules: RulesetCreated,
    place: &str,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, String> {
    let told = |error: &dyn std::fmt::Display| format!("`{place}` cannot be granted: {error}");
    let is_folder = fs::metadata(place).map_err(|e| told(&e))?.is_dir();
    let access = if is_folder {
        access
    } else {
        access & AccessFs::from_file(NEWEST)
    };
    let opened = PathFd::new(place).map_err(|e| told(&e))?;
    rules
        .add_rule(PathBeneath::new(opened, access))
        .map_err(|e| told(&e))
}
