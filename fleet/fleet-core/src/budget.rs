//! Token caps: what is spent, what is set aside for requests under way, and whether the next request
//! fits. A cap is never overshot by what a provider was asked for; never asks one.

use engine_core::ids::Tokens;
use engine_core::message::Usage;

/// Least output tokens a request must be able to have; below it, the cap counts as reached.
pub const MIN_OUTPUT: Tokens = Tokens(1024);

/// What was used, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Input tokens as reported, cached ones included.
    pub input: Tokens,
    /// Output tokens as reported.
    pub output: Tokens,
    /// Input tokens read from a provider's cache.
    pub cached: Tokens,
    /// Reservations booked whole because nothing was reported: lost or cut requests.
    pub unreported: Tokens,
    /// What providers billed beyond the reservation.
    pub overrun: Tokens,
}

impl Spent {
    /// Everything that counts against a cap.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.input.plus(self.output).plus(self.unreported)
    }
}

/// One account: of the run, or of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// The cap; `None`: none.
    pub cap: Option<Tokens>,
    /// What was used.
    pub spent: Spent,
    /// Set aside for requests under way.
    pub reserved: Tokens,
    /// What was billed beyond reservations when the cap was last given anew: it closes nothing any more.
    pub forgiven: Tokens,
}

/// Whether a request fits into an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// With this much output at most.
    Yes(Tokens),
    /// Not now, but it may once the requests under way are settled.
    Later,
    /// Not any more.
    No,
}

impl Fit {
    /// The stricter of two answers.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes(a), Self::Yes(b)) => Self::Yes(a.min(b)),
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Later, _) | (_, Self::Later) => Self::Later,
        }
    }
}

impl Account {
    /// Whether a request of at most `input` tokens that asks for `output` tokens fits.
    #[must_use]
    pub fn fit(&self, input: Tokens, output: Tokens) -> Fit {
        let Some(cap) = self.cap else {
            return Fit::Yes(output);
        };
        let least = output.min(MIN_OUTPUT);
        let left_ever = cap.minus(self.spent.total());
        let left_now = left_ever.minus(self.reserved);
        if self.spent.overrun > self.forgiven || left_ever < input.plus(least) {
            Fit::No
        } else if left_now < input.plus(least) {
            Fit::Later
        } else {
            Fit::Yes(output.min(left_now.minus(input)))
        }
    }

    /// Gives the cap anew, on top of what was spent.
    pub fn renew(&mut self, cap: Option<Tokens>) {
        self.cap = cap.map(|cap| cap.plus(self.spent.total()));
        self.forgiven = self.spent.overrun;
    }

    /// Sets a reservation aside.
    pub fn reserve(&mut self, tokens: Tokens) {
        self.reserved = self.reserved.plus(tokens);
    }

    /// Ends a reservation with what was really used; `None`: nothing was reported, all of it counts.
    pub fn settle(&mut self, reserved: Tokens, usage: Option<Usage>) {
        self.reserved = self.reserved.minus(reserved);
        match usage {
            Some(usage) => {
                self.spent.input = self.spent.input.plus(usage.input);
                self.spent.output = self.spent.output.plus(usage.output);
                self.spent.cached = self.spent.cached.plus(usage.cached);
                let over = usage.total().minus(reserved);
                self.spent.overrun = self.spent.overrun.plus(over);
            }
            None => self.spent.unreported = self.spent.unreported.plus(reserved),
        }
    }

    /// Ends a reservation of a request that cost nothing.
    pub fn release(&mut self, reserved: Tokens) {
        self.reserved = self.reserved.minus(reserved);
    }
}

/// The most input tokens a request of `bytes` can have.
///
/// A token is at least one byte of the request's body, so the size is a bound. Once a request of the
/// same conversation was answered, only the bytes added since then are counted that way.
#[must_use]
pub fn input_bound(bytes: u64, observed: Option<Observed>) -> Tokens {
    match observed {
        Some(seen) if seen.bytes <= bytes => seen.input.plus(Tokens(bytes - seen.bytes)),
        _ => Tokens(bytes),
    }
}

