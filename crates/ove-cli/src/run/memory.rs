//! Memory use of this process.

pub use ove::options::Bytes;

/// Peak memory so far, on Linux.
pub fn peak_bytes() -> Option<u64> {
    status("VmHWM:")
}

/// Current memory, on Linux.
pub fn resident_bytes() -> Option<u64> {
    status("VmRSS:")
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
