//! The manager as an agent sees it: a journal that answers when what it was told is durable.

use crate::mailbox::Mailbox;
use engine_core::content::Content;
use engine_core::record::AgentRecord;
use engine_runtime::{Admission, Journal, JournalClosed, RequestIntent};
use fleet_core::decide::{Ask, Input, Reply};
use futures_util::future::BoxFuture;

/// Reports of one agent go through here.
pub(crate) struct ManagerJournal {
    mailbox: Mailbox,
}

impl ManagerJournal {
    pub(crate) fn new(mailbox: Mailbox) -> Self {
        Self { mailbox }
    }
}

impl Journal for ManagerJournal {
    fn admit(&self, intent: RequestIntent) -> BoxFuture<'_, Result<Admission, JournalClosed>> {
        Box::pin(async move {
            let ask = Ask {
                agent: intent.agent,
                step: intent.step,
                purpose: intent.purpose,
                hash: intent.hash,
                bytes: intent.bytes,
                told: intent.told.into_iter().map(Content::from).collect(),
                max_output: intent.max_output,
            };
            match self.mailbox.send(Input::Admit(ask)).await {
                Ok(Reply::Granted { max_output }) => Ok(Admission::Granted { max_output }),
                Ok(Reply::Refused { message }) => Ok(Admission::Refused { reason: message }),
                Ok(Reply::Accepted | Reply::Wait | Reply::Late(_) | Reply::Declined(_))
                | Err(_) => Err(JournalClosed),
            }
        })
    }

    fn record(&self, records: Vec<AgentRecord>) -> BoxFuture<'_, Result<(), JournalClosed>> {
        Box::pin(async move {
            match self.mailbox.send(Input::Report(records)).await {
                Ok(Reply::Accepted) => Ok(()),
                Ok(_) | Err(_) => Err(JournalClosed),
            }
        })
    }
}