/// What an answered request of a conversation measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Size of its body.
    pub bytes: u64,
    /// Input tokens the provider reported for it.
    pub input: Tokens,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(cap: u64, spent: u64, reserved: u64) -> Account {
        Account {
            cap: Some(Tokens(cap)),
            spent: Spent {
                input: Tokens(spent),
                ..Spent::default()
            },
            reserved: Tokens(reserved),
            ..Account::default()
        }
    }

    #[test]
    fn a_cap_given_anew_holds_on_top_of_what_was_spent_also_after_an_overrun() {
        let usage = |input| {
            Some(Usage {
                input: Tokens(input),
                ..Usage::default()
            })
        };
        let mut account = account(10_000, 0, 0);
        account.reserve(Tokens(300));
        account.settle(Tokens(300), usage(400));
        assert_eq!(account.fit(Tokens(1), Tokens(1)), Fit::No);
        account.renew(Some(Tokens(10_000)));
        assert_eq!(
            account.fit(Tokens(100), Tokens(50_000)),
            Fit::Yes(Tokens(9_900))
        );
        account.reserve(Tokens(300));
        account.settle(Tokens(300), usage(301));
        assert_eq!(account.fit(Tokens(1), Tokens(1)), Fit::No);
    }

    #[test]
    fn a_request_fits_only_beside_what_is_spent_and_set_aside() {
        let check = |account: Account, input: u64, output: u64, expected: Fit| {
            assert_eq!(
                account.fit(Tokens(input), Tokens(output)),
                expected,
                "{account:?}"
            );
        };
        check(Account::default(), 1 << 40, 8, Fit::Yes(Tokens(8)));
        check(account(1_100, 0, 0), 200, 100, Fit::Yes(Tokens(100)));
        check(account(1_100, 900, 0), 200, 100, Fit::No);
        check(account(1_100, 600, 300), 200, 100, Fit::Later);
        check(account(10_000, 0, 0), 100, 50_000, Fit::Yes(Tokens(9_900)));
        check(account(10_000, 0, 8_900), 100, 50_000, Fit::Later);
        check(account(10_000, 8_900, 0), 100, 50_000, Fit::No);
        check(account(0, 0, 0), 0, 1, Fit::No);
    }

    #[test]
    fn an_overrun_ends_admission() {
        let mut account = account(10_000, 0, 0);
        account.reserve(Tokens(300));
        account.settle(
            Tokens(300),
            Some(Usage {
                input: Tokens(200),
                output: Tokens(150),
                cached: Tokens(0),
            }),
        );
        assert_eq!(account.spent.overrun, Tokens(50));
        assert_eq!(account.fit(Tokens(1), Tokens(1)), Fit::No);
    }

    #[test]
    fn a_lost_request_is_booked_at_its_reservation_and_a_refused_one_not_at_all() {
        let mut account = account(1_000, 0, 0);
        account.reserve(Tokens(400));
        account.settle(Tokens(400), None);
        account.reserve(Tokens(100));
        account.release(Tokens(100));
        assert_eq!(
            (account.spent.total(), account.reserved),
            (Tokens(400), Tokens(0))
        );
    }

    #[test]
    fn the_stricter_account_decides() {
        let yes = Fit::Yes(Tokens(5));
        assert_eq!(yes.and(Fit::Yes(Tokens(3))), Fit::Yes(Tokens(3)));
        assert_eq!(yes.and(Fit::Later), Fit::Later);
        assert_eq!(Fit::Later.and(Fit::No), Fit::No);
    }

    #[test]
    fn a_bound_is_tightened_by_what_was_observed() {
        let seen = Some(Observed {
            bytes: 4_000,
            input: Tokens(900),
        });
        assert_eq!(input_bound(5_000, None), Tokens(5_000));
        assert_eq!(input_bound(5_000, seen), Tokens(1_900));
        assert_eq!(input_bound(3_000, seen), Tokens(3_000));
    }
}
