//! Responses, as a client reads them from a broker it has no reason to trust.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use wire::api::{ApiKey, Visitor};
use wire::{Message, Request};

struct RoundTrip {
    bytes: Bytes,
    version: i16,
}

impl Visitor for RoundTrip {
    type Output = ();

    fn visit<R: Request>(self) {
        let Ok(response) = R::Response::decode_all(self.bytes, self.version) else { return };
        let bytes = response.to_bytes(self.version).expect("what was read can be written");
        let again = R::Response::decode_all(bytes.clone(), self.version).expect("what was written can be read");
        assert_eq!(again.to_bytes(self.version).expect("as before"), bytes);
    }
}

fuzz_target!(|data: &[u8]| {
    let [key, version, body @ ..] = data else { return };
    if let Some(api_key) = ApiKey::from_key(i16::from(*key)) {
        let (bytes, version) = (Bytes::copy_from_slice(body), i16::from(*version));
        api_key.accept(RoundTrip { bytes, version });
    }
});
