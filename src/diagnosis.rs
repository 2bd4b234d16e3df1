//! What `git locks doctor` makes of what it is shown: evidence in words, and findings. Pure; looking is
//! `commands::doctor`, and so is removing.
//!
//! - [`account`]: what a verdict was drawn from
//! - [`participants`]: everyone who takes part, one by one
//! - [`holders`]: holders that a person should know of
//! - [`clocks`]: times that cannot be right
//! - [`slots`]: numbers of slots that do not agree
//! - [`operations`]: what git has under way in the main checkout
//! - [`sessions`]: leases that make no sense, or are over
//! - [`layout`]: where other programs may look, and we do not

pub mod account;
pub mod clocks;
pub mod holders;
pub mod layout;
pub mod operations;
pub mod participants;
pub mod sessions;
pub mod slots;
