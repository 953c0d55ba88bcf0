//! Roles as objects: those that every cluster has, those that gather others', and what a write of one may grant.
//!
//! What a rule allows and covers is [`authz`](crate::authz)'s; here roles are read and written.

mod aggregate;
mod bootstrap;
mod defaults;
mod grants;

pub(super) use aggregate::RESOURCE as GATHERING;
