//! NumPy's format of one array (`.npy`), which SciPy's sparse matrices consist of too.
//!
//! ```text
//! 93 N U M P Y, version │ length of the header │ {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } │ values
//! ```
//!
//! Numbers, truth values and strings are read. Python objects are pickled programs, which are never run.

use std::io::{self, Read};

/// The first bytes.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// The length of a header that is believed; NumPy's are far below.
const MOST_HEADER: u32 = 1 << 20;

/// An array as its file has it.
pub(super) struct Array {
    kind: Kind,
    /// Bytes per value.
    size: usize,
    big_endian: bool,
    /// Whether the values of a column are together, not those of a row.
    pub fortran_order: bool,
    pub shape: Vec<usize>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// Four bytes per character.
    Unicode,
    Bytes,
}

/// Why a file is none, or how reading it failed.
pub(super) enum Wrong {
    Content(String),
    Read(io::Error),
}

impl From<String> for Wrong {
    fn from(message: String) -> Self {
        Wrong::Content(message)
    }
}

impl Array {
    /// Reads an array.
    pub fn read(input: &mut impl Read) -> Result<Array, Wrong> {
        let head = take(input, 8)?;
        if head.len() < 8 || !head.starts_with(MAGIC) {
            return Err("expected a NumPy array, found other data".to_owned().into());
        }
        let length = match head[6] {
            1 => take(input, 2)?.first_chunk().map(|bytes| u32::from(u16::from_le_bytes(*bytes))),
            _ => take(input, 4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)),
        };
        let length = length.filter(|length| *length <= MOST_HEADER).ok_or_else(cut)?;
        let header = take(input, length.into())?;
        if header.len() < length as usize {
            return Err(cut().into());
        }
        let mut array = Array::of_header(&String::from_utf8_lossy(&header))?;
        let count = array.shape.iter().try_fold(array.size, |bytes, &length| bytes.checked_mul(length));
        let bytes =
            count.ok_or_else(|| format!("expected an array that fits memory, found the shape {:?}", array.shape))?;
        array.bytes = take(input, bytes as u64)?;
        if array.bytes.len() < bytes {
            let (shape, found) = (&array.shape, array.bytes.len());
            return Err(format!("expected {bytes} bytes for the shape {shape:?}, found {found}").into());
        }
        Ok(array)
    }

    fn of_header(header: &str) -> Result<Array, String> {
        let field = |name: &str| {
            let (_, rest) =
                header.split_once(&format!("'{name}':")).ok_or_else(|| format!("expected `{name}` in the header"))?;
            Ok::<_, String>(rest.trim_start())
        };
        let kind = field("descr")?;
        let quoted = kind.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).map(|(kind, _)| kind);
        let kind = quoted.ok_or("expected an array of numbers or strings, found one of records")?;
        if kind.contains('O') {
            let hint = "save them as an array of numbers or strings, with y.astype(str)";
            return Err(format!(
                "expected numbers or strings, found pickled Python objects, which are never loaded; {hint}"
            ));
        }
        let (order, rest) = kind.split_at_checked(1).filter(|(order, _)| "<>|=".contains(order)).unwrap_or(("=", kind));
        let known = rest.split_at_checked(1).and_then(|(kind, size)| Some((kind, size.parse::<usize>().ok()?)));
        let (kind, size) = match known {
            Some(("b", 1)) => (Kind::Bool, 1),
            Some(("i", size @ (1 | 2 | 4 | 8))) => (Kind::Signed, size),
            Some(("u", size @ (1 | 2 | 4 | 8))) => (Kind::Unsigned, size),
            Some(("f", size @ (2 | 4 | 8))) => (Kind::Float, size),
            Some(("U", size)) if size > 0 => (Kind::Unicode, size.checked_mul(4).ok_or_else(cut)?),
            Some(("S", size)) if size > 0 => (Kind::Bytes, size),
            _ => return Err(format!("expected numbers or strings, found values of the type '{kind}'")),
        };
        let shape = field("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(shape, _)| shape);
        let lengths = shape.ok_or_else(cut)?.split(',').map(str::trim).filter(|length| !length.is_empty());
        let shape: Result<Vec<usize>, _> = lengths.map(|length| length.trim_end_matches('L').parse()).collect();
        Ok(Array {
            kind,
            size,
            big_endian: order == ">",
            fortran_order: field("fortran_order")?.starts_with("True"),
            shape: shape.map_err(|_| cut())?,
            bytes: Vec::new(),
        })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    /// Whether the values are numbers.
    pub fn is_numeric(&self) -> bool {
        !matches!(self.kind, Kind::Unicode | Kind::Bytes)
    }

    /// Whether the values are whole numbers.
    pub fn is_whole(&self) -> bool {
        matches!(self.kind, Kind::Signed | Kind::Unsigned | Kind::Bool)
    }

    /// The bytes of value `n`, the lowest first.
    fn value(&self, n: usize) -> [u8; 8] {
        let mut value = [0; 8];
        let own = &self.bytes[n * self.size..(n + 1) * self.size];
        value[..self.size].copy_from_slice(own);
        if self.big_endian {
            value[..self.size].reverse();
        }
        value
    }

    /// Value `n` of an array of numbers.
    #[inline]
    pub fn number(&self, n: usize) -> f64 {
        let bits = u64::from_le_bytes(self.value(n));
        match (self.kind, self.size) {
            (Kind::Float, 2) => half::f16::from_bits(bits as u16).into(),
            (Kind::Float, 4) => f32::from_bits(bits as u32).into(),
            (Kind::Float, _) => f64::from_bits(bits),
            (Kind::Signed, size) => signed(bits, size) as f64,
            _ => bits as f64,
        }
    }

    /// Value `n` of an array of whole numbers, if it is not negative.
    #[inline]
    pub fn index(&self, n: usize) -> Option<u64> {
        let bits = u64::from_le_bytes(self.value(n));
        match self.kind {
            Kind::Signed => u64::try_from(signed(bits, self.size)).ok(),
            _ => Some(bits),
        }
    }

    /// Value `n` as a text; whole numbers without a decimal point.
    pub fn text(&self, n: usize) -> Result<String, String> {
        let own = || &self.bytes[n * self.size..(n + 1) * self.size];
        match self.kind {
            Kind::Unicode => {
                let code = |bytes: &[u8]| {
                    let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
                    if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
                };
                let codes = own().chunks_exact(4).map(code).take_while(|code| *code != 0);
                codes
                    .map(char::from_u32)
                    .collect::<Option<_>>()
                    .ok_or_else(|| format!("expected Unicode in value {}", n + 1))
            }
            Kind::Bytes => {
                let end = own().iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                let text = String::from_utf8(own()[..end].to_vec());
                text.map_err(|_| format!("expected UTF-8 in value {}", n + 1))
            }
            Kind::Signed => Ok(signed(u64::from_le_bytes(self.value(n)), self.size).to_string()),
            Kind::Bool | Kind::Unsigned => Ok(u64::from_le_bytes(self.value(n)).to_string()),
            Kind::Float => Ok(self.number(n).to_string()),
        }
    }
}

/// The lowest bytes as a signed number.
fn signed(bits: u64, size: usize) -> i64 {
    let unused = 64 - 8 * size as u32;
    (bits << unused) as i64 >> unused
}

fn cut() -> String {
    "the header is cut short or damaged".into()
}

/// Up to so many bytes; the buffer grows as they arrive.
fn take(input: &mut impl Read, count: u64) -> Result<Vec<u8>, Wrong> {
    let mut bytes = Vec::new();
    input.take(count).read_to_end(&mut bytes).map_err(Wrong::Read)?;
    Ok(bytes)
}
