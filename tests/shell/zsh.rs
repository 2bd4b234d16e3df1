//! zsh: `_git-locks`, by itself and from zsh's completion of git.

use crate::common::required;
use crate::ground::Ground;
use crate::typing::{Kind, Typist};

#[test]
fn by_itself_and_as_a_command_of_git() {
    let test = "zsh::by_itself_and_as_a_command_of_git";
    if !required(test, "zsh") || !required(test, "script") {
        return;
    }
    let ground = Ground::new();
    let mut typist = Typist::start(&ground, Kind::Zsh);
    typist.completes_all();
    // The description line is what git's completion shows.
    typist.lists("git lo", "take turns in a repository");
    typist.lists("git locks merge acquire --as ", "waits for the merge lock");
    typist.words(
        "git -C . locks merge acquire --as a",
        &[
            "git", "-C", ".", "locks", "merge", "acquire", "--as", "alpha",
        ],
    );
    typist.words(
        "git locks merge run -- git-lo",
        &["git", "locks", "merge", "run", "--", "git-locks"],
    );
}
