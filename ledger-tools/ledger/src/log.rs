//! The active segment while it is written: forms lines, writes a batch, syncs it. Each error is final.
//! Never decides when to write, never tells anyone: the writer's thread does.

use crate::disk::{Disk, DiskFile, FileId, Mode, write_all_at};
use crate::error::WriteError;
use crate::format::{
    BATCH_MAX_BYTES, BATCH_MAX_LINES, ENVELOPE_MAX_BYTES, Epoch, Head, SEGMENT, SUSPECT, Seq, Sum,
};
use crate::hint::HintFile;
use crate::line::NewLine;
use crate::room::{Filling, Room};
use chrono::{DateTime, Utc};
use std::path::PathBuf;

/// A line that is queued.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) seq: Seq,
    pub(crate) at: DateTime<Utc>,
    /// The records' JSON objects, separated by commas.
    pub(crate) records: Vec<u8>,
}

/// The segment that one writer extends.
pub(crate) struct Log {
    disk: Box<dyn Disk>,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    id: FileId,
    hint: HintFile,
    epoch: Epoch,
    /// Where the file ends.
    end: u64,
    /// The last line written, which is also the last one known to be durable.
    head: Option<Head>,
    /// Its instant, when this writer wrote it.
    last_at: Option<DateTime<Utc>>,
    /// Whether the mark of an unclean end is set.
    is_marked: bool,
    room: Room,
    /// Seen by the last look-ahead, and not told yet.
    filling: Option<Filling>,
    batch: Vec<u8>,
}

impl Log {
    /// Goes on after `head`, the last line of the segment, which is whole and durable.
    pub(crate) fn start(
        disk: Box<dyn Disk>,
        head: Option<Head>,
        epoch: Epoch,
    ) -> Result<Self, WriteError> {
        let path = disk.path(SEGMENT);
        let file = disk
            .open(SEGMENT, Mode::Write)
            .map_err(WriteError::io("open", &path))?;
        let id = file.id().map_err(WriteError::io("look at", &path))?;
        let end = file.length().map_err(WriteError::io("look at", &path))?;
        let hint = HintFile::open(&*disk)?;
        if let Some(head) = &head {
            hint.say(head)?;
        }
        let marked = disk
            .exists(SUSPECT)
            .map_err(WriteError::io("look for", &disk.path(SUSPECT)))?;
        Ok(Self {
            path,
            file,
            id,
            hint,
            epoch,
            end,
            head,
            last_at: None,
            is_marked: marked,
            room: Room::default(),
            filling: None,
            batch: Vec::with_capacity(64 * 1024),
            disk,
        })
    }

    pub(crate) fn head(&self) -> Option<Head> {
        self.head
    }

    /// The instant of the last line, when this writer wrote it.
    pub(crate) fn last_at(&self) -> Option<DateTime<Utc>> {
        self.last_at
    }

    /// Writes as many of the queued lines as fit one batch, at least one, and syncs them. Answers how
    /// many they are; the last of them is then durable.
    pub(crate) fn append(&mut self, queued: &[Queued]) -> Result<usize, WriteError> {
        self.mark()?;
        self.is_where_it_was_left()?;
        let (head, taken) = self.form(queued);
        let filling = self.room.look(&*self.disk, self.batch.len());
        self.filling = self.filling.take().or(filling);
        write_all_at(&*self.file, &self.batch, self.end)
            .map_err(WriteError::io("write", &self.path))?;
        self.file
            .sync()
            .map_err(WriteError::io("sync", &self.path))?;
        self.end += self.batch.len() as u64;
        self.head = head;
        self.last_at = queued[..taken].last().map(|line| line.at).or(self.last_at);
        if let Some(head) = &self.head {
            self.hint.say(head)?;
        }
        Ok(taken)
    }

    /// That the disk is filling, once after that was seen.
    pub(crate) fn filling(&mut self) -> Option<Filling> {
        self.filling.take()
    }

    /// Ends cleanly: makes the hint durable, gives the reserve back and takes the mark away.
    pub(crate) fn close(&mut self) -> Result<(), WriteError> {
        self.hint.sync()?;
        self.room.leave(&*self.disk)?;
        if self.is_marked {
            let mark = self.disk.path(SUSPECT);
            self.disk
                .remove(SUSPECT)
                .map_err(WriteError::io("remove", &mark))?;
            self.sync_folder()?;
            self.is_marked = false;
        }
        Ok(())
    }

    /// Forms the batch in memory. All its lines carry the same watermark: the last line synced.
    fn form(&mut self, queued: &[Queued]) -> (Option<Head>, usize) {
        self.batch.clear();
        let durable = self.head.map_or(Seq(0), |head| head.seq);
        let mut head = self.head;
        let mut taken = 0;
        for line in queued.iter().take(BATCH_MAX_LINES) {
            let most = self.batch.len() + line.records.len() + ENVELOPE_MAX_BYTES;
            if most > BATCH_MAX_BYTES && taken > 0 {
                break;
            }
            let before: Option<Sum> = head.map(|head| head.sum);
            let new = NewLine {
                seq: line.seq,
                epoch: self.epoch,
                durable,
                at: line.at,
                records: &line.records,
            };
            let sum = new.form(before.as_ref(), &mut self.batch);
            head = Some(Head {
                seq: line.seq,
                epoch: self.epoch,
                sum,
            });
            taken += 1;
        }
        (head, taken)
    }

    /// Marks the run as one that has not ended cleanly, before its first byte is written.
    fn mark(&mut self) -> Result<(), WriteError> {
        if self.is_marked {
            return Ok(());
        }
        let mark = self.disk.path(SUSPECT);
        self.disk
            .open(SUSPECT, Mode::CreateOrKeep)
            .map_err(WriteError::io("create", &mark))?;
        self.sync_folder()?;
        self.is_marked = true;
        Ok(())
    }

    /// The second fence, after the lock: nobody else has extended or replaced the file.
    fn is_where_it_was_left(&self) -> Result<(), WriteError> {
        let found = self
            .file
            .length()
            .map_err(WriteError::io("look at", &self.path))?;
        if found != self.end {
            return Err(WriteError::Touched {
                path: self.path.clone(),
                expected: self.end,
                found,
            });
        }
        match self.disk.id(SEGMENT) {
            Ok(id) if id == self.id => Ok(()),
            Ok(_) => Err(WriteError::Replaced {
                path: self.path.clone(),
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(WriteError::Replaced {
                    path: self.path.clone(),
                })
            }
            Err(error) => Err(WriteError::io("look at", &self.path)(error)),
        }
    }

    fn sync_folder(&self) -> Result<(), WriteError> {
        self.disk
            .sync_folder("")
            .map_err(WriteError::io("sync", &self.disk.path("")))
    }
}
