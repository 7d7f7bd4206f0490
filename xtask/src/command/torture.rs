//! Kills at random moments: the test of the suite, for longer.

use super::setup;
use crate::failure::Failure;
use crate::process::{cargo, show};

const TEST: &str = "attacks::kills::kills_at_random_moments_lose_nothing_and_leave_nothing";

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let TortureArgs { kills, seed } = TortureArgs::parse(arguments)?;
    setup::provide(testkit::NeededBy::Tests)?;
    let mut test = cargo();
    test.args(["test", "-p", "cellist", "--test", "it", TEST, "--", "--exact", "--nocapture"]);
    test.env("CELLIST_TORTURE_KILLS", kills.to_string());
    match seed {
        Some(seed) => test.env("CELLIST_TORTURE_SEED", seed.to_string()),
        None => test.env_remove("CELLIST_TORTURE_SEED"),
    };
    show(&mut test)
}

#[derive(Debug, PartialEq, Eq)]
struct TortureArgs {
    kills: u32,
    seed: Option<u64>,
}

impl TortureArgs {
    fn parse(arguments: &[String]) -> Result<TortureArgs, Failure> {
        let mut request = TortureArgs { kills: 1000, seed: None };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().ok_or_else(|| Failure::new(format!("{word} needs a number")))?;
                value
                    .parse::<u64>()
                    .map_err(|_| Failure::new(format!("{word} needs a number, not {value:?}")))
            };
            match word.as_str() {
                "--kills" => {
                    let kills = number()?;
                    request.kills = u32::try_from(kills)
                        .map_err(|_| Failure::new(format!("--kills is at most {}", u32::MAX)))?;
                }
                "--seed" => request.seed = Some(number()?),
                _ => return Err(Failure::new(format!("unexpected argument {word:?}"))),
            }
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::TortureArgs;

    #[test]
    fn kills_and_a_seed_may_be_given() {
        let parse = |words: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            TortureArgs::parse(&words).map_err(|failure| failure.to_string())
        };
        assert_eq!(parse(""), Ok(TortureArgs { kills: 1000, seed: None }));
        assert_eq!(parse("--seed 7 --kills 20"), Ok(TortureArgs { kills: 20, seed: Some(7) }));
        assert!(parse("--kills").unwrap_err().contains("--kills needs a number"));
        assert!(parse("--kills many").unwrap_err().contains("not \"many\""));
        assert!(parse("fast").unwrap_err().contains("unexpected argument"));
    }
}
