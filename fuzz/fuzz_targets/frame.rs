//! Frames: whatever arrives, in whatever pieces, the buffer yields the frames it holds and nothing grows past them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use transport::FrameBuffer;

/// The largest frame allowed here.
const FRAME_MAX: usize = 64 << 10;

fuzz_target!(|data: &[u8]| {
    let Some((&pieces, stream)) = data.split_first() else { return };
    let mut buffer = FrameBuffer::new(FRAME_MAX);
    let mut taken = 0;
    for piece in stream.chunks(usize::from(pieces).max(1)) {
        buffer.extend(piece);
        loop {
            match buffer.next_frame() {
                Ok(Some(frame)) => {
                    assert!(frame.len() <= FRAME_MAX);
                    taken += frame.len() + 4;
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(taken + buffer.partial() <= stream.len());
        assert!(buffer.held() <= 4 * (FRAME_MAX + stream.len()) + (1 << 20));
    }
});
