//! Which kinds of work go side by side in the worktrees of one repository. Pure.

/// How a kind of work bears with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeClass {
    /// It wants to be alone.
    Exclusive,
    /// It changes things, in its own worktree.
    Parallel,
    /// It only reads.
    AlwaysOk,
    /// Nobody knows; it is treated as [`Self::Parallel`].
    Unknown,
}

/// The modes that are known, and their classes.
pub const MODES: [(&str, ModeClass); 10] = [
    ("feature", ModeClass::Parallel),
    ("deep", ModeClass::Parallel),
    ("bootstrap", ModeClass::Exclusive),
    ("housekeeping", ModeClass::Exclusive),
    ("memory-cleanup", ModeClass::Exclusive),
    ("discovery", ModeClass::AlwaysOk),
    ("evolve", ModeClass::AlwaysOk),
    ("plan", ModeClass::AlwaysOk),
    ("portfolio", ModeClass::AlwaysOk),
    ("repo-audit", ModeClass::AlwaysOk),
];

/// The class of a mode; `None` where none is noted.
pub fn mode_class(mode: Option<&str>) -> ModeClass {
    let mut known = MODES.iter();
    let known = known.find(|(name, _)| mode == Some(*name));
    known.map_or(ModeClass::Unknown, |(_, class)| *class)
}

/// How a session stands with those at work in other worktrees. The number is that of the peer that
/// decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nobody is in its way.
    Alone,
    /// That one wants to be alone, or the caller does.
    Exclusive(usize),
    /// That one changes things as the caller would.
    Parallel(usize),
    /// That one is at work, and the caller only reads.
    Bypass(usize),
}

/// Weighs a session of `mode` against `peers`: the modes of the live sessions of others in other
/// worktrees.
pub fn beside(mode: &str, peers: &[Option<&str>]) -> Beside {
    let caller = mode_class(Some(mode));
    let classes = || peers.iter().map(|peer| mode_class(*peer));
    if peers.is_empty() {
        return Beside::Alone;
    }
    if caller == ModeClass::AlwaysOk {
        return Beside::Bypass(0);
    }
    if let Some(alone) = classes().position(|class| class == ModeClass::Exclusive) {
        return Beside::Exclusive(alone);
    }
    let at_work = |class| matches!(class, ModeClass::Parallel | ModeClass::Unknown);
    match classes().position(at_work) {
        Some(peer) if caller == ModeClass::Exclusive => Beside::Exclusive(peer),
        Some(peer) => Beside::Parallel(peer),
        None => Beside::Alone,
    }
}
