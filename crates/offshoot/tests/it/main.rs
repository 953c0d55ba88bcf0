//! The binary from outside: what users promise each other about it.
#![expect(
    clippy::unwrap_used,
    reason = "a test may end where its world is not as written"
)]
#![expect(clippy::too_many_lines, reason = "a walk is told in one piece")]

mod access;
mod backup;
mod bad;
mod blame;
mod board;
mod bulk;
mod by_class;
mod compatible;
mod connections;
mod damage;
mod day;
mod deploy;
mod driver;
mod edges;
mod examples;
mod expressions;
mod flags;
mod fleet;
mod fleet_upstreams;
mod hanging;
mod kept;
mod kill;
mod local;
mod plan;
mod plan_applied;
mod plan_page;
mod plan_rights;
mod plan_words;
mod porch;
mod porchctl;
mod process;
mod recorded;
mod requests;
mod resolve;
mod rollout;
mod rollout_applied;
mod sealed;
mod secrets;
mod settled;
mod story;
mod stranger;
mod tenancy;
mod use_cases;
mod view;
mod wrong;
