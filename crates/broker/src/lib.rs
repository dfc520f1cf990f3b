//! The node: listeners, dispatch, handlers, replicas, coordinators, controller.
