//! Java's `String.hashCode`, by which Kafka places groups and transactional ids on partitions.

/// The hash over UTF-16 code units, wrapping as Java does.
pub fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

/// The partition of an internal topic that owns `id`: `abs(hash) % partitions`, with `abs(i32::MIN) = 0`
/// (rule 147; not the mask that producers use). `partitions` must be positive.
pub fn partition_for_id(id: &str, partitions: i32) -> i32 {
    let hash = java_string_hash(id);
    let absolute = if hash == i32::MIN { 0 } else { hash.abs() };
    absolute % partitions.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_java_does() {
        assert_eq!(java_string_hash(""), 0);
        assert_eq!(java_string_hash("abc"), 96354);
        assert_eq!(java_string_hash("polygenelubricants"), i32::MIN);
        assert_eq!(partition_for_id("polygenelubricants", 50), 0);
        assert_eq!(partition_for_id("abc", 50), 4);
    }
}
