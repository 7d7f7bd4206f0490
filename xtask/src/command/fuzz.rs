//! Fuzz targets, by cargo-fuzz. Their bodies also run in the tests; this looks for longer.

use std::fs;
use std::process::Command;

use crate::failure::Failure;
use crate::process::{capture, program, show};

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let FuzzArgs { target, seconds } = FuzzArgs::parse(arguments)?;
    let targets = targets()?;
    let chosen: Vec<String> = match target {
        None => targets,
        Some(name) if targets.contains(&name) => vec![name],
        Some(name) => {
            return Err(Failure::new(format!("there is no fuzz target {name:?}"))
                .hint(format!("there are {}", targets.join(", "))));
        }
    };
    capture(cargo_fuzz()?.arg("--version"))
        .map_err(|_| Failure::new("cargo-fuzz is missing").hint("cargo install cargo-fuzz"))?;
    for name in chosen {
        eprintln!("fuzzing {name} for {seconds} seconds");
        let corpus = testkit::repo_root().join("fuzz/corpus").join(&name);
        fs::create_dir_all(&corpus)
            .map_err(|error| Failure::new(format!("{} cannot be made: {error}", corpus.display())))?;
        // Findings go to the first folder; the notebooks of the corpus are only read, as seeds.
        let seeds = testkit::repo_root().join("fixtures");
        show(
            cargo_fuzz()?
                .args(["run", &name])
                .args([corpus, seeds])
                .args(["--".to_owned(), format!("-max_total_time={seconds}")]),
        )?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct FuzzArgs {
    target: Option<String>,
    seconds: u32,
}

impl FuzzArgs {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut request = Self { target: None, seconds: 60 };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--seconds" {
                let count = words.next().ok_or_else(|| Failure::new("--seconds needs a number"))?;
                request.seconds = count
                    .parse()
                    .map_err(|_| Failure::new(format!("--seconds needs a number, not {count:?}")))?;
            } else if request.target.is_none() && !word.starts_with('-') {
                request.target = Some(word.clone());
            } else {
                return Err(Failure::new(format!("unexpected argument {word:?}")));
            }
        }
        Ok(request)
    }
}

// Sanitizers need a nightly compiler, or a stable one that is told to take its flags.
fn cargo_fuzz() -> Result<Command, Failure> {
    let mut command = program("cargo");
    command.arg("fuzz");
    if !capture(program("rustc").arg("--version"))?.contains("nightly") {
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    Ok(command)
}

fn targets() -> Result<Vec<String>, Failure> {
    let folder = testkit::repo_root().join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&folder)
        .map_err(|error| Failure::new(format!("{} cannot be read: {error}", folder.display())))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::FuzzArgs;

    fn parse(words: &[&str]) -> Result<FuzzArgs, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        FuzzArgs::parse(&words).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_target_and_a_time_may_be_named() {
        assert_eq!(parse(&[]), Ok(FuzzArgs { target: None, seconds: 60 }));
        let named = FuzzArgs { target: Some("load".to_owned()), seconds: 5 };
        assert_eq!(parse(&["load", "--seconds", "5"]).as_ref(), Ok(&named));
        assert_eq!(parse(&["--seconds", "5", "load"]), Ok(named));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert_eq!(parse(&["--seconds"]), Err("error: --seconds needs a number\n".to_owned()));
        assert_eq!(
            parse(&["--seconds", "x"]),
            Err("error: --seconds needs a number, not \"x\"\n".to_owned())
        );
        assert_eq!(parse(&["a", "b"]), Err("error: unexpected argument \"b\"\n".to_owned()));
    }
}
