//! Which versions of which APIs a broker serves, and which of them both sides speak.

use std::collections::BTreeMap;

use wire::ApiKey;
use wire::messages::api_versions::ApiVersionsResponse;

/// The ranges a broker named, by API key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    served: BTreeMap<i16, (i16, i16)>,
}

impl From<&ApiVersionsResponse> for Versions {
    fn from(response: &ApiVersionsResponse) -> Versions {
        let ranges = response.api_keys.iter();
        Versions {
            served: ranges
                .map(|range| (range.api_key, (range.min_version, range.max_version)))
                .collect(),
        }
    }
}

impl Versions {
    /// The highest version of an API that the broker serves and this client speaks.
    pub fn common(&self, api: ApiKey) -> Option<i16> {
        let (their_lowest, their_highest) = *self.served.get(&(api as i16))?;
        let (our_lowest, our_highest) = api.versions();
        let version = their_highest.min(our_highest);
        (version >= their_lowest && version >= our_lowest).then_some(version)
    }

    /// The lowest and highest version of every API the broker named, by key.
    pub fn served(&self) -> impl Iterator<Item = (i16, i16, i16)> {
        self.served
            .iter()
            .map(|(key, (lowest, highest))| (*key, *lowest, *highest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving(api: ApiKey, range: (i16, i16)) -> Versions {
        Versions {
            served: BTreeMap::from([(api as i16, range)]),
        }
    }

    #[test]
    fn the_highest_version_both_speak_is_taken() {
        let (lowest, highest) = ApiKey::Fetch.versions();
        assert_eq!(
            serving(ApiKey::Fetch, (0, highest + 3)).common(ApiKey::Fetch),
            Some(highest)
        );
        assert_eq!(serving(ApiKey::Fetch, (0, 11)).common(ApiKey::Fetch), Some(11));
        assert_eq!(
            serving(ApiKey::Fetch, (0, lowest - 1)).common(ApiKey::Fetch),
            None
        );
        assert_eq!(
            serving(ApiKey::Fetch, (highest + 1, highest + 2)).common(ApiKey::Fetch),
            None
        );
        assert_eq!(serving(ApiKey::Fetch, (0, 11)).common(ApiKey::Produce), None);
    }
}
