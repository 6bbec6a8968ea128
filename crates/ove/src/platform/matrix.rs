//! Products of small dense matrices, C = A·B, with B packed in panels of columns.
//!
//! A panel holds 16 columns of B side by side, so that the innermost loop reads memory in order and keeps a block of
//! C, four rows by 16 columns, in registers. Sums run along the depth in a fixed order and without fused multiply-add,
//! so every processor and any number of threads give the same bits.

use crate::platform::simd::vectorised;

/// Number of columns per panel.
pub const PANEL: usize = 16;

/// Number of rows of C in registers.
const ROWS: usize = 4;

/// Depth of a block, so that its part of a panel stays in the first-level cache.
const DEPTH: usize = 256;

/// Packs consecutive rows of a matrix, as columns of B: `panels` has a panel of the depth `width` for every 16 rows.
///
/// Missing columns of the last panel are zero.
pub fn pack_rows_as_columns(rows: &[f32], width: usize, panels: &mut [f32]) {
    for (panel, rows) in panels.chunks_exact_mut(PANEL * width).zip(rows.chunks(PANEL * width)) {
        panel.fill(0.0);
        for (column, row) in rows.chunks_exact(width).enumerate() {
            for (depth, &number) in row.iter().enumerate() {
                panel[depth * PANEL + column] = number;
            }
        }
    }
}

/// Packs rows of a matrix as rows of B; `width` must be a multiple of [`PANEL`].
pub fn pack_rows(rows: &[f32], width: usize, panels: &mut [f32]) {
    let depth = rows.len() / width;
    for (number, panel) in panels.chunks_exact_mut(PANEL * depth).enumerate() {
        for (to, row) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(rows.chunks_exact(width)) {
            to.copy_from_slice(&row[number * PANEL..(number + 1) * PANEL]);
        }
    }
}

vectorised! {
    /// C = A·B, for A with rows of length `depth`, `stride` numbers apart.
    ///
    /// `out` has rows of 16 numbers per panel. A core of a current server reaches 120 billion operations per second.
    pub fn multiply(a: &[f32], stride: usize, depth: usize, panels: &[f32], out: &mut [f32]) {
        let width = panels.len() / depth;
        out.fill(0.0);
        for from in (0..depth).step_by(DEPTH) {
            let length = DEPTH.min(depth - from);
            for (number, panel) in panels.chunks_exact(PANEL * depth).enumerate() {
                let panel = &panel.as_chunks::<PANEL>().0[from..from + length];
                add_products::<false>(&a[from..], stride, panel, &mut out[number * PANEL..], width);
            }
        }
    }
}

vectorised! {
    /// C = Aᵀ·B, for the columns of A from `first` on, as many as `out` has rows; the rows of A are `stride` apart.
    pub fn multiply_transposed(a: &[f32], stride: usize, first: usize, panels: &[f32], depth: usize, out: &mut [f32]) {
        let width = panels.len() / depth;
        out.fill(0.0);
        for (number, panel) in panels.chunks_exact(PANEL * depth).enumerate() {
            let panel = panel.as_chunks::<PANEL>().0;
            add_products::<true>(&a[first..], stride, panel, &mut out[number * PANEL..], width);
        }
    }
}

/// Adds the products of the rows of A, or of Aᵀ, with a panel to its columns of C. Rows of C are `width` numbers apart.
///
/// Four rows at a time, and the last ones singly. A closure for what differs would not be inlined into code for AVX2,
/// which costs a factor of four.
#[inline(always)]
fn add_products<const TRANSPOSED: bool>(
    a: &[f32],
    stride: usize,
    panel: &[[f32; PANEL]],
    out: &mut [f32],
    width: usize,
) {
    for (block, out) in out.chunks_mut(ROWS * width).enumerate() {
        let first = block * ROWS;
        let rows = out.len().div_ceil(width);
        if rows == ROWS {
            let sums = match TRANSPOSED {
                true => products_of_columns(&a[first..], stride, panel),
                false => products_of_rows(&a[first * stride..], stride, panel),
            };
            for i in 0..ROWS {
                add(&mut out[i * width..], &sums[i]);
            }
            continue;
        }
        for i in 0..rows {
            let mut sums = [0.0; PANEL];
            for (k, numbers) in panel.iter().enumerate() {
                let at = if TRANSPOSED { k * stride + first + i } else { (first + i) * stride + k };
                add_scaled(&mut sums, a[at], numbers);
            }
            add(&mut out[i * width..], &sums);
        }
    }
}

