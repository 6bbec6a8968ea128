//! Which names of the server are answered, if no token is required.
//!
//! A page of another site can let its own name resolve to 127.0.0.1 (DNS rebinding). The browser takes a server on
//! loopback for that site then, and lets the page read its answers. The `Host` header still has the name of the site.
//! An IP address was not resolved by anybody, so that any address may be named.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use anyhow::Result;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use ove::Error;

use super::answer::Fault;

/// The names that are answered, in addition to `localhost` and addresses.
pub struct Hosts {
    /// In lower case; `None` if all names are.
    names: Option<Vec<String>>,
    /// What to do about a name that is not answered.
    remedy: &'static str,
}

impl Hosts {
    /// All names.
    pub fn all() -> Self {
        Hosts { names: None, remedy: "" }
    }

    /// The host of a flag such as `--listen`, and others.
    ///
    /// # Errors
    /// If one of the others is not a host name.
    pub fn known(listen: &str, others: &[String], remedy: &'static str) -> Result<Self> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if let Some(other) = others.iter().find(|name| name.is_empty() || !name.chars().all(is_part)) {
            let must = "be a host name without scheme and port";
            return Err(Error::setting("allow-host", must, format!("`{other}`")).into());
        }
        let listen = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
        let names = others.iter().map(String::as_str).chain(["localhost", listen]);
        Ok(Hosts { names: Some(names.map(canonical).collect()), remedy })
    }

    /// Checks the host that a request names, in its address or else in its headers.
    fn check(&self, request: &Request) -> Result<(), Fault> {
        let Some(names) = &self.names else { return Ok(()) };
        let is_known = |host: &str| {
            let host = host.parse::<Authority>().ok();
            host.is_some_and(|host| is_address(host.host()) || names.contains(&canonical(host.host())))
        };
        let refuse = |host: &str| {
            let error = match host {
                "" => format!("the request names no host; {}", self.remedy),
                host => format!("the host `{host}` is not this server; {}", self.remedy),
            };
            Err(Fault::new(StatusCode::MISDIRECTED_REQUEST, error))
        };
        if let Some(host) = request.uri().authority().map(Authority::as_str)
            && !is_known(host)
        {
            return refuse(host);
        }
        let mut hosts = request.headers().get_all(header::HOST).iter().peekable();
        if hosts.peek().is_none() {
            return refuse("");
        }
        hosts.map(|host| host.to_str().unwrap_or_default()).find(|host| !is_known(host)).map_or(Ok(()), refuse)
    }
}

/// Answers only requests that name a known host.
pub async fn check(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Result<Response, Fault> {
    hosts.check(&request)?;
    Ok(next.run(request).await)
}

/// In lower case, without the dot that may end a name.
fn canonical(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_lowercase()
}

fn is_address(host: &str) -> bool {
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    bracketed.map_or(host.parse::<Ipv4Addr>().is_ok(), |host| host.parse::<Ipv6Addr>().is_ok())
}
