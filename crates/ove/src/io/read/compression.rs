//! Decompresses gzip (feature `gzip`), bzip2, xz and Zstandard (feature `compression`).
//!
//! They are recognised by their first bytes, not by the name of the file, and may have several members, as from
//! `cat a.gz b.gz`.

use std::io::{self, BufRead, Read};

/// The number of first bytes that tell.
pub(super) const MAGIC: usize = 10;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Compression {
    /// How a file with these first bytes is compressed, if it is.
    pub fn of(head: &[u8]) -> Option<Self> {
        // The first block of a bzip2 file starts with the digits of π, or, if there is none, of its root.
        let bzip2 = [[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], [0x17, 0x72, 0x45, 0x38, 0x50, 0x90]];
        match head {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', block @ ..] if bzip2.iter().any(|start| block.starts_with(start)) => {
                Some(Compression::Bzip2)
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            // A frame, or one to be skipped.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Zstd => "Zstandard",
        }
    }

    /// The content; without the feature that is needed, the name of that.
    pub fn decompress(self, raw: impl BufRead + 'static) -> Result<Box<dyn Read>, &'static str> {
        match self {
            #[cfg(feature = "gzip")]
            Compression::Gzip => Ok(Box::new(flate2::bufread::MultiGzDecoder::new(raw))),
            #[cfg(feature = "compression")]
            Compression::Bzip2 => Ok(Box::new(bzip2::bufread::MultiBzDecoder::new(raw))),
            #[cfg(feature = "compression")]
            Compression::Xz => Ok(Box::new(lzma_rust2::XzReader::new(raw, true))),
            #[cfg(feature = "compression")]
            Compression::Zstd => Ok(Box::new(zstd::Frames::new(raw))),
            #[cfg(not(feature = "gzip"))]
            Compression::Gzip => Err("gzip"),
            #[cfg(not(feature = "compression"))]
            _ => Err("compression"),
        }
    }

    /// What a failed read of the content means: damaged data, or `None` for an error of the file itself.
    pub fn damage(self, error: &io::Error) -> Option<String> {
        let name = self.name();
        match error.kind() {
            _ if error.raw_os_error().is_some() => None,
            io::ErrorKind::UnexpectedEof => Some(format!("the {name} data are cut short")),
            _ => Some(format!("the {name} data are damaged")),
        }
    }
}

/// The name of a file without the ending of a compressed one.
pub(super) fn uncompressed(name: &str) -> &str {
    ENDINGS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// The endings of compressed files.
pub(super) const ENDINGS: [&str; 4] = [".gz", ".bz2", ".xz", ".zst"];

#[cfg(feature = "compression")]
mod zstd {
    //! The frames of a Zstandard file, one after the other; the decoder knows single ones.

    use std::io::{self, BufRead, Read};

    use ruzstd::decoding::BlockDecodingStrategy;
    use ruzstd::decoding::FrameDecoder;
    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

    /// Bytes that are decoded at a time, at least.
    const DECODED: usize = 1 << 17;

    pub struct Frames<R> {
        raw: R,
        decoder: FrameDecoder,
        /// Whether the decoder is within a frame.
        within: bool,
    }

    impl<R: BufRead> Frames<R> {
        pub fn new(raw: R) -> Self {
            Frames { raw, decoder: FrameDecoder::new(), within: false }
        }

        /// Begins the next frame; false at the end.
        fn begin(&mut self) -> io::Result<bool> {
            while !self.raw.fill_buf()?.is_empty() {
                match self.decoder.reset(&mut self.raw) {
                    Ok(()) => return Ok(true),
                    Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                        length, ..
                    })) => {
                        let skipped = io::copy(&mut self.raw.by_ref().take(length.into()), &mut io::sink())?;
                        if skipped < u64::from(length) {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                    }
                    Err(error) => return Err(failed(error)),
                }
            }
            Ok(false)
        }
    }

    impl<R: BufRead> Read for Frames<R> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            loop {
                if !self.within && !self.begin()? {
                    return Ok(0);
                }
                self.within = true;
                if self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                    let strategy = BlockDecodingStrategy::UptoBytes(DECODED);
                    self.decoder.decode_blocks(&mut self.raw, strategy).map_err(failed)?;
                }
                let read = self.decoder.read(out)?;
                if read > 0 || out.is_empty() {
                    return Ok(read);
                }
                if self.decoder.is_finished() {
                    let (promised, found) =
                        (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
                    if promised.is_some() && promised != found {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum differs"));
                    }
                    self.within = false;
                }
            }
        }
    }

    /// The error of the decoder, as one that tells whether data are missing.
    fn failed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(error) = cause {
            if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::UnexpectedEof) {
                return io::ErrorKind::UnexpectedEof.into();
            }
            cause = error.source();
        }
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}
