//! Typed clients: protobuf in and out for built-in kinds, metadata of everything, refusals for custom resources.

use apiserver::Server;
use axum::body::Body;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use objectstore::Memory;
use serde_json::json;
use tower::ServiceExt;

use crate::world::{admin, ask, shoe, still};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Sends a request; answers status, content type and body.
pub(crate) async fn send(
    server: &Server,
    method: Method,
    path: &str,
    accept: &str,
    body: Option<(&str, Vec<u8>)>,
) -> (StatusCode, String, Vec<u8>) {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("accept", accept)
        .extension(admin());
    if let Some((media, _)) = &body {
        request = request.header("content-type", *media);
    }
    let body = body.map_or_else(Body::empty, |(_, bytes)| bytes.into());
    let request = request.body(body).expect("request");
    let answer = server.router("127.0.0.1:0").oneshot(request);
    let answer = answer.await.expect("infallible");
    let media = answer
        .headers()
        .get("content-type")
        .map_or("", |v| v.to_str().expect("text"));
    let (code, media) = (answer.status(), media.to_owned());
    let bytes = answer.into_body().collect().await.expect("body");
    (code, media, bytes.to_bytes().to_vec())
}

/// Whether a body is protobuf that holds all of these texts.
fn holds(bytes: &[u8], texts: &[&str]) -> bool {
    let found = |text: &&str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    bytes.starts_with(b"k8s\0") && texts.iter().all(found)
}

async fn server() -> Server {
    let server = still(&Memory::new(), Vec::new()).await;
    let map = json!({"metadata": {"name": "settings"}, "data": {"colour": "green"}});
    let path = "/api/v1/namespaces/default/configmaps";
    assert_eq!(ask(&server, Method::POST, path, Some(map)).await.0, 201);
    let path = "/apis/test.dev/v1/namespaces/default/shoes";
    let (code, _) = ask(&server, Method::POST, path, Some(shoe("a", 42))).await;
    assert_eq!(code, 201);
    server
}

#[tokio::test]
async fn built_in_kinds_go_out_as_they_came_in() {
    let server = server().await;
    let all = "/api/v1/namespaces/default/configmaps";
    let one = &format!("{all}/settings");
    let (code, media, got) = send(&server, Method::GET, one, PROTOBUF, None).await;
    assert_eq!((code.as_u16(), media.as_str()), (200, PROTOBUF));
    assert!(holds(&got, &["ConfigMap", "settings", "colour", "green"]));
    let (code, _, again) = send(
        &server,
        Method::PUT,
        one,
        PROTOBUF,
        Some((PROTOBUF, got.clone())),
    )
    .await;
    assert_eq!(code, 200);
    assert_eq!(again, got, "writing what was read changes nothing");
    let both = &format!("{PROTOBUF},application/json");
    let (code, media, list) = send(&server, Method::GET, all, both, None).await;
    assert_eq!((code.as_u16(), media.as_str()), (200, PROTOBUF));
    assert!(holds(&list, &["ConfigMapList", "settings"]));
    let (code, media, status) = send(&server, Method::DELETE, one, both, None).await;
    assert_eq!((code.as_u16(), media.as_str()), (200, PROTOBUF));
    assert!(holds(&status, &["Status", "Success", "configmaps"]));
    let (code, media, status) = send(&server, Method::GET, one, both, None).await;
    assert_eq!((code.as_u16(), media.as_str()), (404, PROTOBUF));
    assert!(holds(
        &status,
        &["Status", "NotFound", "configmaps \"settings\" not found"]
    ));
}

#[tokio::test]
async fn a_watch_sends_frames() {
    let server = server().await;
    let path = "/api/v1/configmaps?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=settings";
    let accept = &format!("{PROTOBUF};stream=watch");
    let (code, media, bytes) = send(&server, Method::GET, path, accept, None).await;
    assert_eq!((code.as_u16(), media.as_str()), (200, accept.as_str()));
    let (length, event) = bytes.split_first_chunk::<4>().expect("a length");
    assert_eq!(u32::from_be_bytes(*length) as usize, event.len());
    assert!(event.starts_with(b"\x0a\x05ADDED\x12"));
    assert!(event.windows(4).any(|w| w == b"k8s\0"));
    assert!(event.windows(5).any(|w| w == b"green"));
}

#[tokio::test]
async fn custom_resources_have_no_such_form_but_their_metadata_has() {
    let server = server().await;
    let all = "/apis/test.dev/v1/namespaces/default/shoes";
    let one = &format!("{all}/a");
    let (code, media, status) = send(&server, Method::GET, one, PROTOBUF, None).await;
    assert_eq!((code.as_u16(), media.as_str()), (406, PROTOBUF));
    assert!(holds(&status, &["NotAcceptable"]));
    let both = &format!("{PROTOBUF},application/json");
    let (code, media, _) = send(&server, Method::GET, one, both, None).await;
    assert_eq!((code.as_u16(), media.as_str()), (200, "application/json"));
    let partial = &format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let (code, media, got) = send(&server, Method::GET, one, partial, None).await;
    assert_eq!((code.as_u16(), media.as_str()), (200, PROTOBUF));
    assert!(holds(&got, &["PartialObjectMetadata", "default"]));
    let partial = &format!("{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    let (code, _, got) = send(&server, Method::GET, all, partial, None).await;
    assert_eq!(code, 200);
    assert!(holds(&got, &["PartialObjectMetadataList"]));
    let table = &format!("{PROTOBUF};as=Table;g=meta.k8s.io;v=v1");
    assert_eq!(send(&server, Method::GET, all, table, None).await.0, 406);
    let body = Some((PROTOBUF, got));
    let (code, _, status) = send(&server, Method::POST, all, "application/json", body).await;
    assert_eq!(code, 415, "{}", String::from_utf8_lossy(&status));
}

#[tokio::test]
async fn discovery_and_openapi_speak_it_too() {
    let server = server().await;
    let (code, media, got) = send(&server, Method::GET, "/apis/test.dev/v1", PROTOBUF, None).await;
    assert_eq!((code.as_u16(), media.as_str()), (200, PROTOBUF));
    assert!(holds(&got, &["APIResourceList", "shoes", "Shoe"]));
    let asked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let (code, media, got) = send(&server, Method::GET, "/openapi/v2", asked, None).await;
    assert_eq!(code, 200);
    assert_eq!(
        media,
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    );
    assert!(got.starts_with(b"\x0a\x032.0"));
    let name = b"dev.test.v1.Shoe";
    assert!(got.windows(name.len()).any(|w| w == name));
}
