//! How a cluster says its front proxy and its clients are recognised, and the headers in which the front proxy tells for whom
//! it asks. Names of extras are read as kube-apiserver reads them.

use std::collections::BTreeMap;

use apiserver::authn::{Certificates, Chain};
use apiserver::gateway::User;
use http::HeaderMap;

/// What is trusted, as the ConfigMap says it.
#[derive(Debug)]
pub(super) struct Trust {
    text: BTreeMap<String, String>,
    proxies: Certificates,
    clients: Option<Certificates>,
    /// The common names that a front proxy's certificate may have; any, if empty.
    allowed: Vec<String>,
    user: Vec<String>,
    group: Vec<String>,
    uid: Vec<String>,
    /// In lower case.
    extra: Vec<String>,
}

impl PartialEq for Trust {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// The keys that are looked at.
const KEYS: [&str; 7] = [
    "client-ca-file",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-uid-headers",
    "requestheader-username-headers",
];

impl Trust {
    /// Reads what the cluster says.
    ///
    /// # Errors
    /// A key is missing or cannot be read; with its name.
    pub(super) fn read(data: &BTreeMap<String, String>) -> Result<Self, String> {
        let text: BTreeMap<String, String> = KEYS
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), data.get(key)?.clone())))
            .collect();
        let [client_ca, allowed, proxy_ca, extra, group, uid, user] = KEYS;
        let proxies = bundle(&text, proxy_ca)?;
        let proxies = proxies.ok_or_else(|| format!("{proxy_ca} is missing or empty"))?;
        let user_headers = list(&text, user)?;
        if user_headers.is_empty() {
            return Err(format!("{user} names no header"));
        }
        let lower = |names: Vec<String>| names.into_iter().map(|n| n.to_ascii_lowercase());
        Ok(Self {
            proxies,
            clients: bundle(&text, client_ca)?,
            allowed: list(&text, allowed)?,
            user: user_headers,
            group: list(&text, group)?,
            uid: list(&text, uid)?,
            extra: lower(list(&text, extra)?).collect(),
            text,
        })
    }

    /// Whether a connection is the front proxy's.
    pub(super) fn is_front_proxy(&self, chain: &Chain) -> bool {
        let name = self.proxies.common_name(&chain.0);
        name.is_some_and(|name| self.allowed.is_empty() || self.allowed.contains(&name))
    }

    /// The user of a client certificate that the cluster accepts.
    pub(super) fn client(&self, chain: &Chain) -> Option<User> {
        let peer = self.clients.as_ref()?.judge(&chain.0)?;
        peer.user(jiff::Timestamp::now())
    }

    /// Whether headers say that somebody else is asking: the front proxy alone may say so.
    pub(super) fn speaks_for_others(&self, headers: &HeaderMap) -> bool {
        let named = [&self.user, &self.group, &self.uid];
        let mut named = named.into_iter().flatten();
        named.any(|name| headers.contains_key(name.as_str()))
            || headers.keys().any(|name| self.extra_of(name).is_some())
    }

    /// For whom the front proxy asks; nobody, if it does not say.
    pub(super) fn told(&self, headers: &HeaderMap) -> Option<User> {
        let first = |names: &[String]| {
            let mut values = names.iter().filter_map(|name| text_of(headers.get(name)?));
            values.find(|value| !value.is_empty())
        };
        let mut user = User::new(&first(&self.user)?, &[]);
        user.uid = first(&self.uid).unwrap_or_default();
        for name in &self.group {
            let values = headers.get_all(name).into_iter().filter_map(text_of);
            user.groups.extend(values);
        }
        for name in headers.keys() {
            if let Some(key) = self.extra_of(name) {
                let values = headers.get_all(name).into_iter().filter_map(text_of);
                user.extra.entry(key).or_default().extend(values);
            }
        }
        Some(user)
    }

    /// The extra that a header is for. Names of headers come in lower case.
    fn extra_of(&self, header: &http::HeaderName) -> Option<String> {
        let mut prefixes = self.extra.iter();
        let key = prefixes.find_map(|prefix| header.as_str().strip_prefix(prefix.as_str()))?;
        Some(unescaped(key).unwrap_or_else(|| key.to_owned()))
    }
}

/// A value as it was sent: names of users may be in any language.
fn text_of(value: &http::HeaderValue) -> Option<String> {
    std::str::from_utf8(value.as_bytes())
        .ok()
        .map(str::to_owned)
}

/// Resolves `%2F` and the like; `None` where that cannot be done, and then the key stays as it is.
fn unescaped(key: &str) -> Option<String> {
    let mut bytes = key.bytes();
    let mut out = Vec::with_capacity(key.len());
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        };
        out.push(byte);
    }
    String::from_utf8(out).ok()
}

/// A list of names, as JSON.
fn list(data: &BTreeMap<String, String>, key: &str) -> Result<Vec<String>, String> {
    let text = data.get(key).map_or("", String::as_str);
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = serde_json::from_str(text).map_err(|e| format!("{key}: {e}"))?;
    Ok(names.into_iter().filter(|n| !n.is_empty()).collect())
}

/// The authorities of a bundle; `None` where none are named.
fn bundle(data: &BTreeMap<String, String>, key: &str) -> Result<Option<Certificates>, String> {
    let text = data.get(key).map_or("", String::as_str);
    if text.trim().is_empty() {
        return Ok(None);
    }
    let read = Certificates::signed_by_bundle(text);
    read.map(Some).map_err(|e| format!("{key}: {e}"))
}
