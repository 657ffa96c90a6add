//! The built-in tools as an agent's driver takes them. Never adds or withholds one: the catalog is
//! the toolbox's.

use engine_core::message::ToolCall;
use engine_core::tool::ToolSpec;
use engine_core::turn::ToolEnd;
use engine_runtime::{ReadyCall, Refusal, Tools};
use engine_tools::Toolbox;
use std::sync::Arc;

/// A toolbox behind the driver's port.
pub(super) struct BuiltIn(pub(super) Arc<Toolbox>);

impl Tools for BuiltIn {
    fn catalog(&self) -> &[ToolSpec] {
        self.0.catalog()
    }

    fn prepare(&self, call: &ToolCall) -> Result<ReadyCall, Refusal> {
        let prepared = self.0.prepare(call).map_err(|refusal| Refusal {
            text: refusal.to_string(),
        })?;
        let toolbox = Arc::clone(&self.0);
        Ok(ReadyCall {
            effect: prepared.effect(),
            summary: prepared.summary().to_owned(),
            run: Box::new(move |cancel| {
                Box::pin(async move {
                    let output = toolbox.run(prepared, cancel.clone()).await;
                    if cancel.is_cancelled() {
                        ToolEnd::Stopped {
                            output: output.text,
                        }
                    } else {
                        ToolEnd::Done {
                            status: output.status,
                            text: output.text,
                        }
                    }
                })
            }),
        })
    }
}
