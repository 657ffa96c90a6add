//! A ledger from its first line to its last, past damage: what every reading command walks along. Never hides
//! that something is missing, never gives out what a torn write left.

use crate::error::InspectError;
use crate::line::Line;
use crate::verify::{Damage, Report, Torn, verify_lines};
use crate::walk::{Segment, Step, walk};
use std::path::Path;

/// What stands in a ledger, in the order of the file.
pub(crate) enum Item<'s, 'a> {
    /// A whole line.
    Line(&'s Line<'a>),
    /// A damaged place.
    Damage(&'s Damage),
    /// The end, when it was never acknowledged. Comes last.
    Torn(&'s Torn),
}

/// Walks along the ledger at `path`; answers what verifying its lines found.
pub(crate) fn past_damage(
    path: &Path,
    on_item: &mut dyn FnMut(Item<'_, '_>) -> Result<(), InspectError>,
) -> Result<Report, InspectError> {
    // Whether the end is torn or damaged is known only after all has been read.
    let verdict = match verify_lines(path) {
        Err(error) if !matches!(error, InspectError::Newer { .. }) => return Err(error),
        verdict => verdict,
    };
    let report = verdict.as_ref().ok();
    let torn = report.and_then(|report| report.torn.as_ref());
    let end = torn.map_or(u64::MAX, |torn| torn.place.byte);
    let mut marks = report
        .map_or(&[][..], |report| &report.damage)
        .iter()
        .peekable();
    walk(Segment::open(path)?, &mut |step| {
        let byte = match &step {
            Step::Line(line) => line.byte,
            Step::Fault(fault) => fault.place.byte,
            Step::Lost { .. } => return Ok(()),
        };
        while let Some(damage) = marks.next_if(|damage| damage.place.byte <= byte) {
            on_item(Item::Damage(damage))?;
        }
        match step {
            Step::Line(line) if byte < end => on_item(Item::Line(line)),
            _ => Ok(()),
        }
    })?;
    for damage in marks {
        on_item(Item::Damage(damage))?;
    }
    if let Some(torn) = torn {
        on_item(Item::Torn(torn))?;
    }
    verdict
}
