//! The HTTP client of one provider, made at its first use: certificates are loaded only when one
//! will be needed. Never follows redirects, never sends to loopback through a proxy, and never uses
//! an unencrypted connection twice.

use super::address::Address;
use crate::errors::Fault;
use crate::errors::told::clean;
use crate::limits::Limits;
use reqwest::Client;
use reqwest::redirect::Policy;
use std::sync::{Arc, OnceLock};

const USER_AGENT: &str = concat!("codewhale/", env!("CARGO_PKG_VERSION"));

/// A client that is made when it is first asked for, and shared from then on.
#[derive(Debug, Default)]
pub(super) struct LazyClient(OnceLock<Result<Client, String>>);

impl LazyClient {
    pub(super) fn get(&self, address: &Address, limits: &Limits) -> Result<&Client, Fault> {
        let made = self.0.get_or_init(|| make(address, limits));
        made.as_ref().map_err(|cause| Fault::Unreachable {
            cause: cause.clone(),
        })
    }
}

fn make(address: &Address, limits: &Limits) -> Result<Client, String> {
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(limits.connect)
        .redirect(Policy::none());
    let builder = if address.is_loopback() {
        builder.no_proxy()
    } else {
        builder
    };
    // Small servers close the connection after each stream without announcing it; a request that
    // races with that is lost. Only encrypted connections are dear enough to be kept.
    let builder = if address.is_plain() {
        builder.pool_max_idle_per_host(0)
    } else {
        builder
    };
    let builder = if address.is_loopback() && address.is_plain() {
        builder.tls_backend_preconfigured(trusting_nobody()?)
    } else {
        install_crypto();
        builder
    };
    builder.build().map_err(|error| root_cause(&error))
}

/// Encryption settings that never see a connection.
fn trusting_nobody() -> Result<rustls::ClientConfig, String> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(config)
}

/// Chooses ring for the whole process, unless something has been chosen already.
fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The innermost cause, which names what happened; the outer ones name the layers it passed.
pub(super) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    clean(&cause.to_string())
}
