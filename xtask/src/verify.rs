//! `verify` and `fix`: the same list, once looking and once repairing.

use crate::run::{cargo, has_subcommand, is_installed, root, run, step};
use crate::{campaign, docs, tidy};
use anyhow::{Result, bail};

/// Whether the tree is fit to land.
pub(crate) fn verify() -> Result<()> {
    step("tidy", || tidy::tidy(&root()))?;
    step("fmt", || {
        run(&mut cargo("fmt --all --check"))?;
        run(cargo("fmt --all --check").current_dir(root().join("bench")))
    })?;
    step("clippy", || {
        run(&mut cargo(
            "clippy --workspace --all-targets --locked -- -D warnings",
        ))
    })?;
    step("tests", tests)?;
    step("bench/ceiling", ceiling)?;
    step("planted faults", || {
        run(&mut cargo(
            "test --quiet --locked --package gracchus-sim --features planted-bugs is_found",
        ))
    })?;
    step("doc", || {
        run(
            cargo("doc --workspace --no-deps --document-private-items --locked")
                .env("RUSTDOCFLAGS", "-D warnings"),
        )
    })?;
    step("deny", deny)?;
    step("generated docs", docs::check)?;
    step("counts", counts)
}

/// What requests cost, where valgrind is there to count.
fn counts() -> Result<()> {
    if is_installed("valgrind") {
        return campaign::counts(&[]);
    }
    uncounted(std::env::var_os("CI").is_some_and(|value| !value.is_empty()))
}

/// A developer may go without valgrind; CI may not, or nobody would count.
fn uncounted(is_ci: bool) -> Result<()> {
    if is_ci {
        bail!("valgrind is not installed, and with CI set the counts may not be skipped");
    }
    eprintln!("skipped: valgrind is not installed");
    Ok(())
}

/// nextest runs tests side by side and names the slow ones; without it cargo's own runner does.
fn tests() -> Result<()> {
    if has_subcommand("nextest") {
        run(&mut cargo("nextest run --workspace --locked"))?;
        return run(&mut cargo("test --workspace --doc --locked"));
    }
    run(&mut cargo("test --workspace --locked"))
}

/// The part of `bench/` that does without librdkafka, whose build takes longer than all the rest.
fn ceiling() -> Result<()> {
    for check in [
        "clippy --package bench-ceiling --all-targets --locked -- -D warnings",
        "test --quiet --package bench-ceiling --locked",
    ] {
        run(cargo(check).current_dir(root().join("bench")))?;
    }
    Ok(())
}

/// Bans, licences and sources; the database of advisories is left to those who can fetch it.
fn deny() -> Result<()> {
    if has_subcommand("deny") {
        // It looks at what other platforms need too, which a build has not fetched.
        run(&mut cargo("fetch --locked --quiet"))?;
        return run(&mut cargo("deny --offline check bans licenses sources"));
    }
    eprintln!("skipped: cargo-deny is not installed (cargo install cargo-deny --locked)");
    Ok(())
}

/// Repairs what a machine can repair.
pub(crate) fn fix() -> Result<()> {
    step("clippy --fix", || {
        run(&mut cargo(
            "clippy --workspace --all-targets --fix --allow-dirty --allow-staged",
        ))
    })?;
    step("fmt", || {
        run(&mut cargo("fmt --all"))?;
        run(cargo("fmt --all").current_dir(root().join("bench")))
    })?;
    step("generated docs", docs::write)?;
    step("tidy", || tidy::tidy(&root()))
}

#[cfg(test)]
mod tests {
    use super::uncounted;

    #[test]
    fn only_a_developer_may_skip_the_counts() {
        assert!(uncounted(false).is_ok());
        let refusal = uncounted(true).unwrap_err().to_string();
        assert!(refusal.contains("valgrind is not installed"), "{refusal}");
    }
}
