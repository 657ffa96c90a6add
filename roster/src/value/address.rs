//! Base URLs of providers: encrypted unless they stay on this computer, and without anything secret.

use super::expand;
use crate::diagnostic::quoted;
use crate::fault::Fault;
use crate::surroundings::{InsecureHttp, Surroundings};
use std::net::IpAddr;

/// The base URL that a text means, without a trailing slash.
pub(crate) fn base_url(key: &str, text: &str, around: &Surroundings<'_>) -> Result<String, Fault> {
    let url = expand::variables(key, text, around)?;
    let Some(parts) = split(&url) else {
        return Err(Fault::bad(format!("{} is not a URL", quoted(text)))
            .hint("write it as \"https://HOST/v1\""));
    };
    if parts.authority.contains('@') {
        return Err(Fault::bad("a URL must not hold a user or a password")
            .hint("put the key into an environment variable and name that with `key_env`")
            .secret());
    }
    let Some(host) = host_name(parts.authority) else {
        return Err(Fault::bad(format!("{} names no host", quoted(text)))
            .hint("write it as \"https://HOST/v1\""));
    };
    if url.contains(['?', '#']) {
        return Err(Fault::bad("a base URL has no `?` and no `#`")
            .hint("only what stands before `/chat/completions` or `/v1/messages`")
            .secret());
    }
    check_scheme(parts.scheme, host, around.insecure_http)?;
    let url = url.trim_end_matches('/');
    for added in ["/chat/completions", "/v1/messages"] {
        if let Some(base) = url.strip_suffix(added) {
            return Err(Fault::bad(format!("a base URL ends before `{added}`"))
                .suggest(Some(base.to_owned())));
        }
    }
    Ok(url.to_owned())
}

/// Host and port of a URL, as the plan shows where a key goes.
pub(crate) fn host(url: &str) -> &str {
    split(url).map_or(url, |parts| parts.authority)
}

struct Parts<'a> {
    scheme: &'a str,
    authority: &'a str,
}

fn split(url: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    let spoilt = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if url.contains(spoilt) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    Some(Parts { scheme, authority })
}

/// The host of `host`, `host:port`, `[v6]` or `[v6]:port`.
fn host_name(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority
            .find(':')
            .map_or((authority, ""), |colon| authority.split_at(colon)),
    };
    let port_is_fine = match port.strip_prefix(':') {
        Some(number) => number.parse::<u16>().is_ok(),
        None => port.is_empty(),
    };
    (port_is_fine && !host.is_empty()).then_some(host)
}

fn check_scheme(scheme: &str, host: &str, insecure: InsecureHttp) -> Result<(), Fault> {
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Ok(()),
        "http" if is_loopback(host) || insecure == InsecureHttp::Allowed => Ok(()),
        "http" => Err(Fault::bad(format!(
            "`http://` to {} would send prompts and keys unencrypted",
            quoted(host)
        ))
        .hint("use https, or set ALLOW_INSECURE_HTTP=1 for a network you trust")),
        other => Err(Fault::bad(format!(
            "{} is not spoken here",
            quoted(&format!("{other}://"))
        ))
        .hint("use https")),
    }
}

fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    fn check(text: &str, expected: Result<&str, &str>) {
        Fixture::new()
            .env("URL", "http://127.0.0.1:1")
            .with(|around| {
                let found = base_url("base_url", text, around);
                assert_eq!(found.as_deref().map_err(Fault::message), expected, "{text}");
            });
    }

    #[test]
    fn encrypted_or_local_addresses_are_accepted() {
        check(
            "https://api.example.com/v1",
            Ok("https://api.example.com/v1"),
        );
        check(
            "https://api.example.com/v1/",
            Ok("https://api.example.com/v1"),
        );
        check("HTTPS://host", Ok("HTTPS://host"));
        check("http://localhost:11434/v1", Ok("http://localhost:11434/v1"));
        check("http://127.8.0.1", Ok("http://127.8.0.1"));
        check("http://[::1]:8080/v1", Ok("http://[::1]:8080/v1"));
        check("${URL}/v1", Ok("http://127.0.0.1:1/v1"));
    }

    #[test]
    fn other_addresses_are_refused() {
        let plain = "`http://` to `10.0.0.7` would send prompts and keys unencrypted";
        check("http://10.0.0.7/v1", Err(plain));
        check(
            "http://localhost.example.com",
            Err("`http://` to `localhost.example.com` would send prompts and keys unencrypted"),
        );
        check("ftp://host", Err("`ftp://` is not spoken here"));
        check(
            "api.example.com/v1",
            Err("`api.example.com/v1` is not a URL"),
        );
        check("", Err("`` is not a URL"));
        check("https://", Err("`https://` names no host"));
        check("https://:80/v1", Err("`https://:80/v1` names no host"));
        check(
            "https://host:port",
            Err("`https://host:port` names no host"),
        );
        check("https://a b/v1", Err("`https://a b/v1` is not a URL"));
        check(
            "https://me:secret@host/v1",
            Err("a URL must not hold a user or a password"),
        );
        check(
            "https://host/v1?key=secret",
            Err("a base URL has no `?` and no `#`"),
        );
        check(
            "https://host/v1/chat/completions",
            Err("a base URL ends before `/chat/completions`"),
        );
        check(
            "https://host/v1/messages",
            Err("a base URL ends before `/v1/messages`"),
        );
    }

    #[test]
    fn plain_http_is_accepted_where_the_person_asked_for_it() {
        let fixture = Fixture::new().insecure(InsecureHttp::Allowed);
        fixture.with(|around| {
            assert!(base_url("base_url", "http://10.0.0.7/v1", around).is_ok());
        });
    }

    #[test]
    fn the_host_is_shown_with_its_port() {
        assert_eq!(host("http://127.0.0.1:11434/v1"), "127.0.0.1:11434");
        assert_eq!(host("https://api.example.com"), "api.example.com");
    }
}
