//! Random names, from the kernel.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::error::{Error, Result};

/// `bytes` random bytes in lower-case hexadecimal: twice as many characters.
///
/// # Errors
/// The kernel's source of randomness cannot be read.
pub fn hex(bytes: usize) -> Result<String> {
    let source = Path::new("/dev/urandom");
    let mut random = vec![0; bytes];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut random))
        .map_err(|e| Error::io("read", source, &e))?;
    let mut hex = String::with_capacity(2 * bytes);
    for byte in random {
        // Writing to a `String` cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_lower_case_hexadecimal_and_differ() {
        let names: BTreeSet<String> = (0..100).map(|_| hex(8).expect("random")).collect();
        assert_eq!(names.len(), 100);
        for name in names {
            assert_eq!(name.len(), 16, "{name}");
            assert!(
                name.bytes()
                    .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
                "{name}"
            );
        }
        assert_eq!(hex(0).expect("nothing"), "");
    }
}
