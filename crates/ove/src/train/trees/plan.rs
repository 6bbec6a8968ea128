//! What the preparation of trees finds: with it, any process can train any node.

/// The plan of a run.
pub(super) struct Plan {
    /// The classes of each tree, leaf by leaf, one tree after the other.
    pub orders: Vec<u32>,
    /// The mean ‖x‖² of the rows, and of what each tree sees of them.
    pub squares: Vec<f32>,
    pub epochs: usize,
}
