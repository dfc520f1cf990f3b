//! Java's property files are ISO 8859-1; what reads them here gets ASCII.

/// The bytes of a property file with everything beyond ASCII as `\u00XX`, which means the same in the format. A reader
/// that guesses at encodings, or that stumbles over a cut-off character, has nothing to guess then.
pub fn escape_latin1(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii() {
            text.push(byte);
        } else {
            text.extend_from_slice(format!("\\u00{byte:02x}").as_bytes());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::escape_latin1;

    #[test]
    fn only_what_is_not_ascii_is_escaped() {
        assert_eq!(escape_latin1(b"a=b\\\n"), b"a=b\\\n");
        assert_eq!(escape_latin1(b"caf\xe9=\xff"), b"caf\\u00e9=\\u00ff");
    }
}
