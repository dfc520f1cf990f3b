//! Runs seeds: `gracchus-sim [--seeds N] [--from N] [--steps N] [--plant no-sync|reuse-early|no-checksums|window-of-four]`.
//!
//! Every hundredth seed is run twice and has to be the same both times. Ends with failure at the first violation, or,
//! with a planted fault, when no seed finds it.

use std::process::ExitCode;

use sim::{Options, Plant, Report, run};

struct Arguments {
    seeds: u64,
    from: u64,
    options: Options,
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)) {
        Ok(arguments) => campaign(&arguments),
        Err(problem) => {
            eprintln!("gracchus-sim: {problem}");
            ExitCode::from(2)
        }
    }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        seeds: 1_000,
        from: 0,
        options: Options::default(),
    };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{word} needs a number, not {value}"))
        };
        match word.as_str() {
            "--seeds" => arguments.seeds = number()?,
            "--from" => arguments.from = number()?,
            "--steps" => {
                arguments.options.steps = u32::try_from(number()?).map_err(|error| error.to_string())?
            }
            "--plant" => arguments.options.planted = Some(plant(&value)?),
            _ => return Err(format!("no option {word}")),
        }
    }
    Ok(arguments)
}

fn plant(name: &str) -> Result<Plant, String> {
    match name {
        "no-sync" => Ok(Plant::NoSync),
        "reuse-early" => Ok(Plant::ReuseEarly),
        "no-checksums" if cfg!(feature = "planted-bugs") => Ok(Plant::NoChecksums),
        "window-of-four" if cfg!(feature = "planted-bugs") => Ok(Plant::WindowOfFour),
        "no-checksums" | "window-of-four" => Err(format!("build with --features planted-bugs for {name}")),
        _ => Err(format!(
            "no fault {name}: there are no-sync, reuse-early, no-checksums, window-of-four"
        )),
    }
}

fn campaign(arguments: &Arguments) -> ExitCode {
    let Arguments { seeds, from, options } = *arguments;
    let mut sum = Report::default();
    for seed in from..from.saturating_add(seeds) {
        let outcome = run(seed, options);
        if seed % 100 == 0 && outcome != run(seed, options) {
            println!("seed {seed} differs from run to run");
            return ExitCode::FAILURE;
        }
        match outcome {
            Ok(report) => {
                sum.acknowledged += report.acknowledged;
                sum.power_cuts += report.power_cuts;
                sum.kills += report.kills;
                sum.stops += report.stops;
            }
            Err(violation) => {
                println!("seed {seed}: {violation}");
                println!(
                    "again: cargo xtask sim --from {seed} --seeds 1 --steps {}",
                    options.steps
                );
                let Some(plant) = options.planted else {
                    return ExitCode::FAILURE;
                };
                println!("the planted fault {plant:?} was found by seed {seed}");
                return ExitCode::SUCCESS;
            }
        }
    }
    println!(
        "{seeds} seeds from {from}: {} records acknowledged, {} power cuts, {} kills, {} stops",
        sum.acknowledged, sum.power_cuts, sum.kills, sum.stops
    );
    match options.planted {
        None => ExitCode::SUCCESS,
        Some(plant) => {
            println!("the planted fault {plant:?} was not found");
            ExitCode::FAILURE
        }
    }
}
