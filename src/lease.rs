//! Leases: promises with an end. Pure: the time is passed in.
//!
//! A moment is recorded on two clocks. On the same boot (and in the same time namespace) only
//! boot time counts, so that a stepped wall clock neither kills a lease nor makes it immortal.
//! After a reboot wall time counts, provided that this boot began after the record. Between
//! machines clocks cannot be compared: there a lease is believed while it runs, and its end is
//! never taken for proven.

use serde::{Deserialize, Serialize};

use crate::sys::host::{Host, Relation};

/// A point in time, on the two clocks of the host that recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Seconds since the Unix epoch.
    pub wall: f64,
    /// Seconds since the host booted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<f64>,
}

/// The present, as seen from this host.
#[derive(Clone, Debug, PartialEq)]
pub struct Now {
    /// The present moment.
    pub moment: Moment,
    /// Where it was read.
    pub host: Host,
}

/// A promise made at a moment, for a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    /// When it was made or last renewed.
    pub from: Moment,
    /// For how many seconds.
    pub seconds: f64,
}

/// Whether a lease runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has not ended.
    Running,
    /// It has provably ended.
    Expired,
    /// Its clock cannot be compared with ours.
    Unknown,
}

impl Now {
    /// Seconds from `since` to now, by the wall where no better clock is shared. Proves nothing.
    pub fn elapsed_or_wall(&self, since: Moment, host: &Host) -> f64 {
        let by_wall = self.moment.wall - since.wall;
        self.elapsed(since, host).unwrap_or(by_wall)
    }

    /// Seconds from `since`, recorded on `host`, to now; `None` where no clock is shared.
    pub fn elapsed(&self, since: Moment, host: &Host) -> Option<f64> {
        let by_wall = self.moment.wall - since.wall;
        match self.host.relation(host) {
            Relation::SameBoot => match (self.moment.boot, since.boot) {
                (Some(now), Some(then)) if self.host.shares_boot_clock(host) => Some(now - then),
                _ => Some(by_wall),
            },
            Relation::SameMachine => {
                let boot_began = self.moment.wall - self.moment.boot.unwrap_or(0.0);
                (boot_began >= since.wall).then_some(by_wall)
            }
            Relation::Elsewhere => None,
        }
    }
}

impl Lease {
    /// A lease of `seconds` that begins now.
    pub fn starting(now: &Now, seconds: f64) -> Self {
        Self {
            from: now.moment,
            seconds,
        }
    }

    /// The end, in seconds since the Unix epoch, as the wall clock read when it was made.
    pub fn expires_at(&self) -> f64 {
        self.from.wall + self.seconds
    }

    /// Whether a lease recorded on `host` runs.
    pub fn standing(&self, host: &Host, now: &Now) -> Standing {
        match now.elapsed(self.from, host) {
            Some(elapsed) if elapsed < self.seconds => Standing::Running,
            Some(_) => Standing::Expired,
            None if self.expires_at() > now.moment.wall => Standing::Running,
            None => Standing::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(boot: &str, machine: &str) -> Host {
        Host {
            boot_id: Some(boot.to_owned()),
            machine_id: Some(machine.to_owned()),
            ..Host::default()
        }
    }

    fn now(wall: f64, boot: f64, host: Host) -> Now {
        Now {
            moment: Moment {
                wall,
                boot: Some(boot),
            },
            host,
        }
    }

    fn lease() -> Lease {
        Lease {
            from: Moment {
                wall: 10_000.0,
                boot: Some(500.0),
            },
            seconds: 60.0,
        }
    }

    #[test]
    fn a_stepped_wall_clock_changes_nothing_on_the_same_boot() {
        let here = host("b", "m");
        for wall in [0.0, 10_030.0, 9e9] {
            assert_eq!(
                lease().standing(&here, &now(wall, 559.9, here.clone())),
                Standing::Running
            );
            assert_eq!(
                lease().standing(&here, &now(wall, 560.0, here.clone())),
                Standing::Expired
            );
        }
    }

    #[test]
    fn another_time_namespace_of_the_same_boot_goes_by_the_wall() {
        let record = Host {
            time_ns: Some(1),
            ..host("b", "m")
        };
        let here = Host {
            time_ns: Some(2),
            ..host("b", "m")
        };
        assert_eq!(
            lease().standing(&record, &now(10_030.0, 9e6, here.clone())),
            Standing::Running
        );
        assert_eq!(
            lease().standing(&record, &now(10_061.0, 1.0, here)),
            Standing::Expired
        );
    }

    #[test]
    fn after_a_reboot_the_wall_counts() {
        let (record, here) = (host("b", "m"), host("c", "m"));
        assert_eq!(
            lease().standing(&record, &now(10_030.0, 5.0, here.clone())),
            Standing::Running
        );
        assert_eq!(
            lease().standing(&record, &now(10_061.0, 5.0, here)),
            Standing::Expired
        );
    }

    #[test]
    fn a_boot_older_than_the_record_proves_no_end() {
        let (record, here) = (host("b", "m"), host("c", "m"));
        assert_eq!(
            lease().standing(&record, &now(10_061.0, 9000.0, here)),
            Standing::Unknown
        );
    }

    #[test]
    fn another_machine_is_believed_while_it_runs_and_never_proven_ended() {
        let (record, here) = (host("b", "m"), host("c", "n"));
        assert_eq!(
            lease().standing(&record, &now(10_030.0, 5.0, here.clone())),
            Standing::Running
        );
        assert_eq!(
            lease().standing(&record, &now(99_999.0, 5.0, here)),
            Standing::Unknown
        );
    }

    proptest! {
        #[test]
        fn on_one_boot_standing_depends_on_boot_time_alone(
            wall in -1e10..1e10, boot in 0.0..1e9, from in 0.0..1e9, seconds in 0.0..1e6,
        ) {
            let here = host("b", "m");
            let lease = Lease { from: Moment { wall: 0.0, boot: Some(from) }, seconds };
            let expected = if boot - from < seconds { Standing::Running } else { Standing::Expired };
            prop_assert_eq!(lease.standing(&here, &now(wall, boot, here.clone())), expected);
        }

        #[test]
        fn no_reading_from_another_machine_ever_proves_an_end(
            wall in -1e10..1e10, boot in 0.0..1e9, from in -1e10..1e10, seconds in 0.0..1e6,
        ) {
            let lease = Lease { from: Moment { wall: from, boot: None }, seconds };
            let standing = lease.standing(&host("b", "m"), &now(wall, boot, host("c", "n")));
            prop_assert_ne!(standing, Standing::Expired);
        }
    }
}
