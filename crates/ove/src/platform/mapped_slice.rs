//! A slice of numbers that is owned or memory-mapped.
//!
//! A mapped model of any size opens at once, and processes that open the same file share its memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;

use crate::error::{Error, Result};
use crate::platform::memory;

/// An owned or memory-mapped list of numbers that dereferences to a slice.
#[derive(Clone)]
pub struct MappedSlice<T>(Place<T>);

#[derive(Clone)]
enum Place<T> {
    Owned(Vec<T>),
    /// The range of bytes in the file, aligned for `T`.
    Mapped(Arc<Mmap>, Range<usize>, PhantomData<T>),
}

impl<T: Pod> MappedSlice<T> {
    /// A view of bytes of a mapped file if they are aligned for `T`, otherwise a copy.
    pub(crate) fn mapped(file: &Arc<Mmap>, bytes: Range<usize>) -> Self {
        match bytemuck::try_cast_slice::<u8, T>(&file[bytes.clone()]) {
            Ok(_) => MappedSlice(Place::Mapped(file.clone(), bytes, PhantomData)),
            Err(_) => MappedSlice::copied(&file[bytes]),
        }
    }

    /// A copy of bytes, in 2 MB pages: with 4 kB pages, most weights that a prediction gathers would also cost a page
    /// table walk.
    pub(crate) fn copied(bytes: &[u8]) -> Self {
        let mut numbers = Vec::new();
        memory::reserve(&mut numbers, bytes.len() / size_of::<T>());
        numbers.resize(bytes.len() / size_of::<T>(), T::zeroed());
        bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(bytes);
        numbers.into()
    }

    /// Maps a whole file of numbers; `None` if its length is not a multiple of their size.
    pub(crate) fn file(path: &Path) -> Result<Option<Self>> {
        let file = Arc::new(memory::map(path).map_err(|e| Error::file(path, e))?);
        Ok(file.len().is_multiple_of(size_of::<T>()).then(|| MappedSlice::mapped(&file, 0..file.len())))
    }

    /// Evicts a range of mapped numbers from memory; they are read again on the next access. Owned numbers stay.
    pub(crate) fn evict(&self, range: Range<usize>) {
        if let Place::Mapped(file, bytes, _) = &self.0 {
            let size = size_of::<T>();
            memory::evict(file, bytes.start + range.start * size..bytes.start + range.end * size);
        }
    }

    /// Returns the numbers as a vector, copied if they are mapped.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Place::Owned(numbers) => numbers,
            Place::Mapped(..) => self.to_vec(),
        }
    }
}

impl<T: Pod> Deref for MappedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Owned(numbers) => numbers,
            Place::Mapped(file, bytes, _) => bytemuck::cast_slice(&file[bytes.clone()]),
        }
    }
}

impl<T> From<Vec<T>> for MappedSlice<T> {
    fn from(numbers: Vec<T>) -> Self {
        MappedSlice(Place::Owned(numbers))
    }
}

impl<T> Default for MappedSlice<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Pod + PartialEq> PartialEq for MappedSlice<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for MappedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
