//! Client certificates: signed by the server's authority, CN the user, each O a group.
//!
//! A connection asks for a certificate and takes any, as the real server does: one that is not accepted is told
//! by a 401, not by a connection that breaks off.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{CREDENTIAL_ID, authenticated};
use crate::access::User;

/// The certificate that a connection brought, judged: a request extension.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Whose it is and until when; `None` if it is not accepted.
    person: Option<Arc<(User, Timestamp)>>,
}

impl Peer {
    /// The user, as long as the certificate is valid.
    #[must_use]
    pub fn user(&self, now: Timestamp) -> Option<User> {
        let (user, until) = self.person.as_deref()?;
        (now <= *until).then(|| user.clone())
    }
}

/// The certificates that a connection brought, own one first: a request extension. The connection has proven that it holds
/// the key; whether they are accepted is for others to say.
#[derive(Debug, Clone)]
pub struct Chain(pub Arc<Vec<CertificateDer<'static>>>);

/// Judges client certificates by the server's authority.
#[derive(Debug, Clone)]
pub struct Certificates {
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Certificates {
    /// Accepts what `authority` signed for clients.
    ///
    /// # Errors
    /// The authority's certificate cannot be used.
    pub(crate) fn signed_by(authority: CertificateDer<'static>) -> Result<Self, String> {
        Self::signed_by_any([authority])
    }

    /// Accepts what one of the authorities in a PEM bundle signed for clients.
    ///
    /// # Errors
    /// The bundle cannot be read, names no authority, or one that cannot be used.
    pub fn signed_by_bundle(pem: &str) -> Result<Self, String> {
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        Self::signed_by_any(all.map_err(|e| e.to_string())?)
    }

    /// Accepts what one of several authorities signed for clients.
    ///
    /// # Errors
    /// An authority's certificate cannot be used, or there is none.
    pub(crate) fn signed_by_any(
        authorities: impl IntoIterator<Item = CertificateDer<'static>>,
    ) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority).map_err(|e| e.to_string())?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .allow_unauthenticated()
            .build();
        let verifier = verifier.map_err(|e| e.to_string())?;
        Ok(Self { verifier })
    }

    /// The verifier for connections: possession of the key is proven there, the certificate judged afterwards.
    #[must_use]
    pub(crate) fn for_connections(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::new(JudgedLater(Arc::clone(&self.verifier)))
    }

    /// Judges the chain of a connection, own certificate first; `None` if there is none.
    #[must_use]
    pub fn judge(&self, chain: &[CertificateDer<'_>]) -> Option<Peer> {
        let (own, others) = chain.split_first()?;
        let verified = self
            .verifier
            .verify_client_cert(own, others, UnixTime::now());
        let person = verified.ok().and_then(|_| person(own)).map(Arc::new);
        Some(Peer { person })
    }

    /// The common name of a chain's own certificate, own certificate first, if it is accepted now; it may be empty. For
    /// certificates that stand for a program and not for a user.
    #[must_use]
    pub fn common_name(&self, chain: &[CertificateDer<'_>]) -> Option<String> {
        let (own, others) = chain.split_first()?;
        let verified = self
            .verifier
            .verify_client_cert(own, others, UnixTime::now());
        verified.ok()?;
        let (_, parsed) = X509Certificate::from_der(own).ok()?;
        let name = parsed.subject().iter_common_name().next();
        let name = name.map_or(Ok(""), |name| name.as_str()).ok()?;
        Some(name.to_owned())
    }
}

/// Whose certificate it is, and until when it is valid.
fn person(certificate: &CertificateDer<'_>) -> Option<(User, Timestamp)> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let subject = parsed.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    if name.is_empty() {
        return None;
    }
    let groups = subject
        .iter_organization()
        .map(|o| o.as_str().map(str::to_owned));
    let groups: Result<Vec<String>, _> = groups.collect();
    let mut user = User::new(name, &[]);
    user.groups = groups.ok()?;
    authenticated(&mut user);
    let hash: String = Sha256::digest(certificate)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let id = format!("X509SHA256={hash}");
    user.extra.insert(CREDENTIAL_ID.to_owned(), vec![id]);
    let until = parsed.validity().not_after.timestamp();
    Some((user, Timestamp::from_second(until).ok()?))
}

/// Checks that a client holds the key of its certificate, and leaves the rest to [`Certificates::judge`].
#[derive(Debug)]
struct JudgedLater(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for JudgedLater {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// The verifier of a server that leaves it to others whose certificates count: it names no authority, since a client
/// that has none of a named one would show nothing.
pub(crate) fn any_certificate() -> Arc<dyn ClientCertVerifier> {
    Arc::new(Any(rustls::crypto::ring::default_provider()))
}

/// Checks that a client holds the key of its certificate, whoever signed it.
#[derive(Debug)]
struct Any(rustls::crypto::CryptoProvider);

impl ClientCertVerifier for Any {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
