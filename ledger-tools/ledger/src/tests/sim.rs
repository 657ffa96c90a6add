//! A simulated folder: each file has what the page cache shows and what the disk holds, per page. Calls
//! fail as planned, and a power cut keeps any subset of what was not synced. Never loses synced bytes.

use crate::disk::{Disk, DiskFile, FileId, Mode};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// Small, so that few lines span many pages.
const PAGE_BYTES: usize = 64;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// With this error; a failed sync drops what it should have written, as real ones do.
    Error(io::ErrorKind),
    /// A write takes only a part, without an error; other calls succeed.
    Short,
    /// The power is cut: this call and all later ones fail.
    Cut,
}

#[derive(Debug, Clone, Default)]
struct Inode {
    cache: Vec<u8>,
    disk: Vec<u8>,
    /// Bytes that it takes up beyond its content.
    allocated: u64,
    dirty: BTreeSet<usize>,
}

#[derive(Debug, Clone, Default)]
struct State {
    inodes: BTreeMap<u64, Inode>,
    names: BTreeMap<String, u64>,
    names_on_disk: BTreeMap<String, u64>,
    /// Changes of names that no sync of their folder has made durable, in order.
    names_unsynced: Vec<(String, Option<u64>)>,
    next_inode: u64,
    calls: usize,
    plan: Option<(usize, Failure)>,
    is_cut: bool,
    /// How much the disk can take, when that is limited.
    size: Option<u64>,
}

/// The folder; clones share it.
#[derive(Debug, Clone)]
pub(super) struct SimDisk(Arc<Mutex<State>>);

struct SimFile {
    disk: SimDisk,
    inode: u64,
}

/// A seeded source of choices.
pub(super) struct Choices(pub(super) u64);

