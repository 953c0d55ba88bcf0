//! Functions that a function runner evaluates: one unary call of gRPC.
//!
//! The protocol is Porch's `evaluator.FunctionEvaluator`. Its two messages are written out here, so that no machine
//! needs a protocol compiler; `func/evaluator/evaluator.proto` of nephio-project/porch is their source.

use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use http::uri::PathAndQuery;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::{FunctionCall, FunctionOutcome, Limits, RunError, Runner, outcome};
use crate::wire;

/// The method that evaluates a function.
pub const METHOD: &str = "/evaluator.FunctionEvaluator/EvaluateFunction";

/// What is asked.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EvaluateRequest {
    /// The ResourceList as text.
    #[prost(bytes = "vec", tag = "1")]
    pub resource_list: Vec<u8>,
    /// The function's image.
    #[prost(string, tag = "2")]
    pub image: String,
    /// A tag or range kept apart from the image.
    #[prost(string, tag = "3")]
    pub tag: String,
}

/// What is answered.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EvaluateResponse {
    /// The ResourceList as the function left it, with its results.
    #[prost(bytes = "vec", tag = "1")]
    pub resource_list: Vec<u8>,
    /// What the function printed to its error stream.
    #[prost(bytes = "vec", tag = "2")]
    pub log: Vec<u8>,
}

/// A function runner, in the clear: it belongs into the same network as this process.
#[derive(Debug)]
pub struct Remote {
    endpoint: Endpoint,
    channel: OnceLock<Channel>,
}

impl Remote {
    /// The runner at an address such as `http://function-runner:9445`; connects when it is first needed.
    ///
    /// # Errors
    /// An address that is none.
    pub fn new(address: &str) -> Result<Self, RunError> {
        let full = if address.contains("://") {
            address.to_owned()
        } else {
            format!("http://{address}")
        };
        let failed = |why: String| RunError::Remote {
            function: address.to_owned(),
            why,
        };
        if !full.starts_with("http://") {
            return Err(failed(
                "its address must be host:port or http://host:port".to_owned(),
            ));
        }
        let endpoint = Endpoint::from_shared(full).map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            endpoint: endpoint.connect_timeout(Duration::from_secs(10)),
            channel: OnceLock::new(),
        })
    }

    async fn ask(
        &self,
        request: EvaluateRequest,
        limits: &Limits,
    ) -> Result<EvaluateResponse, Status> {
        let channel = self.channel.get_or_init(|| self.endpoint.connect_lazy());
        let mut client = Grpc::new(channel.clone())
            .max_decoding_message_size(limits.output)
            .max_encoding_message_size(usize::MAX);
        client
            .ready()
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let mut request = Request::new(request);
        request.set_timeout(limits.time);
        let path = PathAndQuery::from_static(METHOD);
        let codec = ProstCodec::<EvaluateRequest, EvaluateResponse>::default();
        let answer = client.unary(request, path, codec).await?;
        Ok(answer.into_inner())
    }
}

#[async_trait]
impl Runner for Remote {
    async fn run(&self, call: FunctionCall, limits: &Limits) -> Result<FunctionOutcome, RunError> {
        let image = call.function.image.clone().unwrap_or_default();
        let request = EvaluateRequest {
            resource_list: wire::request(&call).into_bytes(),
            image: image.clone(),
            tag: call.function.tag.clone().unwrap_or_default(),
        };
        let answer = tokio::time::timeout(limits.time, self.ask(request, limits)).await;
        let answer = answer.unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer")));
        match answer {
            Ok(answer) => {
                let log = String::from_utf8_lossy(&answer.log).into_owned();
                let text =
                    String::from_utf8(answer.resource_list).map_err(|error| RunError::Output {
                        function: image.clone(),
                        why: format!("byte {} is no UTF-8", error.utf8_error().valid_up_to()),
                        stderr: log.clone(),
                    })?;
                outcome(&image, &call, &text, log, 0)
            }
            Err(status) => refused(image, &call, &status, limits),
        }
    }
}

/// What a status means: the runner reports a function that failed as one, too.
fn refused(
    image: String,
    call: &FunctionCall,
    status: &Status,
    limits: &Limits,
) -> Result<FunctionOutcome, RunError> {
    let why = status.message().to_owned();
    match status.code() {
        Code::DeadlineExceeded | Code::Cancelled => Err(RunError::Limit {
            function: image,
            limit: format!("{} s", limits.time.as_secs_f64()),
        }),
        Code::OutOfRange | Code::ResourceExhausted => Err(RunError::Limit {
            function: image,
            limit: format!("{} bytes of output ({why})", limits.output),
        }),
        Code::Unavailable | Code::NotFound | Code::Unimplemented => Err(RunError::Remote {
            function: image,
            why,
        }),
        _ => Ok(FunctionOutcome {
            items: call.items.clone(),
            results: Vec::new(),
            stderr: why,
            exit_code: 1,
        }),
    }
}
