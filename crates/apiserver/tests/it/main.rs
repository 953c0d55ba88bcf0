//! The crate's promises over real TLS and in process.

mod access;
mod chores;
mod connections;
mod credentials;
mod gateway;
mod guarded;
mod heavy;
mod history;
mod hostile;
mod kubectl;
mod namespaces;
mod operator;
mod operator_leases;
mod oracle;
mod oracle_refusals;
mod oracle_scales;
mod owners;
mod protobuf;
mod recorded;
mod restart;
mod rules;
mod setters;
mod twin;
mod watchers;
mod webhook;
mod world;
