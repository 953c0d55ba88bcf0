//! Functions that a function runner evaluates, against a runner of the test's own.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use functions::runtime::{EvaluateRequest, EvaluateResponse, Remote, Runtimes};
use functions::wire::ResourceListText;
use functions::{BuiltIns, Limits, RunError, Runner};
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::programs::{call, changed, image, limits};

type Answer<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// The runner: one method, answered by the name of the image.
#[derive(Clone)]
struct Evaluator;

impl NamedService for Evaluator {
    const NAME: &'static str = "evaluator.FunctionEvaluator";
}

impl tower::Service<http::Request<Body>> for Evaluator {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answer<Self::Response, Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        assert_eq!(request.uri().path(), functions::runtime::EVALUATE);
        Box::pin(async move {
            let codec = ProstCodec::<EvaluateResponse, EvaluateRequest>::default();
            Ok(Grpc::new(codec).unary(Self, request).await)
        })
    }
}

impl UnaryService<EvaluateRequest> for Evaluator {
    type Response = EvaluateResponse;
    type Future = Answer<Response<EvaluateResponse>, Status>;

    fn call(&mut self, request: Request<EvaluateRequest>) -> Self::Future {
        let request = request.into_inner();
        Box::pin(async move {
            let text = String::from_utf8(request.resource_list).unwrap();
            let answer = |text: String| {
                Ok(Response::new(EvaluateResponse {
                    resource_list: text.into_bytes(),
                    log: b"said".to_vec(),
                }))
            };
            match request.image.as_str() {
                "example.com/replace:v1" => {
                    answer(text.replace("namespace: old", "namespace: new"))
                }
                "example.com/builtin:v1" => {
                    let document = ResourceListText::read(&text).unwrap();
                    let call = document.call(image("set-namespace"), None);
                    answer(document.answer(&BuiltIns.call(call).unwrap()).unwrap())
                }
                "example.com/garbage:v1" => answer("a: [".to_owned()),
                "example.com/large:v1" => answer("#".repeat(2 << 20)),
                "example.com/slow:v1" => {
                    tokio::time::sleep(Duration::from_secs(600)).await;
                    answer(text)
                }
                "example.com/fails:v1" => Err(Status::internal("it failed: because")),
                other => Err(Status::not_found(format!("function {other:?} not found"))),
            }
        })
    }
}

async fn runner() -> (Runtimes, SocketAddr) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = tonic::transport::Server::builder()
        .add_service(Evaluator)
        .serve(address);
    tokio::spawn(server);
    while tokio::net::TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let runtimes = Runtimes {
        remote: Some(Remote::new(&address.to_string()).unwrap()),
        ..Runtimes::default()
    };
    (runtimes, address)
}

#[tokio::test]
async fn a_function_runner_evaluates_what_is_not_built_in() {
    let (runtimes, _) = runner().await;
    let outcome = runtimes
        .run(call(image("example.com/replace:v1")), &limits())
        .await
        .unwrap();
    changed(&outcome);
    assert_eq!(outcome.stderr, "said");
    let outcome = runtimes
        .run(call(image("example.com/builtin:v1")), &limits())
        .await
        .unwrap();
    let failed = outcome
        .results
        .iter()
        .any(|result| result.severity == model::Severity::Error);
    assert!(failed, "results come back: {outcome:?}");
}

#[tokio::test]
async fn what_goes_wrong_at_the_runner_is_told_apart() {
    let (runtimes, _) = runner().await;
    let run = async |name: &str, limits: Limits| {
        runtimes
            .run(call(image(&format!("example.com/{name}:v1"))), &limits)
            .await
    };
    let outcome = run("fails", limits()).await.unwrap();
    assert_eq!(
        (outcome.exit_code, outcome.stderr.as_str()),
        (1, "it failed: because")
    );
    let error = run("garbage", limits()).await.unwrap_err();
    assert!(matches!(error, RunError::Output { .. }), "{error}");
    assert!(error.to_string().contains("line 1"), "{error}");
    let error = run("other", limits()).await.unwrap_err();
    assert!(error.to_string().contains("not found"), "{error}");
    let error = run("large", limits()).await.unwrap_err();
    assert_eq!(error.class(), model::Class::Limit, "{error}");
    let short = Limits {
        time: Duration::from_millis(300),
        ..limits()
    };
    let error = run("slow", short).await.unwrap_err();
    assert_eq!(error.class(), model::Class::Limit, "{error}");
}

#[tokio::test]
async fn a_runner_that_does_not_answer_is_unavailable() {
    let runtimes = Runtimes {
        remote: Some(Remote::new("127.0.0.1:1").unwrap()),
        ..Runtimes::default()
    };
    let error = runtimes
        .run(call(image("example.com/a:v1")), &limits())
        .await
        .unwrap_err();
    assert_eq!(error.class(), model::Class::Unavailable, "{error}");
    assert!(Remote::new("https://runner:1").is_err());
    assert!(Remote::new("not an address").is_err());
}
