//! `gracchus reference`: what this binary speaks, reads and takes, as Markdown, from the tables it works by.
//!
//! `cargo xtask docs` keeps the pages in `docs/generated`, and `verify` checks that they are current.

mod command_line;
mod configuration;
mod protocol;

/// Which page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Page {
    /// The APIs of the protocol and their versions.
    Protocol,
    /// The keys of server.properties, topics and groups.
    Configuration,
    /// Every command with its options.
    CommandLine,
}

/// The text of a page; `command` is the whole command line.
pub(crate) fn text(page: Page, command: clap::Command) -> String {
    match page {
        Page::Protocol => protocol::page(),
        Page::Configuration => configuration::page(),
        Page::CommandLine => command_line::page(command),
    }
}

/// The first lines of each page.
fn heading(title: &str) -> String {
    format!("# {title}\n\nWritten by `cargo xtask docs`; do not edit.\n\n")
}

/// A cell of a table: no line end, no bar.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