impl Choices {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

impl SimDisk {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State::default())))
    }

    /// A folder that holds these files, all of them durable.
    pub(super) fn with(files: &[(&str, &[u8])]) -> Self {
        let disk = Self::new();
        for (name, bytes) in files {
            let file = disk.open(name, Mode::CreateNew).unwrap();
            crate::disk::write_all_at(&*file, bytes, 0).unwrap();
            file.sync().unwrap();
        }
        disk.sync_folder("").unwrap();
        disk
    }

    /// Lets call number `call` from now, counted from 0, fail.
    pub(super) fn plan(&self, call: usize, failure: Failure) {
        let mut state = self.lock();
        state.plan = Some((state.calls + call, failure));
    }

    /// Limits the disk to what is on it and `free` bytes more.
    pub(super) fn limit(&self, free: u64) {
        let mut state = self.lock();
        state.size = Some(state.used() + free);
    }

    /// True when the planned failure has come.
    pub(super) fn plan_was_met(&self) -> bool {
        let state = self.lock();
        state.plan.is_some_and(|(call, _)| call < state.calls)
    }

    /// The same folder after the process died: what the page cache shows is still there.
    pub(super) fn restarted(&self) -> Self {
        let state = State {
            plan: None,
            is_cut: false,
            ..self.lock().clone()
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// The folder after a power cut: any of the unsynced pages and lengths, and of the unsynced changes
    /// of names the first few, have reached the disk.
    pub(super) fn after_power_cut(&self, choices: &mut Choices) -> Self {
        let mut state = self.lock().clone();
        for inode in state.inodes.values_mut() {
            let longest = inode.cache.len().max(inode.disk.len());
            let length = match choices.below(2) {
                0 => inode.disk.len(),
                _ => longest,
            };
            inode.disk.resize(length, 0);
            for page in std::mem::take(&mut inode.dirty) {
                if choices.below(2) == 0 {
                    inode.write_page(page);
                }
            }
            inode.cache.clone_from(&inode.disk);
        }
        let kept = choices.below(state.names_unsynced.len() + 1);
        for (name, inode) in std::mem::take(&mut state.names_unsynced)
            .into_iter()
            .take(kept)
        {
            set(&mut state.names_on_disk, name, inode);
        }
        state.names = reachable(&state.names_on_disk);
        state.names_on_disk.clone_from(&state.names);
        state.plan = None;
        state.is_cut = false;
        Self(Arc::new(Mutex::new(state)))
    }

    /// What a file shows.
    pub(super) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        let inode = state.names.get(name)?;
        Some(state.inodes[inode].cache.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl Inode {
    /// Brings one page from the cache to the disk, as far as the disk's length reaches.
    fn write_page(&mut self, page: usize) {
        let start = page * PAGE_BYTES;
        let end = (start + PAGE_BYTES)
            .min(self.disk.len())
            .min(self.cache.len());
        if start < end {
            self.disk[start..end].copy_from_slice(&self.cache[start..end]);
        }
    }

    fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if end > self.cache.len() {
            self.cache.resize(end, 0);
        }
        self.cache[offset..end].copy_from_slice(bytes);
        self.dirty
            .extend(offset / PAGE_BYTES..=(end - 1) / PAGE_BYTES);
    }

    fn sync(&mut self) {
        self.disk.resize(self.cache.len(), 0);
        for page in std::mem::take(&mut self.dirty) {
            self.write_page(page);
        }
    }

    fn forget_cache(&mut self) {
        for index in 0..self.cache.len() {
            if !self.dirty.contains(&(index / PAGE_BYTES)) {
                self.cache[index] = self.disk.get(index).copied().unwrap_or(0);
            }
        }
    }
}

impl State {
    /// Counts a call that changes something; answers whether a write is to be short.
    fn step(&mut self) -> io::Result<bool> {
        let call = self.calls;
        self.calls += 1;
        if self.is_cut {
            return Err(io::Error::other("no power"));
        }
        match self.plan {
            Some((planned, failure)) if planned == call => match failure {
                Failure::Error(kind) => Err(kind.into()),
                Failure::Short => Ok(true),
                Failure::Cut => {
                    self.is_cut = true;
                    Err(io::Error::other("no power"))
                }
            },
            _ => Ok(false),
        }
    }

    /// Bytes that the files with a name take up.
    fn used(&self) -> u64 {
        let files = self.names.values().map(|inode| &self.inodes[inode]);
        files
            .map(|file| file.allocated.max(file.cache.len() as u64))
            .sum()
    }

    fn free(&self) -> u64 {
        self.size
            .map_or(u64::MAX, |size| size.saturating_sub(self.used()))
    }

    fn inode(&self, name: &str) -> io::Result<u64> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn name(&mut self, name: &str, inode: Option<u64>) {
        set(&mut self.names, name.to_owned(), inode);
        self.names_unsynced.push((name.to_owned(), inode));
    }

    fn create(&mut self, name: &str) -> io::Result<u64> {
        if !parent(name).is_empty() {
            self.inode(parent(name))?;
        }
        self.next_inode += 1;
        self.inodes.insert(self.next_inode, Inode::default());
        self.name(name, Some(self.next_inode));
        Ok(self.next_inode)
    }
}

fn set(names: &mut BTreeMap<String, u64>, name: String, inode: Option<u64>) {
    match inode {
        Some(inode) => names.insert(name, inode),
        None => names.remove(&name),
    };
}

/// The folder that a name stands in; `""` is the top.
fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The names whose folders are there too.
fn reachable(names: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let is_there = |name: &str| {
        let mut folder = parent(name);
        while !folder.is_empty() && names.contains_key(folder) {
            folder = parent(folder);
        }
        folder.is_empty()
    };
    let kept = names.iter().filter(|(name, _)| is_there(name));
    kept.map(|(name, inode)| (name.clone(), *inode)).collect()
}

impl Disk for SimDisk {
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("/run").join(name)
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock();
        let found = state.inode(name);
        let inode = match (mode, found) {
            (Mode::Read | Mode::Write, found) => found?,
            (Mode::CreateNew, Ok(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Mode::CreateOrKeep, Ok(inode)) => inode,
            (Mode::CreateNew | Mode::CreateOrKeep, Err(_)) => {
                state.step()?;
                state.create(name)?
            }
        };
        Ok(Box::new(SimFile {
            disk: self.clone(),
            inode,
        }))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        Ok(self.lock().names.contains_key(name))
    }

    fn id(&self, name: &str) -> io::Result<FileId> {
        self.lock().inode(name).map(FileId::simulated)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.step()?;
        let inode = state.inode(from)?;
        state.name(to, Some(inode));
        state.name(from, None);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.step()?;
        state.inode(name)?;
        state.name(name, None);
        Ok(())
    }

    fn make_folder(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        if state.inode(name).is_err() {
            state.step()?;
            state.create(name)?;
        }
        Ok(())
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.step()?;
        let changes = std::mem::take(&mut state.names_unsynced);
        let (here, elsewhere): (Vec<_>, Vec<_>) = changes
            .into_iter()
            .partition(|(name, _)| parent(name) == folder);
        state.names_unsynced = elsewhere;
        for (name, inode) in here {
            set(&mut state.names_on_disk, name, inode);
        }
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(self.lock().free())
    }

    /// Not one of the calls that can be planned to fail: its failure is no failure of the writer.
    fn allocate(&self, name: &str, bytes: u64) -> io::Result<()> {
        let mut state = self.lock();
        if state.is_cut {
            return Err(io::Error::other("no power"));
        }
        if state.free() < bytes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let inode = match state.inode(name) {
            Ok(inode) => inode,
            Err(_) => state.create(name)?,
        };
        state.inodes.entry(inode).or_default().allocated = bytes;
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.lock();
        let cache = &state.inodes[&self.inode].cache;
        let rest = cache
            .get(usize::try_from(offset).unwrap()..)
            .unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.lock();
        let is_short = state.step()?;
        let taken = if is_short {
            bytes.len().div_ceil(2)
        } else {
            bytes.len()
        };
        let end = offset + taken as u64;
        let grown = end.saturating_sub(state.inodes[&self.inode].cache.len() as u64);
        if grown > state.free() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let inode = state.inodes.get_mut(&self.inode).unwrap();
        inode.write(&bytes[..taken], usize::try_from(offset).unwrap());
        Ok(taken)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.disk.lock().inodes[&self.inode].cache.len() as u64)
    }

    fn id(&self) -> io::Result<FileId> {
        Ok(FileId::simulated(self.inode))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let result = state.step();
        let is_cut = state.is_cut;
        let inode = state.inodes.get_mut(&self.inode).unwrap();
        match result {
            Ok(_) => inode.sync(),
            // The pages count as written from now on, although they are not.
            Err(_) if !is_cut => inode.dirty.clear(),
            Err(_) => {}
        }
        result.map(|_| ())
    }

    fn forget_cache(&self) -> io::Result<()> {
        self.disk
            .lock()
            .inodes
            .get_mut(&self.inode)
            .unwrap()
            .forget_cache();
        Ok(())
    }
}
