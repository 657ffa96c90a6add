//! The system-call filter of a command without network: no sockets but local ones. Never filters
//! anything else.
//!
//! Landlock holds TCP only; this also holds UDP, raw and every other kind of socket, by refusing to
//! make one. `io_uring` is refused as well: it can make sockets that no filter sees.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;

/// True when this kernel filters system calls and the filter exists for this machine.
pub(super) fn is_available() -> bool {
    std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail").exists() && program().is_ok()
}

/// Refuses sockets to the calling thread and to all it will start, for good.
pub(super) fn deny_sockets_to_this_thread() -> Result<(), String> {
    seccompiler::apply_filter(&program()?).map_err(|error| error.to_string())
}

fn program() -> Result<BpfProgram, String> {
    let told = |error: seccompiler::BackendError| error.to_string();
    let arch = std::env::consts::ARCH.try_into().map_err(told)?;
    let not_family = |family: i32| {
        let family = u64::try_from(family).unwrap_or(u64::MAX);
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    };
    let not_local = SeccompRule::new(vec![
        not_family(libc::AF_UNIX).map_err(told)?,
        not_family(libc::AF_NETLINK).map_err(told)?,
    ])
    .map_err(told)?;
    let rules = BTreeMap::from([
        (libc::SYS_socket, vec![not_local]),
        (libc::SYS_io_uring_setup, Vec::new()),
    ]);
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch)
        .and_then(TryInto::try_into)
        .map_err(told)
}
