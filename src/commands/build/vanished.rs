//! A waiter whose entry is gone from the queue: as a rule because the whole queue was lost.
//!
//! Those who build put their entries back as soon as they see that. A waiter that asked first would
//! be given a slot of theirs, and end what they run.

use crate::wait::Scene;

/// How long those who build are given, in seconds: they look every second.
const MOMENT: f64 = 2.0;

/// The place of a waiter.
#[derive(Default)]
pub(super) struct Place {
    /// What was seen from it; `None` before it has one.
    scene: Option<Scene>,
    /// Since when it is gone, on the steady clock, in seconds.
    gone: Option<f64>,
}

impl Place {
    /// Remembers that it stands in the queue, and what is seen from it; or that it never did.
    pub fn stands(&mut self, scene: Option<Scene>) {
        *self = Self { scene, gone: None };
    }

    /// Whether it must not be asked for anew, at `now`, where it is gone.
    pub fn is_kept(&self, now: f64) -> bool {
        self.scene.is_some() && self.gone.is_none_or(|gone| now < gone + MOMENT)
    }

    /// What to go by while those who build are given their moment; `there` tells whether the place is.
    pub fn bides(&mut self, there: bool, now: f64) -> Option<Scene> {
        if there {
            self.gone = None;
            return None;
        }
        let scene = self.scene.clone()?;
        let gone = *self.gone.get_or_insert(now);
        let change = Some(gone + MOMENT - now);
        self.is_kept(now).then_some(Scene { change, ..scene })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_bides_for_a_moment_and_only_where_it_had_a_place() {
        let mut place = Place::default();
        assert_eq!(place.bides(false, 100.0), None);
        assert!(!place.is_kept(100.0));
        place.stands(Some(Scene::default()));
        assert_eq!(place.bides(true, 101.0), None);
        assert!(place.is_kept(102.0));
        for (now, left) in [(102.0, 2.0), (103.5, 0.5)] {
            let change = Some(left);
            let scene = Scene {
                change,
                ..Scene::default()
            };
            assert_eq!(place.bides(false, now), Some(scene));
        }
        assert_eq!(place.bides(false, 104.0), None, "the moment is over");
        assert!(!place.is_kept(104.0));
        assert_eq!(place.bides(true, 105.0), None);
        assert!(place.bides(false, 106.0).is_some(), "gone again");
        place.stands(None);
        assert_eq!(place.bides(false, 106.0), None);
    }
}