/// Four rows of A times a panel. The sums have names of their own, since those of an array would not stay in registers.
#[inline(always)]
fn products_of_rows(a: &[f32], stride: usize, panel: &[[f32; PANEL]]) -> [[f32; PANEL]; ROWS] {
    let depth = panel.len();
    let (a, b) = (&a[..3 * stride + depth], &a[stride..][..depth]);
    let (a, c, d) = (&a[..depth], &a[2 * stride..][..depth], &a[3 * stride..][..depth]);
    let (mut e, mut f, mut g, mut h) = ([0.0; PANEL], [0.0; PANEL], [0.0; PANEL], [0.0; PANEL]);
    for k in 0..depth {
        add_scaled(&mut e, a[k], &panel[k]);
        add_scaled(&mut f, b[k], &panel[k]);
        add_scaled(&mut g, c[k], &panel[k]);
        add_scaled(&mut h, d[k], &panel[k]);
    }
    [e, f, g, h]
}

/// The first four columns of A, transposed, times a panel.
#[inline(always)]
fn products_of_columns(a: &[f32], stride: usize, panel: &[[f32; PANEL]]) -> [[f32; PANEL]; ROWS] {
    let (mut e, mut f, mut g, mut h) = ([0.0; PANEL], [0.0; PANEL], [0.0; PANEL], [0.0; PANEL]);
    for k in 0..panel.len() {
        let a = &a[k * stride..][..ROWS];
        add_scaled(&mut e, a[0], &panel[k]);
        add_scaled(&mut f, a[1], &panel[k]);
        add_scaled(&mut g, a[2], &panel[k]);
        add_scaled(&mut h, a[3], &panel[k]);
    }
    [e, f, g, h]
}

#[inline(always)]
fn add_scaled(sums: &mut [f32; PANEL], factor: f32, numbers: &[f32; PANEL]) {
    for i in 0..PANEL {
        sums[i] += factor * numbers[i];
    }
}

#[inline(always)]
fn add(out: &mut [f32], sums: &[f32; PANEL]) {
    let out = &mut out[..PANEL];
    for i in 0..PANEL {
        out[i] += sums[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Stream;

    fn numbers(count: usize) -> Vec<f32> {
        let mut random = Stream::of(&[count as u64]);
        (0..count).map(|_| random.normal() as f32).collect()
    }

    /// C by its definition, in 64 bits.
    fn product(
        rows: usize,
        depth: usize,
        columns: usize,
        a: impl Fn(usize, usize) -> f32,
        b: impl Fn(usize, usize) -> f32,
    ) -> Vec<f64> {
        let of = |i, j| (0..depth).map(|k| f64::from(a(i, k)) * f64::from(b(k, j))).sum();
        (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| of(i, j)).collect()
    }

    fn close(found: &[f32], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }

    #[test]
    fn products_are_those_of_the_definition() {
        for (rows, depth, columns) in [(1, 16, 16), (4, 48, 32), (7, 300, 48), (9, 515, 16)] {
            let (a, b) = (numbers(rows * depth), numbers(columns * depth));
            // B from its columns: the rows of a table.
            let mut panels = vec![0.0; columns * depth];
            pack_rows_as_columns(&b, depth, &mut panels);
            let mut out = vec![1.0; rows * columns];
            multiply(&a, depth, depth, &panels, &mut out);
            close(&out, &product(rows, depth, columns, |i, k| a[i * depth + k], |k, j| b[j * depth + k]));
            // B from its rows.
            pack_rows(&b, columns, &mut panels);
            multiply(&a, depth, depth, &panels, &mut out);
            close(&out, &product(rows, depth, columns, |i, k| a[i * depth + k], |k, j| b[k * columns + j]));
            // Aᵀ·B, from the second column of A on: A is depth × (rows + 1).
            let wide = numbers(depth * (rows + 1));
            multiply_transposed(&wide, rows + 1, 1, &panels, depth, &mut out);
            let a = |i: usize, k: usize| wide[k * (rows + 1) + i + 1];
            close(&out, &product(rows, depth, columns, a, |k, j| b[k * columns + j]));
        }
    }

    #[test]
    fn a_partial_panel_is_filled_with_zeros() {
        let rows = numbers(3 * 5);
        let mut panels = vec![9.0; PANEL * 5];
        pack_rows_as_columns(&rows, 5, &mut panels);
        for depth in 0..5 {
            for column in 0..PANEL {
                let expected = if column < 3 { rows[column * 5 + depth] } else { 0.0 };
                assert_eq!(panels[depth * PANEL + column], expected);
            }
        }
    }
}
