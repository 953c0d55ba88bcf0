//! Serves an API server on loopback: the smallest embedding program.
//!
//! It also lets in `alice` (token `user-alice`), who may do nothing but look at discovery: what recorded requests ask.
//!
//! `serve DIRECTORY [PORT]` keeps objects in DIRECTORY, writes DIRECTORY/kubeconfig, and runs until it is interrupted.

use std::net::SocketAddr;
use std::path::PathBuf;

use apiserver::Server;
use apiserver::gateway::User;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("usage: serve DIRECTORY [PORT]")?);
    let port = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let token = uuid::Uuid::new_v4().to_string();
    let admin = User::new("admin", &["system:masters"]);
    let server = Server::builder()
        .data_dir(&directory)
        .token(&token, admin)
        .token("user-alice", User::new("alice", &["shop-team"]))
        .build()
        .await?;
    let running = server
        .listen(SocketAddr::from(([127, 0, 0, 1], port)))
        .await?;
    std::fs::write(
        directory.join("kubeconfig"),
        running.kubeconfig("serve", &token),
    )?;
    println!(
        "export KUBECONFIG={}",
        directory.join("kubeconfig").display()
    );
    tokio::signal::ctrl_c().await?;
    running.stop().await;
    Ok(())
}
