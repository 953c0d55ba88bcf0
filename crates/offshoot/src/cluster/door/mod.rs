//! What stands between a cluster and the server of our resources: who asks, what they may, who wrote an object, and the
//! certificate that is shown. It never looks at a package.

mod access;
mod admission;
mod answers;
mod identity;
mod serving;

pub use access::Access;
pub use admission::written_by;
pub use identity::Identity;
pub use serving::{CertificateSource, Serving, ServingError};

#[cfg(test)]
mod world;
