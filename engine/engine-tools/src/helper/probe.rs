//! Asks the kernel, without giving anything up, what it would hold a command to.

use crate::shell::confinement::{Confinement, Hold};
use crate::shell::wire::Network;
use std::sync::OnceLock;

/// What this kernel can hold a command to. Asked once, then remembered: it does not change.
#[must_use]
pub fn available(network: Network) -> Confinement {
    static SEALED: OnceLock<Confinement> = OnceLock::new();
    let sealed = *SEALED.get_or_init(ask);
    Confinement {
        files: sealed.files,
        network: match network {
            Network::Denied => sealed.network,
            Network::Granted => Hold::Open,
        },
    }
}

#[cfg(target_os = "linux")]
fn ask() -> Confinement {
    super::confine::available()
}

#[cfg(not(target_os = "linux"))]
fn ask() -> Confinement {
    Confinement {
        files: Hold::None,
        network: Hold::None,
    }
}

/// Where nothing can be held: an error unless that is accepted.
#[cfg(not(target_os = "linux"))]
pub(super) fn accept_nothing(
    fence: &crate::shell::wire::FenceOrder,
) -> Result<Confinement, String> {
    let found = available(fence.network);
    match fence.shortfall {
        crate::shell::wire::Shortfall::Accepted => Ok(found),
        crate::shell::wire::Shortfall::Refused => {
            Err("this system cannot confine commands".to_owned())
        }
    }
}
