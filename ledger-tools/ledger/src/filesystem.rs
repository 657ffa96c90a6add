//! Which file systems a ledger may lie on: locks and syncs of network file systems and of FUSE cannot
//! be relied on. Never judges a system it cannot name.

use std::io;
use std::path::Path;

/// Where a ledger may be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filesystems {
    /// Not on a network file system or FUSE.
    #[default]
    LocalOnly,
    /// Anywhere: whoever says so vouches for locks and syncs.
    Any,
}

/// A kind of file system that is refused, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreign(&'static str);

impl std::fmt::Display for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// Magic numbers of `statfs(2)`.
const FOREIGN: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0x564c, "NCP"),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x7375_7245, "Coda"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x786f_4256, "a shared folder of VirtualBox"),
    (0x6573_5546, "FUSE"),
];

fn named(magic: u64) -> Option<Foreign> {
    let row = FOREIGN.iter().find(|(known, _)| *known == magic);
    row.map(|(_, name)| Foreign(name))
}

/// The kind of file system under `path`, when it is one that cannot be relied on.
///
/// # Errors
/// When it cannot be looked at.
#[cfg(target_os = "linux")]
pub fn foreign(path: &Path) -> io::Result<Option<Foreign>> {
    let magic = rustix::fs::statfs(path)?.f_type;
    // The kernel's type is signed on some machines, and 32 bits wide on others.
    #[expect(clippy::cast_sign_loss, reason = "only the bits count")]
    let bits = magic as u64 & 0xffff_ffff;
    Ok(named(bits))
}

/// Elsewhere the magic numbers do not exist, so nothing is refused.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn foreign(_path: &Path) -> io::Result<Option<Foreign>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{foreign, named};

    #[test]
    fn network_file_systems_and_fuse_are_named() {
        for (magic, name) in [
            (0x6969, "NFS"),
            (0xff53_4d42, "CIFS"),
            (0x6573_5546, "FUSE"),
        ] {
            assert_eq!(named(magic).map(|f| f.to_string()).as_deref(), Some(name));
        }
    }

    #[test]
    fn local_file_systems_are_not_refused() {
        for ext4_btrfs_xfs_tmpfs_overlay in
            [0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994, 0x794c_7630]
        {
            assert_eq!(named(ext4_btrfs_xfs_tmpfs_overlay), None);
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(foreign(folder.path()).unwrap(), None);
    }
}
