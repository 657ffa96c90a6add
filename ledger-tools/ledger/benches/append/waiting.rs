//! Waiting for a line to be durable, and a queue of lines for a thread that makes them so. Never writes.

use std::sync::{Condvar, Mutex};

/// The last durable line, to be waited for.
#[derive(Default)]
pub(crate) struct Durable(Mutex<u64>, Condvar);

impl Durable {
    pub(crate) fn rise_to(&self, seq: u64) {
        *self.0.lock().expect("nobody panics") = seq;
        self.1.notify_all();
    }

    pub(crate) fn wait_for(&self, seq: u64) {
        let mut durable = self.0.lock().expect("nobody panics");
        while *durable < seq {
            durable = self.1.wait(durable).expect("nobody panics");
        }
    }
}

/// Lines on their way, as bytes and as a count.
#[derive(Default)]
pub(crate) struct Queue(Mutex<Queued>, Condvar);

#[derive(Default)]
struct Queued {
    bytes: Vec<u8>,
    last: u64,
}

impl Queue {
    /// Queues a line; answers its number.
    pub(crate) fn push(&self, line: &[u8]) -> u64 {
        let mut queued = self.0.lock().expect("nobody panics");
        queued.bytes.extend_from_slice(line);
        queued.last += 1;
        let seq = queued.last;
        drop(queued);
        self.1.notify_one();
        seq
    }

    /// Waits for lines; answers all that are there, and the number of the last.
    pub(crate) fn take(&self) -> (Vec<u8>, u64) {
        let mut queued = self.0.lock().expect("nobody panics");
        while queued.bytes.is_empty() {
            queued = self.1.wait(queued).expect("nobody panics");
        }
        (std::mem::take(&mut queued.bytes), queued.last)
    }
}

/// Has `appenders` threads queue `lines` lines each, waiting for each, while `make_durable` turns what is
/// queued into what is on disk. Answers how often it did.
pub(crate) fn drive(
    appenders: usize,
    lines: u64,
    line: &[u8],
    mut make_durable: impl FnMut(&[u8]),
) -> u64 {
    let (queue, durable) = (Queue::default(), Durable::default());
    let total = appenders as u64 * lines;
    let mut syncs = 0;
    std::thread::scope(|scope| {
        for _ in 0..appenders {
            scope.spawn(|| {
                for _ in 0..lines {
                    durable.wait_for(queue.push(line));
                }
            });
        }
        let mut last = 0;
        while last < total {
            let (bytes, seq) = queue.take();
            make_durable(&bytes);
            last = seq;
            syncs += 1;
            durable.rise_to(last);
        }
    });
    syncs
}
