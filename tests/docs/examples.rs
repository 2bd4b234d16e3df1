//! The examples of the manual, each block in a fresh checkout.

use std::fs;

use crate::common::{chmod, required};
use crate::pages::{Block, all, read};
use crate::scene::Scene;

/// What goes on until it is interrupted, and is not run here.
const ENDLESS: [&str; 2] = ["git locks status --watch", "git locks log --follow"];

/// What the examples take for granted: commands of the reader's own, places, a session's id.
fn ready(scene: &Scene) {
    let own = ["shop/replay-and-fast-forward", "shop/attempt", "bin/cargo"];
    for program in own.map(|name| scene.env.path(name)) {
        fs::write(&program, "#!/bin/sh\n").expect("a command");
        chmod(&program, 0o755);
    }
    for place in ["home/.zfunc", "home/.config/fish/conf.d"] {
        scene.env.mkdir(place);
    }
}

/// The block without what has no end, and how much that was.
fn that_ends(block: &Block) -> (Block, usize) {
    let (endless, lines): (Vec<&str>, Vec<&str>) = block
        .text
        .lines()
        .partition(|line| ENDLESS.contains(&line.trim()));
    let text = format!("SESSION=s-1\n{}\n", lines.join("\n"));
    (
        Block {
            text,
            ..block.clone()
        },
        endless.len(),
    )
}

#[test]
fn each_of_them_does_what_it_says() {
    let test = "examples::each_of_them_does_what_it_says";
    if !(required(test, "make") && required(test, "flock")) {
        return;
    }
    let (mut run, mut left_out) = (0, 0);
    for file in all().iter().filter(|file| file.starts_with("man/prose/")) {
        let (_, blocks) = read(file);
        assert!(!blocks.is_empty(), "{file} has no examples");
        for block in blocks {
            let (block, endless) = that_ends(&block);
            let scene = Scene::new();
            ready(&scene);
            scene.runs(&block);
            run += 1;
            left_out += endless;
        }
    }
    assert!(run > 12, "{run}");
    assert_eq!(left_out, ENDLESS.len(), "what is left out stands no more");
}
