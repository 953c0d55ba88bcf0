//! apply tests
