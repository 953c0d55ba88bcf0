//! Why a request is refused, as machines read it: `metav1.StatusReason` of the Kubernetes API.

/// The machine-readable reason of a [`Failure`](crate::Failure).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// None: kube-apiserver gives none for errors that it did not expect.
    Unknown,
    /// 409: the name is taken.
    AlreadyExists,
    /// 400: the request makes no sense.
    BadRequest,
    /// 409: another state was expected.
    Conflict,
    /// 410: what was asked for is no longer kept.
    Expired,
    /// 403: the caller may not.
    Forbidden,
    /// 507: the disk is full; of ours alone.
    InsufficientStorage,
    /// 500: what was attempted failed.
    InternalError,
    /// 422: the object breaks a rule.
    Invalid,
    /// 405: the resource has no such verb.
    MethodNotAllowed,
    /// 406: no such form is served.
    NotAcceptable,
    /// 404: there is none.
    NotFound,
    /// 413: the body is too long.
    RequestEntityTooLarge,
    /// 500: try again, nothing was done.
    ServerTimeout,
    /// 503: not now.
    ServiceUnavailable,
    /// 504: not done in time.
    Timeout,
    /// 429: come again.
    TooManyRequests,
    /// 401: nobody says who asks.
    Unauthorized,
    /// 415: the body is in no form that is read.
    UnsupportedMediaType,
}

impl Reason {
    /// The word in a `Status`; empty for none.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::AlreadyExists => "AlreadyExists",
            Self::BadRequest => "BadRequest",
            Self::Conflict => "Conflict",
            Self::Expired => "Expired",
            Self::Forbidden => "Forbidden",
            Self::InsufficientStorage => "InsufficientStorage",
            Self::InternalError => "InternalError",
            Self::Invalid => "Invalid",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::NotFound => "NotFound",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::ServerTimeout => "ServerTimeout",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Timeout => "Timeout",
            Self::TooManyRequests => "TooManyRequests",
            Self::Unauthorized => "Unauthorized",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
        }
    }
}
