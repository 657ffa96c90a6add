//! A model server on the loopback address, in the test's own process: it plays answers down to
//! single bytes, records what it was asked, and refuses requests that a real server would refuse.
//! Never shares code with the client under test.
//!
//! ```
//! use testkit::model_server::{ModelServer, Reply};
//!
//! let server = ModelServer::answering(|request| match request.turn() {
//!     1 => Reply::calls([("read", r#"{"path":"a.txt"}"#)]),
//!     _ => Reply::text("done"),
//! });
//! assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! assert_eq!(server.requests().len(), 0);
//! ```

mod connection;
mod gate;
mod memory;
mod reply;
mod request;
mod rules;
mod script;

pub use gate::Gate;
pub use reply::{Reply, named_sse, sse};
pub use request::{RequestView, Wire};
pub use rules::broken_rule;
pub use script::Script;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Longest time a test waits for the server to see something.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Answers a request. Runs on the server's only thread, so it must not wait.
type Handler = dyn Fn(&RequestView) -> Reply + Send + Sync;

/// A running server. Dropping it ends it and every connection.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the server has seen so far. Connection tests are not counted.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// Connections that were opened.
    pub connections: usize,
    /// Every model request, in the order in which they were complete.
    pub requests: Vec<RequestView>,
    /// Requests that are being answered now.
    pub in_flight: usize,
    /// Most that were being answered at once.
    pub peak: usize,
    /// Requests whose client left before its answer was over.
    pub abandoned: usize,
    /// Rules that requests broke, in order. Each was answered with status 400.
    pub broken_rules: Vec<String>,
}

struct Shared {
    handler: Box<Handler>,
    /// What a connection test is answered.
    probe: Reply,
    seen: Mutex<Seen>,
    memory: Mutex<memory::Memory>,
    changed: Condvar,
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen
            .lock()
            .expect("no thread panics while it holds this lock")
    }

    fn memory(&self) -> MutexGuard<'_, memory::Memory> {
        self.memory
            .lock()
            .expect("no thread panics while it holds this lock")
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen());
        self.changed.notify_all();
    }
}

impl ModelServer {
    /// Answers each model request with what `handler` makes of it, unless it breaks a rule. The
    /// handler must not wait: a [`Gate`] in its reply does.
    #[must_use]
    pub fn answering(handler: impl Fn(&RequestView) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(Box::new(handler), Reply::models())
    }

    /// Refuses every request, and the connection test too, as one without the right key.
    #[must_use]
    pub fn refusing_the_key(message: &str) -> Self {
        let refusal = Reply::refusal(401, message);
        let probe = refusal.clone();
        Self::start(Box::new(move |_| refusal.clone()), probe)
    }

    /// Answers the requests with these replies, in order of arrival; any further one with 400.
    #[must_use]
    pub fn playing(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: VecDeque<Reply> = replies.into_iter().collect();
        let total = replies.len();
        let replies = Mutex::new(replies);
        Self::answering(move |_| {
            let mut left = replies.lock().expect("no thread panics with this lock");
            let over = || Reply::refusal(400, &format!("only {total} replies were scripted"));
            left.pop_front().unwrap_or_else(over)
        })
    }

    /// Answers by a script.
    #[must_use]
    pub fn scripted(script: Script) -> Self {
        Self::answering(move |request| script.reply(request))
    }

    fn start(handler: Box<Handler>, probe: Reply) -> Self {
        let shared = Arc::new(Shared {
            handler,
            probe,
            seen: Mutex::default(),
            memory: Mutex::default(),
            changed: Condvar::new(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be built");
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("the loopback address has a free port");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = connection::accept(listener, served) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The base URL a client is given.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it has seen until now.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.shared.seen().clone()
    }

    /// Every model request until now, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestView> {
        self.shared.seen().requests.clone()
    }

    /// Blocks until what the server has seen satisfies `until`.
    ///
    /// # Panics
    /// When that takes longer than 20 seconds.
    pub fn wait_until(&self, until: impl Fn(&Seen) -> bool) {
        let seen = self.shared.seen();
        let (seen, timeout) = self
            .shared
            .changed
            .wait_timeout_while(seen, WAIT_MAX, |seen| !until(seen))
            .expect("no thread panics while it holds this lock");
        assert!(
            !timeout.timed_out(),
            "waited in vain; {} requests, {} in flight, {} abandoned, broken: {:?}",
            seen.requests.len(),
            seen.in_flight,
            seen.abandoned,
            seen.broken_rules,
        );
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
