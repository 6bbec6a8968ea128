//! Huge pages, prefetch, memory-mapped files and their eviction.
//!
//! This file and `simd` contain the only `unsafe` code of the library; each use states why it is sound,
//! and the tests of this file also run under valgrind.
//!
//! A weight table is accessed at random. With 4 kB pages, nearly every access also misses the TLB; Linux backs memory
//! with 2 MB pages on request. Prefetching overlaps the memory latency of the next row with the work on this one.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

/// Allocates `count` default values in one block of huge pages.
pub fn zeroed<T: Copy + Default>(count: usize) -> Vec<T> {
    let mut table = Vec::new();
    reserve(&mut table, count);
    table.resize(count, T::default());
    table
}

/// Reserves room for `count` more values, and requests huge pages before it is first touched.
///
/// Nothing is reserved if the allocation fails.
pub fn reserve<T>(values: &mut Vec<T>, count: usize) {
    if values.try_reserve_exact(count).is_ok() {
        advise(values.spare_capacity_mut());
    }
}

/// Requests huge pages; has no effect where there are none.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    const PAGE: usize = 2 << 20;
    let range = memory.as_mut_ptr_range();
    let start = (range.start as usize).next_multiple_of(PAGE);
    let end = range.end as usize / PAGE * PAGE;
    if start < end {
        // SAFETY: the range lies within memory that we own, and this advice changes its speed, never its content. A
        // failure has no consequence.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut [std::mem::MaybeUninit<T>]) {}

/// Prefetches the cache line of a value.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch has no architectural effect and never faults; the address is that of a live value.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn prefetch<T>(_: &T) {}

/// Maps a file into memory, read-only.
#[allow(unsafe_code)]
pub fn map(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the bytes are only read, as plain numbers for which every bit pattern is valid, and every use of them is
    // checked. Truncating the file while it is mapped ends this program with a bus error, which reads no other memory;
    // this crate replaces its files and never changes them in place.
    unsafe { Mmap::map(&file) }
}

/// All but the last of several files that are mapped one after the other must have a multiple of this many bytes: the
/// largest page of a system.
pub const PIECE: usize = 1 << 16;

/// Maps files of these lengths one after the other into one range of addresses, read-only.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn map_all(files: &[(File, usize)]) -> io::Result<Mmap> {
    use std::os::fd::AsRawFd;
    let total = files.iter().map(|(_, bytes)| bytes).sum();
    let room = MmapOptions::new().len(total).no_reserve_swap().map_anon()?.make_read_only()?;
    let mut start = 0;
    for (file, bytes) in files {
        let (read, fixed) = (libc::PROT_READ, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: the range lies within `room`, since the lengths add up to its own, and nothing refers to it yet. Its
        // pages are replaced by those of the file, read-only as before, and `room` unmaps them as if they were its own.
        // What is said of `map` holds for the content; an address that does not start a page is refused by the system.
        let place = unsafe {
            let at = room.as_ptr().add(start).cast_mut().cast();
            libc::mmap(at, *bytes, read, fixed, file.as_raw_fd(), 0)
        };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        start += bytes;
    }
    Ok(room)
}

/// Reads files of these lengths one after the other, where they cannot be mapped so.
#[cfg(not(target_os = "linux"))]
pub fn map_all(files: &[(File, usize)]) -> io::Result<Mmap> {
    use std::io::Read;
    let total = files.iter().map(|(_, bytes)| bytes).sum();
    let (mut room, mut start) = (MmapOptions::new().len(total).map_anon()?, 0);
    for (mut file, bytes) in files.iter().map(|(file, bytes)| (file, *bytes)) {
        file.read_exact(&mut room[start..start + bytes])?;
        start += bytes;
    }
    room.make_read_only()
}

/// Evicts a part of a mapped file from memory; a later access reads it from the file again.
#[cfg(unix)]
#[allow(unsafe_code)]
pub fn evict(file: &Mmap, bytes: Range<usize>) {
    // SAFETY: the mapping is read-only and backed by a file, so evicted pages are read again with the same content. A
    // failure has no consequence.
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
    fn files_are_mapped_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let lengths = [super::PIECE, 3 * super::PIECE, 77];
        let bytes: Vec<u8> = (0..lengths.iter().sum()).map(|n: usize| (n % 251) as u8).collect();
        let (mut rest, mut files) = (&bytes[..], Vec::new());
        for (n, length) in lengths.into_iter().enumerate() {
            let path = folder.path().join(n.to_string());
            std::fs::write(&path, rest.split_off(..length).unwrap()).unwrap();
            files.push((std::fs::File::open(path).unwrap(), length));
        }
        let mapped = super::map_all(&files).unwrap();
        drop(files);
        assert_eq!(&mapped[..], bytes);
        super::evict(&mapped, super::PIECE..2 * super::PIECE);
        assert_eq!(&mapped[..], bytes, "the files have it still");
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
