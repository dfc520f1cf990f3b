//! The metadata of the cluster: records, image, delta, snapshot.
