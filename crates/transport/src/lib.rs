//! Framed connections over TCP, used by both sides.
