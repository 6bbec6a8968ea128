//! Memory that the process has taken.

pub use ove::budget::Bytes;

/// The most memory that this process has held so far, where the system tells (Linux).
pub fn peak_bytes() -> Option<u64> {
    status("VmHWM:")
}

/// The memory that this process holds now, where the system tells (Linux).
pub fn resident_bytes() -> Option<u64> {
    status("VmRSS:")
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
