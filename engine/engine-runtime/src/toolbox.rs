//! The built-in tools as an agent's [`Tools`]. Never closes the toolbox: whoever made it does.

use crate::ports::{ReadyCall, Refusal, Tools};
use engine_core::message::ToolCall;
use engine_core::tool::ToolSpec;
use engine_core::turn::ToolEnd;
use engine_tools::{CallEnd, ToolOutput, Toolbox};
use std::sync::Arc;

impl Tools for Toolbox {
    fn catalog(&self) -> &[ToolSpec] {
        Self::catalog(self)
    }

    fn prepare(self: Arc<Self>, call: &ToolCall) -> Result<ReadyCall, Refusal> {
        let prepared = Self::prepare(&self, call).map_err(|refusal| Refusal {
            text: refusal.to_string(),
        })?;
        Ok(ReadyCall {
            effect: prepared.effect(),
            summary: prepared.summary().to_owned(),
            run: Box::new(|stop| {
                Box::pin(async move {
                    let ToolOutput {
                        end, status, text, ..
                    } = self.run(prepared, stop).await;
                    match end {
                        CallEnd::Stopped => ToolEnd::Stopped { output: text },
                        CallEnd::Done | CallEnd::NotRun => ToolEnd::Done { status, text },
                    }
                })
            }),
        })
    }
}
