//! A cap as a person writes it on the command line. Never more than the roster could say.

use engine_core::ids::Tokens;
use std::str::FromStr;

/// A cap as a person writes it: `tokens=N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cap {
    /// Most tokens, input and output together; above 0.
    pub(crate) tokens: Tokens,
}

impl FromStr for Cap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text
            .strip_prefix("tokens=")
            .ok_or("write tokens=N; other caps are not supported yet")?;
        match number.replace('_', "").parse() {
            Ok(tokens) if tokens > 0 => Ok(Self {
                tokens: Tokens(tokens),
            }),
            _ => Err(format!("`{number}` is not a number of tokens above 0")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_a_number_of_tokens_above_zero() {
        let check = |text: &str, expected: Option<u64>| {
            let found = text.parse::<Cap>().ok().map(|cap| cap.tokens.0);
            assert_eq!(found, expected, "{text}");
        };
        check("tokens=500000", Some(500_000));
        check("tokens=2_000_000", Some(2_000_000));
        check("tokens=0", None);
        check("tokens=-1", None);
        check("tokens=abc", None);
        check("tokens=", None);
        check("usd=5", None);
        check("500", None);
    }
}
