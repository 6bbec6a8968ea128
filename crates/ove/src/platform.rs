//! The internal base layer: numerical kernels, memory, threads and random numbers.

pub mod bytes;
pub mod digest;
pub mod mapped_slice;
pub mod math;
pub mod memory;
pub(crate) mod names;
pub mod pool;
pub mod random;
pub mod simd;
pub mod top_k;
