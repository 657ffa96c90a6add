//! What a run shows while it runs: a live view in a terminal, lines elsewhere, records for programs.
//! Never shows what is not durable.

use super::Show;
use crate::app::App;
use crate::output::{Live, Output, terminal_size};
use crate::record_line;
use engine_core::message::ToolStatus;
use fleet_core::record::Record;
use fleet_core::time::Stamp;
use fleet_core::view::RunView;
use fleet_runtime::clock::{Clock as _, SystemClock, timestamp};
use fleet_tui::inline::Inline;
use fleet_tui::line::Line;
use fleet_tui::picture::{self, Room};

/// Most lines that a live view takes.
const HEIGHT_MAX: u16 = 16;

/// Where a run is shown.
pub(super) struct Screen<'a> {
    output: &'a Output,
    run: String,
    way: Way<'a>,
    detail: Detail,
}

/// How it is shown.
enum Way<'a> {
    Live(Inline<Live<'a>>),
    Lines,
    Records,
}

/// How much is told line by line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    /// What went wrong, and ends.
    Ends,
    /// What is being done, too.
    Steps,
    /// Everything.
    All,
}

impl<'a> Screen<'a> {
    /// The right way for where the output goes.
    pub(super) fn new(app: &App<'a>, run: String, show: Show) -> Self {
        let live = app.output.live().filter(|_| !app.is_verbose());
        let (way, detail) = match (show, live) {
            (Show::Records, _) => (Way::Records, Detail::All),
            (Show::Detached, _) => (Way::Lines, Detail::Steps),
            (Show::Progress | Show::Result, Some(live)) => {
                (Way::Live(Inline::new(live)), Detail::Ends)
            }
            (Show::Progress | Show::Result, None) if app.is_verbose() => (Way::Lines, Detail::All),
            (Show::Progress | Show::Result, None) => (Way::Lines, Detail::Steps),
        };
        Self {
            output: app.output,
            run,
            way,
            detail,
        }
    }

    /// True when it wants to be drawn again as time goes by.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.way, Way::Live(_))
    }

    /// Shows a durable record.
    pub(super) fn record(&mut self, stamp: Stamp, record: &Record) {
        if let Way::Records = self.way {
            self.output
                .record(&record_line::json(&self.run, stamp, record));
        } else if detail_of(record) <= self.detail {
            self.line(record_line::sentence(record));
        }
    }

    /// Says something that is no record.
    pub(super) fn say(&mut self, text: &str) {
        self.line(Line::from(text));
    }

    /// Draws the run anew.
    pub(super) fn draw(&mut self, view: &RunView) {
        let Way::Live(inline) = &mut self.way else {
            return;
        };
        let (width, height) = terminal_size();
        let room = Room {
            width: width.into(),
            height: height.saturating_sub(1).min(HEIGHT_MAX).into(),
        };
        let lines = picture::frame(view, timestamp(SystemClock.now()), room);
        // A terminal that went away is noticed by its signal; the run goes on until then.
        let _ = inline.draw(lines, width);
    }

    /// Takes the view away, so that what follows stands where it stood.
    pub(super) fn close(&mut self) {
        self.way = Way::Lines;
    }

    fn line(&mut self, line: Line) {
        match &mut self.way {
            Way::Live(inline) => {
                let _ = inline.leave(&[line]);
            }
            Way::Lines | Way::Records => self.output.say(line),
        }
    }
}

/// From which detail on a record is told.
fn detail_of(record: &Record) -> Detail {
    match record {
        Record::TaskEnded(_)
        | Record::TaskRetried(_)
        | Record::TaskTold(_)
        | Record::ModelFailed(_)
        | Record::LandingConflicted(_)
        | Record::ReviewGiven(_) => Detail::Ends,
        Record::CheckFinished(check) if check.exit != Some(0) => Detail::Ends,
        Record::ToolFinished(tool) if tool.status == ToolStatus::Ok => Detail::All,
        Record::AttemptStarted(_)
        | Record::AttemptResumed(_)
        | Record::AttemptFinished(_)
        | Record::ContextCompacted(_)
        | Record::ToolStarted(_)
        | Record::ToolFinished(_)
        | Record::CheckFinished(_)
        | Record::WorkCommitted(_)
        | Record::WorkUnchanged(_)
        | Record::WorkLanded(_) => Detail::Steps,
        _ => Detail::All,
    }
}
