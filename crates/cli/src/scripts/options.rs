//! The flags of scripts, as jopt-simple reads them: `--flag value` or `--flag=value`, repeated where that makes sense, no
//! abbreviations, in any order.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::str::FromStr;

/// Flags that every script has.
const COMMON: [Flag; 2] = [
    flag("help", "Show what this script takes."),
    flag("version", "Show the version of Kafka that is spoken."),
];

/// A script: its flags, and what it is for.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) about: &'static str,
    pub(crate) flags: &'static [Flag],
    /// The name before mistakes in the words of argparse4j; those of jopt-simple without one.
    pub(crate) program: Option<&'static str>,
}

/// A flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    name: &'static str,
    value: Value,
    help: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    None,
    Required(&'static str),
    Optional(&'static str),
    Several(&'static str),
}

/// A flag without a value.
pub(crate) const fn flag(name: &'static str, help: &'static str) -> Flag {
    Flag {
        name,
        value: Value::None,
        help,
    }
}

/// A flag with a value; `what` names the value.
pub(crate) const fn option(name: &'static str, what: &'static str, help: &'static str) -> Flag {
    Flag {
        name,
        value: Value::Required(what),
        help,
    }
}

/// A flag that may have a value.
pub(crate) const fn optional(name: &'static str, what: &'static str, help: &'static str) -> Flag {
    Flag {
        name,
        value: Value::Optional(what),
        help,
    }
}

/// A flag with one value or more behind it; given again, it takes the earlier ones back.
pub(crate) const fn several(name: &'static str, what: &'static str, help: &'static str) -> Flag {
    Flag {
        name,
        value: Value::Several(what),
        help,
    }
}

/// A script called the wrong way.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Misuse {
    message: String,
    shows_usage: bool,
}

impl Misuse {
    /// A mistake that the list of flags helps with.
    pub(crate) fn with_usage(message: impl Into<String>) -> Misuse {
        Misuse {
            message: message.into(),
            shows_usage: true,
        }
    }

    /// A mistake that says everything itself.
    pub(crate) fn plain(message: impl Into<String>) -> Misuse {
        Misuse {
            message: message.into(),
            shows_usage: false,
        }
    }
}

/// The flags that were given.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    values: BTreeMap<&'static str, Vec<Option<String>>>,
}

impl Script {
    /// Reads the arguments of a call. None at all is a call for help.
    pub(crate) fn parse(&self, arguments: &[String]) -> Result<Parsed, Misuse> {
        if arguments.is_empty() {
            return Err(Misuse::with_usage(self.about));
        }
        let mut parsed = Parsed::default();
        let mut rest = arguments.iter().peekable();
        while let Some(argument) = rest.next() {
            let Some(given) = argument.strip_prefix("--") else {
                return Err(Misuse::with_usage(format!(
                    "Found non-option argument: {argument}"
                )));
            };
            let (name, attached) = match given.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (given, None),
            };
            let Some(flag) = self.flags.iter().chain(&COMMON).find(|flag| flag.name == name) else {
                return Err(self.mistake(
                    &format!("{name} is not a recognized option"),
                    &format!("unrecognized arguments: '--{name}'"),
                ));
            };
            let value = match flag.value {
                Value::None => None,
                Value::Required(_) => match attached.or_else(|| rest.next().cloned()) {
                    Some(value) => Some(value),
                    None => {
                        return Err(self.mistake(
                            &format!("Option {name} requires an argument"),
                            &format!("argument --{name}: expected one argument"),
                        ));
                    }
                },
                Value::Several(_) => {
                    let mut values: Vec<Option<String>> = attached.into_iter().map(Some).collect();
                    while let Some(value) = rest.next_if(|next| !next.starts_with('-')) {
                        values.push(Some(value.clone()));
                    }
                    if values.is_empty() {
                        return Err(self.mistake(
                            &format!("Option {name} requires an argument"),
                            &format!("argument --{name}: expected at least one argument"),
                        ));
                    }
                    parsed.values.insert(flag.name, values);
                    continue;
                }
                Value::Optional(_) => {
                    attached.or_else(|| rest.next_if(|next| !next.starts_with('-')).cloned())
                }
            };
            parsed.values.entry(flag.name).or_default().push(value);
        }
        Ok(parsed)
    }

    /// A mistake in the words of the script's parser.
    fn mistake(&self, jopt_simple: &str, argparse4j: &str) -> Misuse {
        Misuse::with_usage(match self.program {
            Some(program) => format!("{program}: error: {argparse4j}"),
            None => jopt_simple.to_owned(),
        })
    }

    /// Reports a mistake.
    pub(crate) fn refuse(&self, misuse: &Misuse) -> ExitCode {
        eprintln!("{}", misuse.message);
        if misuse.shows_usage {
            eprint!("{}", self.usage());
        }
        ExitCode::FAILURE
    }

    /// The list of flags, in two columns.
    fn usage(&self) -> String {
        const LEFT: usize = 41;
        const RIGHT: usize = 60;
        let mut flags: Vec<&Flag> = self.flags.iter().chain(&COMMON).collect();
        flags.sort_by_key(|flag| flag.name);
        let mut usage = format!("{:LEFT$}Description\n{:LEFT$}-----------\n", "Option", "------");
        for flag in flags {
            let name = match flag.value {
                Value::None => format!("--{}", flag.name),
                Value::Required(what) | Value::Several(what) => format!("--{} <{what}>", flag.name),
                Value::Optional(what) => format!("--{} [{what}]", flag.name),
            };
            let mut lines = wrapped(flag.help, RIGHT).into_iter();
            let first = lines.next().unwrap_or_default();
            if name.len() < LEFT {
                let _ = writeln!(usage, "{name:LEFT$}{first}");
            } else {
                let _ = writeln!(usage, "{name}\n{:LEFT$}{first}", "");
            }
            for line in lines {
                let _ = writeln!(usage, "{:LEFT$}{line}", "");
            }
        }
        usage
    }
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        if let Some(line) = lines.last_mut()
            && (line.is_empty() || line.len() + 1 + word.len() <= width)
        {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        lines.push(word.to_owned());
    }
    lines
}

