//! Running within a cluster whose API server keeps everything but the packages.

pub mod door;
