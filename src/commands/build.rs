//! `git locks build …`: one file per verb, and what they share.

pub mod acquire;
mod announce;
mod ask;
pub mod check;
mod holding;
mod inner;
pub mod release;
pub mod renew;
pub mod run;
pub(super) mod site;
mod turn;
mod vanished;

use crate::commands::Failure;
use crate::error::Error;
use crate::identity::PlanId;

fn failure(error: Error, id: &PlanId) -> Failure {
    Failure {
        error,
        plan_id: Some(id.as_str().to_owned()),
    }
}
