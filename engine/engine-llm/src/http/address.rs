//! Where a provider lives, and whether its key may be sent there. Never resolves a name.

use reqwest::Url;
use std::net::IpAddr;

/// Whether an unencrypted connection may leave this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// Only to loopback addresses.
    #[default]
    LoopbackOnly,
    /// Anywhere: the person allowed it.
    Allowed,
}

/// Why a base URL cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// It is no URL of an HTTP server.
    #[error("`{url}` is not an http or https URL: {cause}")]
    NotAUrl {
        /// The text.
        url: String,
        /// What is wrong with it.
        cause: String,
    },
    /// It would send the key and the conversation readable over a network.
    #[error("`http://{host}` is not encrypted and not on this machine; use https")]
    Plain {
        /// The host.
        host: String,
    },
    /// It holds a user name or a password, which would be shown with it.
    #[error("the URL of `{host}` holds a user name or password; name a key variable instead")]
    Credentials {
        /// The host.
        host: String,
    },
}

/// The base URL of a provider.
#[derive(Debug)]
pub(super) struct Address {
    base: Url,
    host: String,
    loopback: bool,
}

impl Address {
    pub(super) fn parse(text: &str, plain: PlainHttp) -> Result<Self, BadAddress> {
        let not_a_url = |cause: String| BadAddress::NotAUrl {
            url: text.to_owned(),
            cause,
        };
        let base = Url::parse(text.trim()).map_err(|error| not_a_url(error.to_string()))?;
        let name = base.host_str().unwrap_or("").to_owned();
        if !matches!(base.scheme(), "http" | "https") || name.is_empty() {
            return Err(not_a_url("it has another scheme or no host".to_owned()));
        }
        let loopback = is_loopback(&name);
        let host = match base.port() {
            Some(port) => format!("{name}:{port}"),
            None => name,
        };
        if !base.username().is_empty() || base.password().is_some() {
            return Err(BadAddress::Credentials { host });
        }
        if base.scheme() == "http" && !loopback && plain == PlainHttp::LoopbackOnly {
            return Err(BadAddress::Plain { host });
        }
        Ok(Self {
            base,
            host,
            loopback,
        })
    }

    /// The host for people, with its port unless it is the usual one.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// True for this machine itself: no proxy stands between.
    pub(super) fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// True when no certificate will be needed.
    pub(super) fn is_plain(&self) -> bool {
        self.base.scheme() == "http"
    }

    /// Whether the path of the base ends with this part.
    pub(super) fn ends_with(&self, part: &str) -> bool {
        let path = self.base.path().trim_end_matches('/');
        path.rsplit('/').next() == Some(part)
    }

    /// The URL of a path below the base; a query of the base stays.
    pub(super) fn join(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!(
            "{}/{path}",
            self.base.path().trim_end_matches('/')
        ));
        url
    }
}

fn is_loopback(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    let by_address = literal.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    by_address || host == "localhost" || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: PlainHttp, expected: Result<(&str, &str), &str>) {
        let got = Address::parse(text, plain)
            .map(|address| {
                let url = address.join("chat/completions").to_string();
                (address.host().to_owned(), url)
            })
            .map_err(|error| error.to_string());
        let expected = expected
            .map(|(host, url)| (host.to_owned(), url.to_owned()))
            .map_err(str::to_owned);
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn a_base_url_leads_to_its_paths() {
        let at = PlainHttp::LoopbackOnly;
        for (base, host, url) in [
            (
                "https://api.example/v1",
                "api.example",
                "https://api.example/v1/chat/completions",
            ),
            (
                "https://api.example:8443/v1/",
                "api.example:8443",
                "https://api.example:8443/v1/chat/completions",
            ),
            (
                "https://api.example",
                "api.example",
                "https://api.example/chat/completions",
            ),
            (
                "https://api.example/d?api-version=1",
                "api.example",
                "https://api.example/d/chat/completions?api-version=1",
            ),
            (
                "http://localhost:11434/v1",
                "localhost:11434",
                "http://localhost:11434/v1/chat/completions",
            ),
            (
                "http://[::1]:8/v1",
                "[::1]:8",
                "http://[::1]:8/v1/chat/completions",
            ),
        ] {
            check(base, at, Ok((host, url)));
        }
    }

    #[test]
    fn plain_http_leaves_the_machine_only_when_allowed() {
        let far = "http://10.0.0.7:8000/v1";
        check(
            far,
            PlainHttp::LoopbackOnly,
            Err("`http://10.0.0.7:8000` is not encrypted and not on this machine; use https"),
        );
        check(
            far,
            PlainHttp::Allowed,
            Ok(("10.0.0.7:8000", "http://10.0.0.7:8000/v1/chat/completions")),
        );
        check(
            "http://localhost.example/v1",
            PlainHttp::LoopbackOnly,
            Err("`http://localhost.example` is not encrypted and not on this machine; use https"),
        );
    }

    #[test]
    fn what_is_no_address_of_a_server_is_refused() {
        let at = PlainHttp::Allowed;
        check(
            "api.example/v1",
            at,
            Err("`api.example/v1` is not an http or https URL: relative URL without a base"),
        );
        check(
            "file:///etc/passwd",
            at,
            Err(
                "`file:///etc/passwd` is not an http or https URL: it has another scheme or no host",
            ),
        );
        check(
            "https://me:pw@api.example/v1",
            at,
            Err(
                "the URL of `api.example` holds a user name or password; name a key variable instead",
            ),
        );
    }
}
