//! Every record and file that is no request: what can be read is written again, and read to the same message.
//!
//! The input is the number of a message, a version, and the body.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

#[path = "../internal_messages.rs"]
mod internal_messages;

use internal_messages::MESSAGES;

fuzz_target!(|data: &[u8]| {
    let [message, version, body @ ..] = data else { return };
    let (_, round_trip) = MESSAGES[usize::from(*message) % MESSAGES.len()];
    round_trip(Bytes::copy_from_slice(body), i16::from(*version));
});
