//! The page of the configuration, from the table of keys.

use std::fmt::Write as _;

use model::config::{
    ConfigKey, Synonyms, Update, Valid, broker_chapters, client_metrics_keys, group_keys, topic_keys,
};

use super::{cell, heading};

/// Every key that DescribeConfigs shows.
pub(super) fn page() -> String {
    let mut page = heading("Configuration");
    page.push_str(
        "Keys, types, defaults and ranges are those of Apache Kafka 4.3.1; a few keys are Gracchus's own and say so. \
         In `server.properties` a key stands as it is here; as an environment variable it is `KAFKA_` and the key in \
         capitals, with `_` for a dot, `__` for an underscore and `___` for a dash. A value that is wrong stops the \
         start, also where the key has no effect yet; an unknown key is reported and ignored.\n",
    );
    for chapter in broker_chapters() {
        chapter_of(&mut page, chapter.title, chapter.keys);
    }
    chapter_of(&mut page, "Topics", topic_keys());
    chapter_of(&mut page, "Groups", group_keys());
    chapter_of(
        &mut page,
        "Subscriptions to client metrics",
        client_metrics_keys(),
    );
    page
}

/// The keys that do something, each with its doc; then the others by name.
fn chapter_of(page: &mut String, title: &str, keys: &[ConfigKey]) {
    let shown = || keys.iter().filter(|key| !key.name.starts_with("internal."));
    let _ = write!(page, "\n## {title}\n");
    if shown().any(ConfigKey::is_honoured) {
        page.push_str(
            "\n| key | type | default | change | what it does |\n| --- | --- | --- | --- | --- |\n",
        );
    }
    for key in shown().filter(|key| key.is_honoured()) {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            key.name,
            key.kind.name(),
            cell(&default(key)),
            change(key),
            cell(&what_it_does(key))
        );
    }
    let later: Vec<_> = shown()
        .filter(|key| !key.is_honoured())
        .map(|key| format!("`{}`", key.name))
        .collect();
    if !later.is_empty() {
        let _ = write!(
            page,
            "\nKnown, checked and shown, without effect yet: {}.\n",
            later.join(", ")
        );
    }
}

fn default(key: &ConfigKey) -> String {
    match (key.synonyms, key.default) {
        (Synonyms::Same(name), _) => format!("`{name}`"),
        (Synonyms::Units(names), _) => {
            let names: Vec<_> = names.iter().map(|(name, _)| format!("`{name}`")).collect();
            names.join(", else ")
        }
        (Synonyms::None, None) => "none".to_owned(),
        (Synonyms::None, Some("")) => "empty".to_owned(),
        (Synonyms::None, Some(text)) => text.to_owned(),
    }
}

fn change(key: &ConfigKey) -> &'static str {
    match key.update {
        Update::ReadOnly => "restart",
        Update::PerBroker => "per broker",
        Update::ClusterWide => "cluster",
        Update::PerResource => "any time",
    }
}

fn what_it_does(key: &ConfigKey) -> String {
    match key.valid {
        Valid::Any => key.doc.to_owned(),
        _ => format!("{} Takes {}.", key.doc, key.expected()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_key_that_is_shown_is_on_the_page() {
        let page = super::page();
        for key in model::config::broker_keys().chain(model::config::topic_keys()) {
            let expected = usize::from(!key.name.starts_with("internal."));
            assert!(
                page.matches(&format!("`{}`", key.name)).count() >= expected,
                "{}",
                key.name
            );
        }
        assert!(!page.contains("internal."));
    }
}
