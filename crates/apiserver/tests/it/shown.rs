//! The certificate that a server shows, and the authorities that sign it.

use std::net::SocketAddr;

use apiserver::{Authority, Issued, Server, ServingCertificate};
use axum::Router;
use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::guarded::connect_to;

fn issued(authority: &Authority) -> Issued {
    let names = vec!["localhost".to_owned()];
    authority.issue_server(names, 2).expect("a certificate")
}

/// The first line of the answer to a path, on a connection that trusts this authority.
async fn ask(address: SocketAddr, authority: &Authority, path: &str) -> String {
    let mut stream = connect_to(address, &authority.ca_pem, &[]).await;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("write");
    let mut text = String::new();
    let mut some = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut some).await {
        text += &String::from_utf8_lossy(&some[..n]);
    }
    text.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_replaced_below_a_server_that_runs_and_paths_beside_its_own_are_served() {
    let server = Server::builder().build().await.expect("build");
    let (one, two) = (Authority::make(2), Authority::make(2));
    let (one, two) = (one.expect("an authority"), two.expect("an authority"));
    let shown = ServingCertificate::new(&issued(&one)).expect("certificate");
    let beside = Router::new().route("/beside", get(|| async { "here" }));
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let running = server
        .listen_as(address, &shown, |router| router.merge(beside))
        .await;
    let running = running.expect("listen");
    assert_eq!(
        ask(running.address, &one, "/beside").await,
        "HTTP/1.1 200 OK"
    );
    assert_eq!(
        ask(running.address, &one, "/livez").await,
        "HTTP/1.1 200 OK"
    );
    let mut open = connect_to(running.address, &one.ca_pem, &[]).await;
    shown.replace(&issued(&two)).expect("replace");
    assert_eq!(
        ask(running.address, &two, "/livez").await,
        "HTTP/1.1 200 OK"
    );
    // Who was there stays.
    let request = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";
    open.write_all(request).await.expect("write");
    let mut head = [0; 15];
    open.read_exact(&mut head).await.expect("read");
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    running.stop().await;
}

#[test]
fn a_pair_that_does_not_fit_is_refused() {
    let authority = Authority::make(2).expect("an authority");
    let (one, two) = (issued(&authority), issued(&authority));
    let shown = ServingCertificate::new(&one).expect("certificate");
    for wrong in [
        Issued {
            certificate: one.certificate,
            key: two.key.clone(),
        },
        Issued {
            certificate: String::new(),
            key: two.key.clone(),
        },
        Issued {
            certificate: two.certificate,
            key: "none".to_owned(),
        },
    ] {
        assert!(shown.replace(&wrong).is_err());
    }
}

#[test]
fn a_kept_authority_must_be_whole_and_is_renewed_with_its_key() {
    let (one, two) = (Authority::make(3), Authority::make(5));
    let (one, two) = (one.expect("an authority"), two.expect("an authority"));
    let kept = Authority::from_pem(&one.ca_pem, &one.key_pem()).expect("its own");
    let days = |authority: &Authority| {
        let left = authority
            .until()
            .expect("an end")
            .duration_since(jiff::Timestamp::now());
        left.as_hours().div_euclid(24) + 1
    };
    assert_eq!((days(&kept), days(&two)), (3, 5));
    let renewed = kept.renewed(9).expect("renewed");
    assert_eq!((days(&renewed), renewed.key_pem()), (9, one.key_pem()));
    let why = Authority::from_pem(&one.ca_pem, &two.key_pem()).expect_err("another key");
    assert!(
        why.to_string().contains("not that of the authority"),
        "{why}"
    );
    let leaf = issued(&one);
    let why = Authority::from_pem(&leaf.certificate, &leaf.key).expect_err("no authority");
    assert!(why.to_string().contains("not named"), "{why}");
    assert!(Authority::from_pem("", &one.key_pem()).is_err());
}
