//! Blobs on a simulated disk: what was stored is there after any cut, and damage is never handed out.

use super::sim::{Choices, Failure, SimDisk};
use crate::blobs::{BlobError, Blobs};
use std::io;

/// SHA-256 of `x` repeated 300 times, from an independent tool.
const HASH: &str = "0d4e2ca9e9cbced7a7a5380eb29e1a3783b9b6d0db72de36a1051038e1c1fbc7";

fn content() -> Vec<u8> {
    vec![b'x'; 300]
}

fn blobs(disk: &SimDisk) -> Blobs {
    Blobs::on(Box::new(disk.clone()))
}

fn name() -> String {
    format!("blobs/{}/{}", &HASH[..2], &HASH[2..])
}

#[test]
fn a_blob_is_named_by_its_hash_and_stored_once() {
    let disk = SimDisk::new();
    let stored = blobs(&disk).put(&content()).unwrap();
    assert_eq!((stored.sha256.as_str(), stored.bytes), (HASH, 300));
    assert_eq!(disk.bytes(&name()), Some(content()));
    assert_eq!(blobs(&disk).put(&content()).unwrap(), stored);
    assert_eq!(blobs(&disk).get(HASH).unwrap(), content());
    let empty = blobs(&disk).put(b"").unwrap();
    assert_eq!(blobs(&disk).get(&empty.sha256).unwrap(), b"");
}

#[test]
fn what_put_has_answered_survives_a_power_cut_at_any_later_moment() {
    for failure in [
        Failure::Cut,
        Failure::Error(io::ErrorKind::Other),
        Failure::Short,
    ] {
        for call in 0.. {
            let disk = SimDisk::new();
            disk.plan(call, failure);
            let result = blobs(&disk).put(&content());
            for seed in 0..32 {
                let after = disk.after_power_cut(&mut Choices(seed));
                match blobs(&after).get(HASH) {
                    Ok(bytes) => assert_eq!(bytes, content()),
                    Err(BlobError::Missing(_)) => assert!(result.is_err(), "call {call} {seed}"),
                    Err(error) => panic!("call {call}, seed {seed}: {error}"),
                }
                assert!(
                    blobs(&after).put(&content()).is_ok(),
                    "call {call}, seed {seed}"
                );
            }
            if !disk.plan_was_met() {
                assert!(result.is_ok() && call > 6, "only {call} calls were tried");
                break;
            }
        }
    }
}

#[test]
fn after_a_failure_nothing_more_is_stored() {
    let disk = SimDisk::new();
    let blobs = blobs(&disk);
    disk.plan(4, Failure::Error(io::ErrorKind::StorageFull));
    assert!(matches!(blobs.put(&content()), Err(BlobError::Io { .. })));
    assert!(matches!(blobs.put(&content()), Err(BlobError::Closed)));
}

#[test]
fn a_damaged_blob_is_refused_and_put_mends_it() {
    let disk = SimDisk::new();
    let stored = blobs(&disk).put(&content()).unwrap();
    for damaged in [&b"y"[..], b"", &content()[1..]] {
        let folder = format!("blobs/{}", &HASH[..2]);
        let disk = SimDisk::new();
        for name in ["blobs", &folder] {
            crate::disk::Disk::make_folder(&disk, name).unwrap();
        }
        let file = crate::disk::Disk::open(&disk, &name(), crate::disk::Mode::CreateNew).unwrap();
        crate::disk::write_all_at(&*file, damaged, 0).unwrap();
        let error = blobs(&disk).get(HASH).unwrap_err();
        assert!(matches!(error, BlobError::Damaged { .. }), "{error}");
        assert_eq!(blobs(&disk).put(&content()).unwrap(), stored);
        assert_eq!(blobs(&disk).get(HASH).unwrap(), content());
    }
}

#[test]
fn only_a_hash_is_a_name() {
    let upper = HASH.to_uppercase();
    for name in ["", "..", "../../etc/passwd", &upper, &HASH[1..]] {
        let error = blobs(&SimDisk::new()).get(name).unwrap_err();
        assert!(matches!(error, BlobError::Name(_)), "{name}: {error}");
    }
    let error = blobs(&SimDisk::new()).get(HASH).unwrap_err();
    assert!(matches!(error, BlobError::Missing(_)), "{error}");
}
