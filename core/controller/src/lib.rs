//! Decisions on the metadata of the cluster.
