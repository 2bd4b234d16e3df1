//! Which boot of which machine this is, and which namespaces we see it through.
//!
//! Facts that cannot be read are `None`. Two `None`s never count as equal, but for namespaces: a
//! system without them has one of each.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Where a record was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// The kernel's identifier of this boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The identifier of this installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// The host name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The process-id namespace: process numbers mean something only inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_ns: Option<u64>,
    /// The time namespace: boot time is comparable only inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
}

/// How two hosts relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same machine, not restarted in between.
    SameBoot,
    /// The same machine, another boot.
    SameMachine,
    /// Another machine, as far as can be told.
    Elsewhere,
}

impl Host {
    /// This host, as this process sees it.
    pub fn here() -> Self {
        Self {
            boot_id: boot_id(),
            machine_id: machine_id(),
            name: nix::unistd::gethostname()
                .ok()
                .map(|name| name.to_string_lossy().into_owned()),
            pid_ns: namespace("pid"),
            time_ns: namespace("time"),
        }
    }

    /// How the host of a record relates to `self`, the host of whoever reads it.
    ///
    /// The same boot id is the same host. Otherwise machine ids decide, and only where one of
    /// the two has none, host names: case, domain and `.local` ignored.
    pub fn relation(&self, record: &Self) -> Relation {
        if both_equal(self.boot_id.as_deref(), record.boot_id.as_deref()) {
            return Relation::SameBoot;
        }
        let same = match (&self.machine_id, &record.machine_id) {
            (Some(a), Some(b)) => a == b,
            _ => match (&self.name, &record.name) {
                (Some(a), Some(b)) => bare_name(a) == bare_name(b),
                _ => false,
            },
        };
        if same {
            Relation::SameMachine
        } else {
            Relation::Elsewhere
        }
    }

    /// Whether process numbers of `record` mean the same processes to us.
    pub fn shares_pids(&self, record: &Self) -> bool {
        self.pid_ns == record.pid_ns
    }

    /// Whether boot-time seconds of `record` are of the same clock as ours.
    pub fn shares_boot_clock(&self, record: &Self) -> bool {
        self.relation(record) == Relation::SameBoot && self.time_ns == record.time_ns
    }
}

/// Whether the kernel tells us of every process of this machine: not in a pid namespace below the
/// outermost, nor where there is no `/proc` to tell.
#[cfg(target_os = "linux")]
pub fn sees_all_processes() -> bool {
    /// The kernel's own number of the outermost one, always the same.
    const OUTERMOST: u64 = 0xEFFF_FFFC;
    namespace("pid") == Some(OUTERMOST)
}

/// Whether the kernel tells us of every process of this machine: not on this system.
#[cfg(target_os = "macos")]
pub fn sees_all_processes() -> bool {
    false
}

fn both_equal(a: Option<&str>, b: Option<&str>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a == b)
}

fn bare_name(name: &str) -> String {
    let first = name.split('.').next().unwrap_or(name);
    first.to_lowercase()
}

fn read_id(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new(path)).ok()?;
    let id = text.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

#[cfg(target_os = "linux")]
fn boot_id() -> Option<String> {
    read_id("/proc/sys/kernel/random/boot_id")
}

#[cfg(target_os = "linux")]
fn machine_id() -> Option<String> {
    read_id("/etc/machine-id").or_else(|| read_id("/var/lib/dbus/machine-id"))
}

#[cfg(target_os = "linux")]
fn namespace(kind: &str) -> Option<u64> {
    // The link reads `pid:[4026531836]`.
    let link = std::fs::read_link(format!("/proc/self/ns/{kind}")).ok()?;
    let text = link.to_str()?;
    text.split_once('[')?.1.strip_suffix(']')?.parse().ok()
}

#[cfg(target_os = "macos")]
fn sysctl(name: &str) -> Option<String> {
    let output = std::process::Command::new("/usr/sbin/sysctl")
        .args(["-n", name])
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let id = text.trim();
    (output.status.success() && !id.is_empty()).then(|| id.to_owned())
}

#[cfg(target_os = "macos")]
fn boot_id() -> Option<String> {
    sysctl("kern.bootsessionuuid")
}

#[cfg(target_os = "macos")]
fn machine_id() -> Option<String> {
    sysctl("kern.uuid").or_else(|| read_id("/etc/machine-id"))
}

#[cfg(target_os = "macos")]
fn namespace(_kind: &str) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(boot: Option<&str>, machine: Option<&str>, name: &str) -> Host {
        Host {
            boot_id: boot.map(str::to_owned),
            machine_id: machine.map(str::to_owned),
            name: Some(name.to_owned()),
            ..Host::default()
        }
    }

    #[test]
    fn the_same_boot_is_the_same_host_whatever_else_differs() {
        let (a, b) = (
            host(Some("b"), Some("m"), "x"),
            host(Some("b"), Some("n"), "y"),
        );
        assert_eq!(a.relation(&b), Relation::SameBoot);
    }

    #[test]
    fn names_count_only_where_a_machine_id_is_missing() {
        let here = host(Some("b1"), Some("m"), "Box.example.org");
        assert_eq!(
            here.relation(&host(Some("b2"), Some("m"), "y")),
            Relation::SameMachine
        );
        assert_eq!(
            here.relation(&host(Some("b2"), Some("n"), "box")),
            Relation::Elsewhere
        );
        assert_eq!(
            here.relation(&host(Some("b2"), None, "BOX.local")),
            Relation::SameMachine
        );
        assert_eq!(
            here.relation(&host(None, None, "other")),
            Relation::Elsewhere
        );
    }

    #[test]
    fn two_unknown_boots_are_not_the_same_boot() {
        let (a, b) = (host(None, Some("m"), "x"), host(None, Some("m"), "x"));
        assert_eq!(a.relation(&b), Relation::SameMachine);
    }
}
