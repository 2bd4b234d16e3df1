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

/// A random UUID, version 4 of RFC 9562.
///
/// # Errors
/// As for [`hex`].
pub fn uuid4() -> Result<String> {
    let random = hex(16)?;
    let part = |from: usize, to: usize| random.get(from..to).unwrap_or_default();
    // Two bits of the seventeenth digit tell the variant, the other two are random.
    let variant = part(16, 17)
        .chars()
        .next()
        .and_then(|digit| digit.to_digit(16));
    let variant = char::from_digit(8 | (variant.unwrap_or_default() & 3), 16).unwrap_or('8');
    Ok(format!(
        "{}-{}-4{}-{variant}{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    ))
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

    #[test]
    fn a_uuid_says_that_it_is_random() {
        for _ in 0..100 {
            let uuid = uuid4().expect("random");
            let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{uuid}");
            assert_eq!(&uuid[14..15], "4", "{uuid}");
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        }
        assert_ne!(uuid4().ok(), uuid4().ok());
    }
}
