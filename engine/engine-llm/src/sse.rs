//! Server-sent events from bytes, as the HTML standard defines the format ("Interpreting an event
//! stream"), with one difference: bytes that are not UTF-8 are an error, never U+FFFD, because what
//! is stored wrong cannot be repaired later. Never reads a socket and never looks into the data.
//!
//! The caller bounds how much it feeds: a line and an event are kept whole until they end.

/// An event that was ended by an empty line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's type; empty where the stream named none, which means `message`.
    pub name: String,
    /// Its data lines, joined by line feeds.
    pub data: String,
}

/// The stream holds bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream holds invalid UTF-8")]
pub struct NotUtf8;

/// Turns bytes into events, wherever the network cut them.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    /// A line ended by CR; an LF right after it belongs to the same line end.
    after_cr: bool,
    /// The first line, before which a byte order mark may stand, is over.
    past_first_line: bool,
    /// Undecodable bytes came: nothing after them is looked at.
    broken: bool,
    name: String,
    data: Option<String>,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Decoder {
    /// Takes the next bytes and hands every event that they complete to `on_event`. An event
    /// without its empty line is never handed over.
    ///
    /// # Errors
    /// [`NotUtf8`], now and on every later call, after the events before the bad line.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), NotUtf8> {
        while !bytes.is_empty() && !self.broken {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) else {
                self.line.extend_from_slice(bytes);
                break;
            };
            self.line.extend_from_slice(&bytes[..end]);
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.broken = self.take_line(&line, on_event).is_err();
            self.line = line;
            self.line.clear();
        }
        if self.broken { Err(NotUtf8) } else { Ok(()) }
    }

    fn take_line(
        &mut self,
        mut line: &[u8],
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), NotUtf8> {
        if !std::mem::replace(&mut self.past_first_line, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        let line = std::str::from_utf8(line).map_err(|_| NotUtf8)?;
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            if let Some(data) = self.data.take() {
                on_event(Event { name, data });
            }
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("data", None) => self.data = Some(value.to_owned()),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("event", _) => value.clone_into(&mut self.name),
            // A comment has an empty field name; `id`, `retry` and unknown fields do not concern us.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a stream led to, fed in these pieces.
    type Outcome = (Vec<Event>, Result<(), NotUtf8>);

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let mut result = Ok(());
        for piece in pieces {
            result = decoder.feed(piece, &mut |event| events.push(event));
        }
        (events, result)
    }

    /// Decodes a body whole, with every single cut and one byte at a time: all must be equal.
    fn decode_every_way(body: &[u8]) -> Outcome {
        let whole = decode([body]);
        for cut in 0..=body.len() {
            let (left, right) = body.split_at(cut);
            assert_eq!(decode([left, right]), whole, "cut at {cut}");
        }
        assert_eq!(decode(body.chunks(1)), whole, "one byte at a time");
        whole
    }

    /// `expected` lists `(name, data)`.
    fn check(body: &[u8], expected: &[(&str, &str)]) {
        let (events, result) = decode_every_way(body);
        assert_eq!(result, Ok(()));
        let got: Vec<(&str, &str)> = events
            .iter()
            .map(|event| (event.name.as_str(), event.data.as_str()))
            .collect();
        assert_eq!(got, expected, "{}", String::from_utf8_lossy(body));
    }

    const ONE: &str = r#"{"x":1}"#;
    const TWO: &str = r#"{"x":2}"#;

    #[test]
    fn lines_end_with_cr_lf_or_both() {
        for end in ["\n", "\r", "\r\n"] {
            let body = format!("data: {ONE}{end}{end}data: {TWO}{end}{end}");
            check(body.as_bytes(), &[("", ONE), ("", TWO)]);
        }
    }

    #[test]
    fn the_space_after_the_colon_is_optional_and_only_one_is_taken() {
        check(
            b"data:{\"x\":1}\n\nevent:message\ndata:{\"x\":2}\n\ndata:  a\n\n",
            &[("", ONE), ("message", TWO), ("", " a")],
        );
    }

    #[test]
    fn comments_and_unknown_fields_are_left_out() {
        check(
            b": wait\n\n:\ndata: {\"x\":1}\n\n: wait\n\nid: 7\nretry: 10\nodd\ndata: {\"x\":2}\n\n",
            &[("", ONE), ("", TWO)],
        );
    }

    #[test]
    fn data_lines_are_joined_and_an_empty_one_counts() {
        check(
            b"data: {\"x\":\ndata: 1}\n\ndata\n\ndata\ndata:\n\n",
            &[("", "{\"x\":\n1}"), ("", ""), ("", "\n")],
        );
    }

    #[test]
    fn a_byte_order_mark_is_taken_off_the_start_only() {
        check(
            b"\xEF\xBB\xBFdata: {\"x\":1}\n\nevent: future\ndata: {\"y\":0}\n\n\xEF\xBB\xBFdata: 3\n\n",
            &[("", ONE), ("future", r#"{"y":0}"#)],
        );
    }

    #[test]
    fn unicode_line_separators_do_not_end_a_line() {
        check(
            b"data: {\"x\":1,\"t\":\"a\xE2\x80\xA8b\xC2\x85c\"}\n\n",
            &[("", "{\"x\":1,\"t\":\"a\u{2028}b\u{85}c\"}")],
        );
    }

    #[test]
    fn a_name_belongs_to_its_own_event_only() {
        check(
            b"event: error\n\ndata: a\n\nevent: error\ndata: b\n\ndata: c\n\n",
            &[("", "a"), ("error", "b"), ("", "c")],
        );
    }

    #[test]
    fn an_event_without_its_empty_line_is_not_handed_over() {
        check(b"data: a\n\ndata: b\n", &[("", "a")]);
        check(b"data: a", &[]);
    }

    #[test]
    fn a_character_may_be_cut_anywhere() {
        let text = "n\u{e9}\u{2192}\u{1f40b}";
        let body = format!("data: {text}\n\n");
        check(body.as_bytes(), &[("", text)]);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_an_error_after_the_events_before_them() {
        let (events, result) = decode_every_way(b"data: a\n\ndata: n\xC3\x28\n\ndata: b\n\n");
        assert_eq!(result, Err(NotUtf8));
        assert_eq!(events.len(), 1);
    }

    proptest! {
        #[test]
        fn any_cutting_of_any_bytes_gives_the_same(
            body in prop::collection::vec(
                prop_oneof![
                    any::<u8>().prop_map(|b| vec![b]),
                    prop::sample::select(vec!["data: ", "\r", "\n", "\r\n", ":", "event:", "\u{e9}"])
                        .prop_map(|s| s.as_bytes().to_vec()),
                ],
                0..60,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let body = body.concat();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
            at.extend([0, body.len()]);
            at.sort_unstable();
            let pieces = at.windows(2).map(|pair| &body[pair[0]..pair[1]]);
            prop_assert_eq!(decode(pieces), decode([body.as_slice()]));
        }
    }
}
