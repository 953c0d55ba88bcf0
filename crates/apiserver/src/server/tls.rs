//! Certificates of a server: a CA of its own and a leaf for loopback, made once and kept in the data directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

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

/// The certificates of a server, PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The authority that clients trust.
    pub ca_pem: String,
    certificate_pem: String,
    key_pem: String,
}

const FILES: [&str; 3] = ["ca.crt", "server.crt", "server.key"];

impl Identity {
    /// Reads the certificates of a data directory, or makes and keeps them.
    ///
    /// # Errors
    /// See [`TlsError`].
    pub fn load_or_make(data: Option<&Path>) -> Result<Self, TlsError> {
        let Some(directory) = data.map(|d| d.join("pki")) else {
            return Self::make();
        };
        let [ca, certificate, key] = FILES.map(|name| directory.join(name));
        if key.exists() && certificate.exists() && ca.exists() {
            return Ok(Self {
                ca_pem: read(&ca)?,
                certificate_pem: read(&certificate)?,
                key_pem: read(&key)?,
            });
        }
        let made = Self::make()?;
        let fail = |source| TlsError::File {
            path: directory.clone(),
            source,
        };
        std::fs::create_dir_all(&directory).map_err(fail)?;
        write_private(&ca, &made.ca_pem)?;
        write_private(&certificate, &made.certificate_pem)?;
        // The key last: it stands for the set being complete.
        write_private(&key, &made.key_pem)?;
        Ok(made)
    }

    /// Makes a CA and a certificate for loopback names; the CA's key is thrown away.
    fn make() -> Result<Self, TlsError> {
        let ca_key = KeyPair::generate().map_err(TlsError::Make)?;
        let mut ca = CertificateParams::new(Vec::<String>::new()).map_err(TlsError::Make)?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.distinguished_name
            .push(DnType::CommonName, "apiserver-ca");
        ca.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let ca_certificate = ca.self_signed(&ca_key).map_err(TlsError::Make)?;
        let names = [
            "localhost",
            "127.0.0.1",
            "::1",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ];
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let mut leaf = CertificateParams::new(names).map_err(TlsError::Make)?;
        leaf.distinguished_name
            .push(DnType::CommonName, "apiserver");
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        let key = KeyPair::generate().map_err(TlsError::Make)?;
        let issuer = Issuer::from_params(&ca, &ca_key);
        let certificate = leaf.signed_by(&key, &issuer).map_err(TlsError::Make)?;
        Ok(Self {
            ca_pem: ca_certificate.pem(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        })
    }

    /// Makes the acceptor of connections.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let unusable = |e: String| TlsError::Use(e);
        let chain = CertificateDer::pem_slice_iter(self.certificate_pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| unusable(e.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes())
            .map_err(|e| unusable(e.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| unusable(e.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|e| unusable(e.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn read(path: &Path) -> Result<String, TlsError> {
    std::fs::read_to_string(path).map_err(|source| TlsError::File {
        path: path.to_owned(),
        source,
    })
}

/// Writes a file that only its owner can read.
fn write_private(path: &Path, text: &str) -> Result<(), TlsError> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| TlsError::File {
        path: path.to_owned(),
        source,
    })
}
