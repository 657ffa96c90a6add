//! A large ledger by the rules of the format page: tasks whose only agent asks its model 32 times and reads a
//! file each time, in lines of about 480 bytes. Never a run that anybody could go on with.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The run that it tells of.
pub(crate) const RUN: &str = "large-261130-ab12";

const REQUESTS: u32 = 32;

struct Lines {
    text: String,
    sum: String,
    seq: u64,
}

impl Lines {
    fn line(&mut self, records: &str) {
        self.seq += 1;
        let (seq, before) = (self.seq, self.seq - 1);
        let body = format!(
            r#"{{"v":1,"seq":{seq},"epoch":1,"dw":{before},"at":"2026-11-30T12:31:08.114Z","records":[{records}]"#
        );
        let digest = Sha256::digest(format!("{}{body}", self.sum));
        self.sum = digest[..16].iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
            hex
        });
        let sum = &self.sum;
        writeln!(self.text, r#"{body},"sum":"{sum}"}}"#).expect("writing to a String cannot fail");
    }
}

/// The bytes of one with at least so many lines.
pub(crate) fn ledger(lines: u64) -> String {
    let tasks = lines / 100 + 1;
    let mut out = Lines {
        text: String::new(),
        sum: String::new(),
        seq: 0,
    };
    out.line(&format!(
        r#"{{"type":"run.opened","run":"{RUN}","version":"0.1.0","repository":"/r","base":null,"integration":null,"seed":1,"plan":{{"name":"large","limits":{{"agents":3,"attempts":1,"steps":200,"wall_secs":600}},"budget":{{}},"workspace":{{"site":"here"}},"providers":{{"wire":{{"kind":"openai","base_url":"http://127.0.0.1:9/v1"}}}},"roles":{{"scout":{{"model":{{"provider":"wire","model":"m"}},"access":"read","network":false,"gives_verdict":false}}}},"tasks":[]}},"tasks":[],"task_count":{tasks}}}"#
    ));
    for task in 0..tasks {
        a_task(&mut out, task);
    }
    out.text
}

fn a_task(out: &mut Lines, task: u64) {
    let of = format!(r#""task":"t{task}","attempt":1"#);
    out.line(&format!(
        r#"{{"type":"task.queued","spec":{{"id":"t{task}","role":"scout","prompt":"Look."}}}}"#
    ));
    out.line(&format!(r#"{{"type":"attempt.started",{of}}}"#));
    out.line(&format!(r#"{{"type":"workspace.ready",{of},"path":"/r"}}"#));
    let hash = "0".repeat(64);
    let said = "I look at the file that was named, and then say what I found. ".repeat(3);
    let read = r"a line of the file that was read\n".repeat(8);
    for step in 1..=REQUESTS {
        let call = format!(r#""call":"call_{step}_1","tool":"read""#);
        out.line(&format!(
            r#"{{"type":"model.requested",{of},"step":{step},"hash":"{hash}","bytes":9000,"max_output":8192,"reserved":9800}}"#
        ));
        out.line(&format!(
            r#"{{"type":"model.responded",{of},"step":{step},"answer":{{"blocks":[{{"block":"text","text":"{said}"}},{{"block":"call","id":"call_{step}_1","name":"read","arguments":{{"object":"{{\"path\":\"src/lib.rs\"}}"}}}}],"stop":"calls"}},"usage":{{"input":1000,"output":50}}}},{{"type":"tool.started",{of},{call},"effect":"reads","summary":"src/lib.rs"}}"#
        ));
        out.line(&format!(
            r#"{{"type":"tool.finished",{of},{call},"status":"ok","text":"{read}"}}"#
        ));
    }
    out.line(&format!(
        r#"{{"type":"attempt.finished",{of},"end":{{"how":"failed","kind":"steps","message":"x"}}}}"#
    ));
    out.line(&format!(
        r#"{{"type":"task.ended","task":"t{task}","state":"failed"}}"#
    ));
}
