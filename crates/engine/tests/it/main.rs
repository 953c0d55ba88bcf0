//! The engine over the memory store and the twin: whole walks, without a cluster, a disk or a clock.

#![expect(clippy::panic, reason = "a test that cannot go on says why")]
#![expect(clippy::too_many_lines, reason = "a walk is told in one piece")]

mod approval;
mod bases;
mod behind;
mod blame;
mod conflicts;
mod crashes;
mod deaths;
mod edges;
mod gone;
mod guard;
mod in_the_way;
mod inherited;
mod injection;
mod late;
mod leaving;
mod limits;
mod merged;
mod outside;
mod owners;
mod people;
mod planned;
mod planned_classes;
mod planned_gone;
mod planned_seen;
mod planned_throws;
mod planned_true;
mod planned_worlds;
mod reach;
mod rendering;
mod resolve;
mod rivals;
mod rollouts;
mod rollouts_away;
mod rollouts_before;
mod rollouts_by_hand;
mod rollouts_bytes;
mod rollouts_dies;
mod rollouts_gone;
mod rollouts_leave;
mod rollouts_moves;
mod rollouts_spec;
mod rollouts_undone;
mod schedule;
mod sets;
mod sets_unscoped;
mod tenancy;
mod unmerged;
mod upstreams;
mod variants;
mod variants_end;
mod world;
mod writers;
