//! The page of the protocol, from the broker's table of APIs.

use std::fmt::Write as _;

use broker::config::ListenerUse;
use broker::handlers::APIS;
use wire::api::ApiKey;

use super::heading;

/// The APIs served, with the versions that ApiVersions shows, and those that are not.
pub(super) fn page() -> String {
    let mut page = heading("Protocol");
    page.push_str(
        "What ApiVersions shows. The versions are those of Apache Kafka 4.3.1; a request at another version, or of an \
         API that is not served, closes the connection, as there.\n\n\
         | key | API | versions | on the listeners of |\n| ---: | --- | --- | --- |\n",
    );
    for api in APIS {
        let (least, most) = api.spec.advertised();
        let _ = writeln!(
            page,
            "| {} | {} | {least} to {most} | {} |",
            api.spec.key.key(),
            api.spec.key.name(),
            listeners(&api.spec)
        );
    }
    let is_served = |key: &&ApiKey| APIS.iter().any(|api| api.spec.key == **key);
    let rest: Vec<_> = ApiKey::ALL
        .iter()
        .filter(|key| !is_served(key))
        .map(|key| key.name())
        .collect();
    let _ = write!(
        page,
        "\nNot served yet, and not advertised: {}.\n",
        rest.join(", ")
    );
    page
}

fn listeners(spec: &broker::dispatch::ApiSpec) -> &'static str {
    match (
        spec.is_on(ListenerUse::Broker),
        spec.is_on(ListenerUse::Controller),
    ) {
        (true, true) => "brokers and controllers",
        (true, false) => "brokers",
        (false, _) => "controllers",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_api_of_kafka_is_on_the_page_once() {
        let page = super::page();
        for key in wire::api::ApiKey::ALL {
            let rows = page.matches(&format!(" {} |", key.name())).count();
            let listed = page.lines().last().is_some_and(|line| {
                line.trim_end_matches('.')
                    .split(": ")
                    .last()
                    .is_some_and(|names| names.split(", ").any(|name| name == key.name()))
            });
            assert_eq!(rows + usize::from(listed), 1, "{}", key.name());
        }
    }
}
