//! Requests: a body that can be read is written again, and read to the same request.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use wire::api::Visitor;
use wire::header::RequestHeader;
use wire::{Reader, Request};

struct RoundTrip {
    reader: Reader,
    version: i16,
}

impl Visitor for RoundTrip {
    type Output = ();

    fn visit<R: Request>(mut self) {
        let Ok(request) = R::decode(&mut self.reader, self.version) else { return };
        let bytes = request.to_bytes(self.version).expect("what was read can be written");
        let again = R::decode_all(bytes.clone(), self.version).expect("what was written can be read");
        // Compared as bytes, since a float that is not a number does not equal itself.
        assert_eq!(again.to_bytes(self.version).expect("as before"), bytes);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut reader = Reader::new(Bytes::copy_from_slice(data));
    if let Ok((api_key, header)) = RequestHeader::read_any(&mut reader) {
        let version = header.request_api_version;
        api_key.accept(RoundTrip { reader, version });
    }
});
