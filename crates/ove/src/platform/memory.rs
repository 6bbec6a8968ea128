//! What is asked of the machine itself, and the only place with `unsafe` in the library: 2 MB pages, what to fetch next, a file as
//! memory and what of it is no longer needed, and wider vectors. Every use of it says why it is sound, and the tests of this file also run under valgrind.
//!
//! A weight table is read at random places. With 4 kB pages nearly every one of them also misses the translation cache; Linux gives 2 MB
//! pages to memory that asks for them. And what the next row will need can be on its way while this one is computed.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;

/// `count` default values in one block of huge pages.
pub fn zeroed<T: Copy + Default>(count: usize) -> Vec<T> {
    let mut table = Vec::new();
    reserve(&mut table, count);
    table.resize(count, T::default());
    table
}

/// Makes room for `count` more values, asking for huge pages before it is first touched. What is more than memory has is not reserved.
pub fn reserve<T>(values: &mut Vec<T>, count: usize) {
    if values.try_reserve_exact(count).is_ok() {
        advise(values.spare_capacity_mut());
    }
}

/// Asks for huge pages; where there are none, nothing changes.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    const PAGE: usize = 2 << 20;
    let range = memory.as_mut_ptr_range();
    let start = (range.start as usize).next_multiple_of(PAGE);
    let end = range.end as usize / PAGE * PAGE;
    if start < end {
        // SAFETY: the range lies within memory that we own, and this advice changes its speed, never its content. A refusal is of no
        // consequence.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut [std::mem::MaybeUninit<T>]) {}

/// Asks for the cache line of a value that will soon be needed.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing into the program and faults on no address; this one is that of a live value.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn prefetch<T>(_: &T) {}

/// A file as read-only memory.
#[allow(unsafe_code)]
pub fn map(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the bytes are only read, as plain numbers that may have any value, and every use of them is checked. Whoever shortens the
    // file while it is mapped ends this program with a bus error, which reads no other memory; files of ours are replaced, not changed.
    unsafe { Mmap::map(&file) }
}

/// Drops a part of a mapped file from memory, as far as the system can; the file has it still.
#[cfg(unix)]
#[allow(unsafe_code)]
pub fn evict(file: &Mmap, bytes: Range<usize>) {
    // SAFETY: the mapping is read-only and shows a file, so that pages that are dropped are read again with the same content. A refusal is
    // of no consequence.
    let _ = unsafe { file.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, bytes.start, bytes.len()) };
}

#[cfg(not(unix))]
pub fn evict(_: &Mmap, _: Range<usize>) {}

#[cfg(test)]
mod tests {
    #[test]
    fn tables_of_any_size_are_zero_and_writable() {
        for count in [0, 1, 1000, 3 << 20] {
            let mut table: Vec<f32> = super::zeroed(count);
            assert!(table.len() == count && table.iter().all(|&x| x == 0.0));
            table.iter_mut().for_each(|x| *x += 1.0);
            assert!(table.iter().all(|&x| x == 1.0));
        }
    }

    #[test]
    fn a_mapped_file_reads_like_its_bytes_even_when_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for length in [0, 1, 4096, 100_001] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let mapped = super::map(&path).unwrap();
            let other =
                |beside: &std::path::Path| std::fs::write(beside, "other").map_err(|e| crate::Error::file(beside, e));
            crate::io::atomic::write_beside(&path, other).unwrap();
            assert_eq!(&mapped[..], bytes);
            super::evict(&mapped, 0..length);
            assert_eq!(&mapped[..], bytes, "the file has it still");
        }
        assert!(super::map(folder.path()).is_err() && super::map(&folder.path().join("none")).is_err());
    }
}
