//! The node: listeners, dispatch, handlers, replicas, coordinators, controller.

pub mod config;
