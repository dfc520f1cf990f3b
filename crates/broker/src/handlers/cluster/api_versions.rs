//! `ApiVersions`: which versions of which APIs this listener serves, and the cluster's features.
//!
//! - v3 (KIP-511): the client names its software; a name that could not stand in a metric is INVALID_REQUEST.
//! - v3 (KIP-584): the features this node supports, and those the cluster has finalised.
//! - v4: supported features may begin at level 0; readers of v3 cannot take those (KAFKA-17011), so v3 leaves them out.
//! - An unknown version is answered in the layout of version 0 with UNSUPPORTED_VERSION and the range of this API; the
//!   client asks again with a version of it. Every other API's unknown version closes the connection.

use std::sync::Arc;

use metadata::image::{KRAFT_VERSION, supported_features};
use model::ErrorCode;
use wire::api::ApiKey;
use wire::messages::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};

use crate::dispatch::{ApiSpec, ClientSoftware, Handler, Node, Reply, RequestContext};
use crate::handlers::APIS;

/// The handler.
pub struct ApiVersions;

impl Handler for ApiVersions {
    type Request = ApiVersionsRequest;
    const SPEC: ApiSpec = ApiSpec::of::<ApiVersionsRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: ApiVersionsRequest,
    ) -> Reply<ApiVersionsResponse> {
        if context.api_version >= 3 {
            let (name, version) = (&*request.client_software_name, &*request.client_software_version);
            if !is_software_word(name) || !is_software_word(version) {
                return Reply::Now(ApiVersionsResponse {
                    error_code: ErrorCode::InvalidRequest as i16,
                    ..ApiVersionsResponse::default()
                });
            }
            context.connection.software.get_or_init(|| ClientSoftware {
                name: name.to_owned(),
                version: version.to_owned(),
            });
        }
        let used_by = context.listener().used_by;
        let served = APIS.iter().filter(|api| api.spec.is_on(used_by));
        let image = node.metadata.image();
        // The level of voters' changes stands in control records, outside the image.
        let kraft_version =
            Some((KRAFT_VERSION, node.controller.kraft_version())).filter(|(_, level)| *level > 0);
        let levels = image
            .features
            .iter()
            .map(|(name, level)| (&**name, level))
            .chain(kraft_version);
        Reply::Now(ApiVersionsResponse {
            api_keys: served.map(|api| advertised(&api.spec)).collect(),
            supported_features: supported(context.api_version),
            finalized_features_epoch: image.position.offset.0,
            finalized_features: levels.map(|(name, level)| finalized(name, level)).collect(),
            ..ApiVersionsResponse::default()
        })
    }
}

/// The features of this node. Readers before version 4 break on a lowest level of 0, so they are not told of those.
fn supported(version: i16) -> Vec<SupportedFeatureKey> {
    let features = supported_features().into_iter();
    let told = features.filter(|(_, levels)| version >= 4 || levels.min > 0);
    told.map(|(name, levels)| SupportedFeatureKey {
        name: (&*name).into(),
        min_version: levels.min,
        max_version: levels.max,
    })
    .collect()
}

fn finalized(name: &str, level: i16) -> FinalizedFeatureKey {
    FinalizedFeatureKey {
        name: name.into(),
        max_version_level: level,
        min_version_level: level,
    }
}

/// The answer to a version that is not served, to be written in the layout of version 0.
pub(crate) fn unsupported_version() -> ApiVersionsResponse {
    ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion as i16,
        api_keys: vec![advertised(&ApiVersions::SPEC)],
        ..ApiVersionsResponse::default()
    }
}

fn advertised(spec: &ApiSpec) -> ApiVersion {
    let (min_version, max_version) = spec.advertised();
    ApiVersion {
        api_key: ApiKey::key(spec.key),
        min_version,
        max_version,
    }
}

/// Letters, digits, `-` and `.`, beginning and ending with a letter or digit (KIP-511).
fn is_software_word(word: &str) -> bool {
    let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    is_edge(word.bytes().next())
        && is_edge(word.bytes().last())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::is_software_word;

    #[test]
    fn software_names_are_words() {
        for good in ["librdkafka", "apache-kafka-java", "2.16.0", "a", "4.3.1-SNAPSHOT"] {
            assert!(is_software_word(good), "{good}");
        }
        for bad in ["", "-a", "a-", ".", "a b", "a\nb", "ü", "v1_2"] {
            assert!(!is_software_word(bad), "{bad}");
        }
    }
}
