//! A stretch of time that someone else tells of when it is over.

use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::thread;

/// Begin and end on the shared clock, once they are known.
#[derive(Default)]
pub(crate) struct Window(OnceLock<(u64, u64)>);

impl Window {
    /// The window that `input` tells of: two numbers, then its end.
    pub(crate) fn follow(input: impl Read + Send + 'static) -> Arc<Window> {
        let window = Arc::new(Window::default());
        let told = window.clone();
        thread::spawn(move || told.listen(input));
        window
    }

    fn listen(&self, mut input: impl Read) {
        let mut text = String::new();
        // Whoever says nothing, or no numbers, wants an end and no latencies.
        let read = input.read_to_string(&mut text);
        let numbers: Vec<u64> = text.split_whitespace().flat_map(str::parse).collect();
        let told = match (read, numbers.as_slice()) {
            (Ok(_), [begin, end]) => (*begin, *end),
            _ => (u64::MAX, 0),
        };
        // It is told once, and nobody else tells.
        let _ = self.0.set(told);
    }

    /// Whether it is known to have ended before a moment.
    pub(crate) fn is_over_at(&self, moment: u64) -> bool {
        self.0.get().is_some_and(|(_, end)| *end < moment)
    }

    /// Whether a moment was in it; of no moment as long as it is not over.
    pub(crate) fn has(&self, moment: u64) -> bool {
        self.0
            .get()
            .is_some_and(|(begin, end)| (*begin..=*end).contains(&moment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &'static str) -> Window {
        let window = Window::default();
        window.listen(text.as_bytes());
        window
    }

    #[test]
    fn it_has_what_lies_between_its_two_numbers() {
        let unknown = Window::default();
        assert!(!unknown.has(5) && !unknown.is_over_at(u64::MAX));
        let window = told("5 9\n");
        assert_eq!(
            [4, 5, 9, 10].map(|moment| window.has(moment)),
            [false, true, true, false]
        );
        assert_eq!(
            [4, 9, 10].map(|moment| window.is_over_at(moment)),
            [false, false, true]
        );
    }

    #[test]
    fn an_input_that_tells_nothing_ends_an_empty_one() {
        for window in [told(""), told("5"), told("a b")] {
            assert!(window.is_over_at(1));
            assert!(!window.has(0) && !window.has(5) && !window.has(u64::MAX));
        }
    }
}