impl Parsed {
    /// Whether a flag was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value of a flag; the last one where it was given several times.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values
            .get(name)?
            .iter()
            .rev()
            .find_map(|value| value.as_deref())
    }

    /// All values of a flag, in order.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let given = self.values.get(name).map_or(&[][..], Vec::as_slice);
        given.iter().flatten().cloned().collect()
    }

    /// The value of a flag, as a number.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Misuse> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let number = text.parse().map(Some);
        number.map_err(|_| Misuse::with_usage(format!("Cannot parse argument '{text}' of option {name}")))
    }

    /// The value of a flag that must be there.
    pub(crate) fn require(&self, name: &str) -> Result<&str, Misuse> {
        self.get(name)
            .ok_or_else(|| Misuse::with_usage(format!("Missing required argument \"[{name}]\"")))
    }

    /// The one of these flags that was given; `Err` with how many there were otherwise.
    pub(crate) fn exactly_one<'a>(&self, names: &[&'a str]) -> Result<&'a str, usize> {
        let given: Vec<&&str> = names.iter().filter(|name| self.has(name)).collect();
        match given.as_slice() {
            [one] => Ok(one),
            several => Err(several.len()),
        }
    }

    /// Refuses a flag beside others that it makes no sense with.
    pub(crate) fn forbid_with(&self, name: &str, others: &[&str]) -> Result<(), Misuse> {
        let conflict = others.iter().find(|other| self.has(name) && self.has(other));
        conflict.map_or(Ok(()), |other| {
            Err(Misuse::with_usage(format!(
                "Option \"[{name}]\" can't be used with option \"[{other}]\""
            )))
        })
    }

    /// Refuses old names beside their new ones; the deprecation of those that were given, by `words`.
    pub(crate) fn renamed(&self, names: &[(&str, &str)], words: &str) -> Result<String, Misuse> {
        let mut warnings = String::new();
        for (old, new) in names.iter().filter(|(old, _)| self.has(old)) {
            if self.has(new) {
                let message = format!("Options --{old} and --{new} cannot be specified together.");
                return Err(Misuse::with_usage(message));
            }
            let _ = writeln!(
                warnings,
                "{words} --{old} is deprecated and will be removed in a future version. Use --{new} instead."
            );
        }
        Ok(warnings)
    }

    /// The settings in a file that `config` names, then those given by `properties` flags, which win.
    pub(crate) fn settings(
        &self,
        config: &[&str],
        properties: &[&str],
    ) -> anyhow::Result<Vec<(String, String)>> {
        let mut settings: BTreeMap<String, String> = BTreeMap::new();
        for file in config.iter().filter_map(|name| self.get(name)) {
            settings.extend(broker::config::read_properties(std::path::Path::new(file))?);
        }
        for text in properties.iter().flat_map(|name| self.all(name)) {
            let (key, value) = text.split_once('=').unwrap_or((&text, ""));
            settings.insert(key.trim().to_owned(), value.to_owned());
        }
        Ok(settings.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: Script = Script {
        about: "For a test.",
        flags: &[
            flag("list", "List."),
            option(
                "topic",
                "String: topic",
                "The topic, of which there is much to say, so that this line is broken.",
            ),
            optional("state", "String", "The state."),
        ],
        program: None,
    };

    fn parse(line: &str) -> Result<Parsed, Misuse> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        SCRIPT.parse(&arguments)
    }

    #[test]
    fn values_are_taken_in_both_forms_and_several_times() {
        let parsed = parse("--topic a --list --topic=b=c --state --list").unwrap();
        assert_eq!(parsed.all("topic"), ["a", "b=c"]);
        assert_eq!(parsed.get("topic"), Some("b=c"));
        assert!(parsed.has("state") && parsed.get("state").is_none());
        assert_eq!(parse("--state stable").unwrap().get("state"), Some("stable"));
    }

    #[test]
    fn mistakes_are_named_as_the_scripts_name_them() {
        let message = |line: &str| parse(line).unwrap_err().to_string();
        assert_eq!(message("--frob"), "frob is not a recognized option");
        assert_eq!(message("--topic"), "Option topic requires an argument");
        assert_eq!(message(""), "For a test.");
        assert!(message("frob").contains("frob"));
    }

    #[test]
    fn the_usage_is_two_columns_in_order() {
        let usage = SCRIPT.usage();
        let expected = "\
Option                                   Description
------                                   -----------
--help                                   Show what this script takes.
--list                                   List.
--state [String]                         The state.
--topic <String: topic>                  The topic, of which there is much to say, so that this line
                                         is broken.
--version                                Show the version of Kafka that is spoken.
";
        assert_eq!(usage, expected);
    }
}
