//! Server-side tables: columns of kinds and the cells of their objects.
