//! Many numbers of one kind, in memory of their own or where a file is mapped: a model of any size opens at once, and programs that
//! have opened the same file share its memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;

use crate::error::{Error, Result};
use crate::platform::memory;

/// A list of numbers that reads like a slice.
#[derive(Clone)]
pub struct MappedSlice<T>(Place<T>);

#[derive(Clone)]
enum Place<T> {
    Owned(Vec<T>),
    /// The bytes of a file that hold them, aligned.
    Mapped(Arc<Mmap>, Range<usize>, PhantomData<T>),
}

impl<T: Pod> MappedSlice<T> {
    /// A view of bytes of a mapped file, which a file of this machine's byte order has aligned; otherwise a copy of them.
    pub(crate) fn mapped(file: &Arc<Mmap>, bytes: Range<usize>) -> Self {
        match bytemuck::try_cast_slice::<u8, T>(&file[bytes.clone()]) {
            Ok(_) => MappedSlice(Place::Mapped(file.clone(), bytes, PhantomData)),
            Err(_) => MappedSlice::copied(&file[bytes]),
        }
    }

    /// A copy of bytes, in 2 MB pages: with small ones, most weights that a prediction gathers would cost a walk through page tables too.
    pub(crate) fn copied(bytes: &[u8]) -> Self {
        let mut numbers = Vec::new();
        memory::reserve(&mut numbers, bytes.len() / size_of::<T>());
        numbers.resize(bytes.len() / size_of::<T>(), T::zeroed());
        bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(bytes);
        numbers.into()
    }

    /// A whole file of numbers, mapped; none if a number at its end is cut short.
    pub(crate) fn file(path: &Path) -> Result<Option<Self>> {
        let file = Arc::new(memory::map(path).map_err(|e| Error::file(path, e))?);
        Ok(file.len().is_multiple_of(size_of::<T>()).then(|| MappedSlice::mapped(&file, 0..file.len())))
    }

    /// Gives the memory of some of them back to the system, which reads them again if they are needed; those in memory of their own stay.
    pub(crate) fn evict(&self, range: Range<usize>) {
        if let Place::Mapped(file, bytes, _) = &self.0 {
            let size = size_of::<T>();
            memory::evict(file, bytes.start + range.start * size..bytes.start + range.end * size);
        }
    }

    /// In memory of their own.
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
