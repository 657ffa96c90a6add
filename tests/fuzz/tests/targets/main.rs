//! What must hold of any bytes that reach the product from outside: one target for each reader of such
//! bytes, tried with bytes at random and with whatever lies in its corpus. Under a fuzzing engine each test
//! is a target of its own. Never reads anybody's file, never asks anybody.

mod answers;
mod chat;
mod ledgers;
mod messages;
mod patches;
mod rosters;
mod spell;
mod sse;

/// Inputs of each target where no engine says otherwise.
const INPUTS: usize = 3_000;

/// Longest input, in bytes.
const LONGEST: usize = 96;

macro_rules! targets {
    ($($name:ident: $check:path,)*) => {$(
        #[test]
        fn $name() {
            bolero::check!()
                .with_iterations(INPUTS)
                .with_max_len(LONGEST)
                .for_each(|bytes: &[u8]| $check(bytes));
        }
    )*};
}

targets! {
    a_stream_of_events_is_read_the_same_however_it_is_cut: sse::check,
    an_answer_over_chat_completions_can_be_recorded_and_read_back: chat::check,
    an_answer_over_messages_can_be_recorded_and_read_back: messages::check,
    a_roster_is_taken_or_refused_with_places_inside_it: rosters::check,
    a_patch_is_read_or_refused_with_places_inside_it: patches::check,
    both_readers_of_a_ledger_come_to_the_same_verdict: ledgers::check,
}
