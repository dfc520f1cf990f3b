//! The page of the command line, from the parser's own description.

use std::fmt::Write as _;

use clap::Command;

use super::heading;

/// The width of the page, whatever the terminal.
const WIDTH: usize = 100;

/// The help of every command.
pub(super) fn page(command: Command) -> String {
    let mut command = command.term_width(WIDTH);
    command.build();
    let mut page = heading("Command line");
    help_of(&mut page, &command);
    page
}

fn help_of(page: &mut String, command: &Command) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let help = command
        .clone()
        .color(clap::ColorChoice::Never)
        .render_long_help()
        .to_string();
    let _ = write!(page, "## {name}\n\n```\n");
    for line in help.trim_end().lines() {
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page.push_str("```\n\n");
    for child in command
        .get_subcommands()
        .filter(|child| child.get_name() != "help" && !child.is_hide_set())
    {
        help_of(page, child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_help() {
        let inner = Command::new("create")
            .about("Makes it")
            .arg(clap::Arg::new("name").required(true));
        let page = page(Command::new("tool").subcommand(Command::new("topic").subcommand(inner)));
        assert!(page.contains("## tool topic create\n\n```\nMakes it"), "{page}");
        assert!(!page.contains("## tool help"), "{page}");
    }
}
