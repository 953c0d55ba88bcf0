//! JSON patch, merge patch and strategic merge patch over plain values.
