//! Certificates: an authority of the server's own, made once and kept in the data directory, and what it signs.

mod shown;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::danger::ClientCertVerifier;
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::authn::Certificates;

pub use shown::ServingCertificate;

/// Why certificates could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate could not be made.
    #[error("make a certificate")]
    Make(#[source] rcgen::Error),
    /// A file could not be read or written.
    #[error("access {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A certificate or key cannot be used.
    #[error("use the certificate: {0}")]
    Use(String),
}

/// The authority of a server: it signs the server's own certificate and those of clients.
#[derive(Debug)]
pub struct Authority {
    /// The authority that clients trust, PEM.
    pub ca_pem: String,
    key: KeyPair,
}

/// A client's certificate and its key, PEM.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

const AUTHORITY: &str = "ca.key";

/// What an authority calls itself.
const AUTHORITY_NAME: &str = "apiserver-ca";

/// Reads a key of a data directory, or makes and keeps it.
///
/// # Errors
/// See [`TlsError`].
pub(crate) fn key_pair(data: Option<&Path>, name: &str) -> Result<KeyPair, TlsError> {
    let Some(directory) = data.map(|d| d.join("pki")) else {
        return KeyPair::generate().map_err(TlsError::Make);
    };
    let path = directory.join(name);
    if path.exists() {
        return KeyPair::from_pem(&read(&path)?).map_err(TlsError::Make);
    }
    let pair = KeyPair::generate().map_err(TlsError::Make)?;
    let fail = |source| TlsError::File {
        path: directory.clone(),
        source,
    };
    objectstore::files::directory(&directory).map_err(fail)?;
    write_private(&path, &pair.serialize_pem())?;
    Ok(pair)
}

impl Authority {
    /// Reads the authority of a data directory, or makes and keeps it.
    ///
    /// # Errors
    /// See [`TlsError`].
    pub fn load_or_make(data: Option<&Path>) -> Result<Self, TlsError> {
        let certificate = data.map(|d| d.join("pki").join("ca.crt"));
        let kept = data.is_some_and(|d| d.join("pki").join(AUTHORITY).exists());
        let key = key_pair(data, AUTHORITY)?;
        if let Some(path) = certificate.as_ref().filter(|path| kept && path.exists()) {
            return Ok(Self {
                ca_pem: read(path)?,
                key,
            });
        }
        let made = authority()?.self_signed(&key).map_err(TlsError::Make)?;
        let ca_pem = made.pem();
        if let Some(path) = certificate {
            write_private(&path, &ca_pem)?;
        }
        Ok(Self { ca_pem, key })
    }

    /// Signs a certificate for a client: `name` is the user, `groups` holds at most one group.
    ///
    /// # Errors
    /// See [`TlsError`].
    pub fn issue(&self, name: &str, groups: &[String], days: u16) -> Result<Issued, TlsError> {
        if groups.len() > 1 {
            return Err(TlsError::Use("a certificate names one group".to_owned()));
        }
        let mut leaf = CertificateParams::new(Vec::<String>::new()).map_err(TlsError::Make)?;
        leaf.distinguished_name = DistinguishedName::new();
        leaf.distinguished_name.push(DnType::CommonName, name);
        for group in groups {
            leaf.distinguished_name
                .push(DnType::OrganizationName, group.as_str());
        }
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        lasts(&mut leaf, days);
        let key = KeyPair::generate().map_err(TlsError::Make)?;
        Ok(Issued {
            certificate: self.sign(&leaf, &key)?,
            key: key.serialize_pem(),
        })
    }

    fn sign(&self, leaf: &CertificateParams, key: &KeyPair) -> Result<String, TlsError> {
        let authority = authority()?;
        let issuer = Issuer::from_params(&authority, &self.key);
        let signed = leaf.signed_by(key, &issuer).map_err(TlsError::Make)?;
        Ok(signed.pem())
    }

    /// Judges the certificates that this authority signed for clients.
    ///
    /// # Errors
    /// The authority's certificate cannot be used.
    pub fn certificates(&self) -> Result<Certificates, TlsError> {
        Certificates::signed_by(self.der()?).map_err(TlsError::Use)
    }

