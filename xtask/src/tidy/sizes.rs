//! Files people can read and functions people can hold in mind.

use super::Complaint;
use super::source::{Function, Source};

/// Lines of code of a file, without tests.
const FILE_MAX: usize = 900;
/// Lines of code of a function's body.
const FUNCTION_MAX: usize = 70;

/// Files and functions past their size, and public functions that take a `bool`.
pub(super) fn check(sources: &[Source]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for source in sources {
        let lines = source.code_lines();
        if lines > FILE_MAX {
            complaints.push(Complaint {
                size: Some(lines),
                ..Complaint::new(
                    "file-size",
                    &source.path,
                    format!("{lines} lines of code, {FILE_MAX} at most"),
                )
            });
        }
        for function in source.functions() {
            complaints.extend(function_complaints(source, &function));
        }
    }
    complaints
}

fn function_complaints(source: &Source, function: &Function<'_>) -> Vec<Complaint> {
    let place = format!("{}::{}", source.path, function.name);
    let mut complaints = Vec::new();
    if function.lines > FUNCTION_MAX {
        complaints.push(Complaint {
            size: Some(function.lines),
            ..Complaint::new(
                "function-size",
                &place,
                format!("{} lines of code, {FUNCTION_MAX} at most", function.lines),
            )
        });
    }
    let parameters = function.signature.split("->").next().unwrap_or_default();
    if function.is_public && parameters.contains(": bool") {
        complaints.push(Complaint::new(
            "bool-parameter",
            &place,
            "a call with true or false does not say what it means: an enum of two does",
        ));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<&'static str> {
        check(&[Source::new("core/x/src/lib.rs", text)])
            .iter()
            .map(|complaint| complaint.rule)
            .collect()
    }

    #[test]
    fn a_long_function_and_a_long_file_are_reported() {
        let body = |lines: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines));
        assert!(rules(&body(70)).is_empty());
        assert_eq!(rules(&body(71)), ["function-size"]);
        assert_eq!(rules(&body(10).repeat(80)), ["file-size"]);
    }

    #[test]
    fn a_public_bool_parameter_is_reported() {
        assert_eq!(rules("pub fn f(\n    on: bool,\n) {\n}\n"), ["bool-parameter"]);
        assert!(
            rules("pub fn f() -> Result<(), E> {\n    let x: bool = g();\n}\nfn h(on: bool) {}\n").is_empty()
        );
    }
}
