//! The clients: they do what real ones do, and write down what they are told.

mod member;
mod producer;

pub(crate) use member::{GROUP, Member};
pub(crate) use producer::{Fault, Producer, number_of};

/// The topic that producers write to and members share.
pub(crate) const DATA: &str = "data";
