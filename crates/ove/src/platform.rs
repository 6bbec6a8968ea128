//! The internal base layer: numerical kernels, memory, threads and random numbers.

pub(crate) mod bytes;
pub mod digest;
pub mod elementary;
pub(crate) mod mapped_slice;
pub mod math;
pub(crate) mod matrix;
pub mod memory;
pub(crate) mod names;
pub(crate) mod pool;
pub mod random;
pub(crate) mod simd;
pub(crate) mod top_k;
