//! The certificate that a server shows to its clients. It can be replaced while the server runs: new connections see the new
//! one, open ones keep what they have. It never decides when.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::{Issued, TlsError};

/// A server's certificate with its key; clones are the same one.
#[derive(Debug, Clone)]
pub struct ServingCertificate(Arc<RwLock<Arc<CertifiedKey>>>);

impl ServingCertificate {
    /// Shows this certificate, PEM with its chain.
    ///
    /// # Errors
    /// The certificate cannot be used, or the key is not its key.
    pub fn new(given: &Issued) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(RwLock::new(Arc::new(certified(given)?)))))
    }

    /// Shows another one from now on.
    ///
    /// # Errors
    /// As [`Self::new`]; then the old one stays.
    pub fn replace(&self, given: &Issued) -> Result<(), TlsError> {
        let fresh = Arc::new(certified(given)?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let shown = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&shown))
    }
}

fn certified(given: &Issued) -> Result<CertifiedKey, TlsError> {
    let unusable = |e: &dyn std::fmt::Display| TlsError::Use(e.to_string());
    let chain = CertificateDer::pem_slice_iter(given.certificate.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| unusable(&e))?;
    if chain.is_empty() {
        return Err(TlsError::Use("there is no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_slice(given.key.as_bytes()).map_err(|e| unusable(&e))?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map_err(|e| unusable(&e))
}
