//! The one table of the APIs this broker serves. Each line is the whole registration of an API; its facts stand in the
//! file of its handler. What has no line is not served, and not advertised.

pub mod cluster;

use crate::dispatch::{Api, api};

/// Every API, by ascending key.
pub static APIS: &[Api] = &[
    api::<cluster::api_versions::ApiVersions>(), // 18
];