    /// Makes the acceptor of connections, with a certificate for loopback and for the address.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub fn acceptor(&self, address: IpAddr) -> Result<TlsAcceptor, TlsError> {
        let (certificate, key) = self.own(address)?;
        let own = Issued {
            certificate,
            key: key.serialize_pem(),
        };
        acceptor(
            &ServingCertificate::new(&own)?,
            self.certificates()?.for_connections(),
        )
    }

    /// Makes an authority that ends after so many days, for whoever keeps it elsewhere.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(days: u16) -> Result<Self, TlsError> {
        Self::of_key(KeyPair::generate().map_err(TlsError::Make)?, days)
    }

    /// The authority with this certificate and key, PEM, as [`Self::make`] made it.
    ///
    /// # Errors
    /// They cannot be read, do not belong together, or are another program's.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, TlsError> {
        let kept = Self {
            ca_pem: certificate.to_owned(),
            key: KeyPair::from_pem(key).map_err(TlsError::Make)?,
        };
        let der = kept.der()?;
        let parsed = parse(&der)?;
        let name = parsed.subject().iter_common_name().next();
        if name.and_then(|name| name.as_str().ok()) != Some(AUTHORITY_NAME) {
            return Err(TlsError::Use(format!(
                "the authority is not named {AUTHORITY_NAME:?}"
            )));
        }
        let public = &parsed.public_key().subject_public_key.data;
        if public.as_ref() != kept.key.public_key_raw() {
            return Err(TlsError::Use(
                "the key is not that of the authority".to_owned(),
            ));
        }
        Ok(kept)
    }

    /// The same authority, of the same name and key, for another time from now on: what it has signed stays valid under
    /// either certificate.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn renewed(&self, days: u16) -> Result<Self, TlsError> {
        let key = KeyPair::from_pem(&self.key_pem()).map_err(TlsError::Make)?;
        Self::of_key(key, days)
    }

    fn of_key(key: KeyPair, days: u16) -> Result<Self, TlsError> {
        let mut params = authority()?;
        lasts(&mut params, days);
        let made = params.self_signed(&key).map_err(TlsError::Make)?;
        Ok(Self {
            ca_pem: made.pem(),
            key,
        })
    }

    /// The authority's key, PEM: whoever has it can sign.
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// Until when the authority's certificate is valid.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn until(&self) -> Result<jiff::Timestamp, TlsError> {
        let der = self.der()?;
        let end = parse(&der)?.validity().not_after.timestamp();
        jiff::Timestamp::from_second(end).map_err(|e| TlsError::Use(e.to_string()))
    }

    fn der(&self) -> Result<CertificateDer<'static>, TlsError> {
        let der = CertificateDer::from_pem_slice(self.ca_pem.as_bytes());
        der.map_err(|e| TlsError::Use(e.to_string()))
    }

    /// Signs a certificate for a server of these names, which ends after so many days.
    ///
    /// # Errors
    /// See [`TlsError`].
    pub fn issue_server(&self, names: Vec<String>, days: u16) -> Result<Issued, TlsError> {
        let (certificate, key) = self.serving(names, Some(days))?;
        Ok(Issued {
            certificate,
            key: key.serialize_pem(),
        })
    }

    /// The server's own certificate: new at each start, so it fits the address.
    fn own(&self, address: IpAddr) -> Result<(String, KeyPair), TlsError> {
        let names = [
            "localhost",
            "127.0.0.1",
            "::1",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ];
        let mut names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        if !address.is_loopback() && !address.is_unspecified() {
            names.push(address.to_string());
        }
        self.serving(names, None)
    }

    fn serving(
        &self,
        names: Vec<String>,
        days: Option<u16>,
    ) -> Result<(String, KeyPair), TlsError> {
        let mut leaf = CertificateParams::new(names).map_err(TlsError::Make)?;
        if let Some(days) = days {
            lasts(&mut leaf, days);
        }
        leaf.distinguished_name
            .push(DnType::CommonName, "apiserver");
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        let key = KeyPair::generate().map_err(TlsError::Make)?;
        Ok((self.sign(&leaf, &key)?, key))
    }
}

/// The acceptor of a server whose clients' certificates are judged elsewhere.
pub(super) fn acceptor_of(shown: &ServingCertificate) -> Result<TlsAcceptor, TlsError> {
    acceptor(shown, crate::authn::any_certificate())
}

fn acceptor(
    shown: &ServingCertificate,
    clients: Arc<dyn ClientCertVerifier>,
) -> Result<TlsAcceptor, TlsError> {
    let unusable = |e: &dyn std::fmt::Display| TlsError::Use(e.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| unusable(&e))?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(Arc::new(shown.clone()));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// What the authority says of itself: the same each time, so its key alone can sign again.
fn authority() -> Result<CertificateParams, TlsError> {
    let mut ca = CertificateParams::new(Vec::<String>::new()).map_err(TlsError::Make)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.distinguished_name
        .push(DnType::CommonName, AUTHORITY_NAME);
    ca.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    Ok(ca)
}

/// From yesterday, since clocks differ, until so many days from now.
fn lasts(params: &mut CertificateParams, days: u16) {
    let part = |n: i8| u8::try_from(n).unwrap_or(1);
    let midnight = |date: jiff::civil::Date| {
        rcgen::date_time_ymd(i32::from(date.year()), part(date.month()), part(date.day()))
    };
    let today = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date();
    params.not_before = midnight(today.yesterday().unwrap_or(today));
    let last = today.saturating_add(jiff::Span::new().days(i64::from(days)));
    params.not_after = midnight(last);
}

fn parse<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, TlsError> {
    let parsed = X509Certificate::from_der(der);
    let (_, parsed) = parsed.map_err(|e| TlsError::Use(e.to_string()))?;
    Ok(parsed)
}

fn read(path: &Path) -> Result<String, TlsError> {
    std::fs::read_to_string(path).map_err(|source| TlsError::File {
        path: path.to_owned(),
        source,
    })
}

/// Writes a file of the authority durably.
fn write_private(path: &Path, text: &str) -> Result<(), TlsError> {
    objectstore::files::write(path, text).map_err(|source| TlsError::File {
        path: path.to_owned(),
        source,
    })
}
