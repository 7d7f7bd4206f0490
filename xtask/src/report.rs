//! The results of a test run, counted from the output of the test programs and from the tally.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The tests, summed over all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Suite {
    announced: usize,
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Whether cargo itself was content.
    pub(crate) ended_well: bool,
}

impl Suite {
    /// Takes in one line of output.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("running ") {
            if let Some((count, "test" | "tests")) = rest.trim_end().split_once(' ') {
                self.announced += count.parse().unwrap_or(0);
            }
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            for field in rest.split([';', '.']) {
                let Some((count, what)) = field.trim().split_once(' ') else { continue };
                let Ok(count) = count.parse::<usize>() else { continue };
                match what {
                    "passed" => self.passed += count,
                    "failed" => self.failed += count,
                    "ignored" => self.skipped += count,
                    // Measured tests and those left out by a filter: the suite uses neither.
                    _ => {}
                }
            }
        }
    }

    /// Reads one line of the summary of Node's test runner.
    pub(crate) fn read_tap(&mut self, line: &str) {
        let Some((what, count)) = line.strip_prefix("# ").and_then(|rest| rest.trim_end().split_once(' '))
        else {
            return;
        };
        let Ok(count) = count.parse::<usize>() else { return };
        match what {
            "tests" => self.announced += count,
            "pass" => self.passed += count,
            "fail" | "cancelled" => self.failed += count,
            "skipped" | "todo" => self.skipped += count,
            _ => {}
        }
    }

    // Tests of a program that ended without a result, as after an abort.
    fn lost(&self) -> usize {
        self.announced.saturating_sub(self.passed + self.failed + self.skipped)
    }
}

/// The whole run.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) checks: Vec<(&'static str, bool)>,
    pub(crate) suite: Suite,
    /// The parts that at least one test has to run on.
    pub(crate) parts: Vec<&'static str>,
    /// The lines that tests left.
    pub(crate) tally: String,
}

impl Report {
    /// Everything that keeps the run from being a success, in words.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let Suite { failed, skipped, ended_well, .. } = self.suite;
        let mut complaints = Vec::new();
        for (name, passed) in &self.checks {
            if !passed {
                complaints.push(format!("the check of {name} failed"));
            }
        }
        for (count, what) in [
            (failed, "failed"),
            (self.suite.lost(), "ended without a result"),
            (skipped, "did not run, and nothing may be skipped"),
        ] {
            if count > 0 {
                complaints.push(format!("{count} {}: {what}", if count == 1 { "test" } else { "tests" }));
            }
        }
        for part in self.idle() {
            complaints.push(format!("no test ran on {part}"));
        }
        if !ended_well && failed + self.suite.lost() == 0 {
            complaints.push("cargo test failed: see above".to_owned());
        }
        complaints
    }

    /// How many things failed.
    pub(crate) fn failed(&self) -> usize {
        let Suite { failed, skipped, ended_well, .. } = self.suite;
        let failed_checks = self.checks.iter().filter(|(_, passed)| !passed).count();
        let counted = failed + self.suite.lost();
        // A test that does not compile is not announced, but it did fail.
        let unseen = usize::from(!ended_well && counted == 0);
        failed_checks + counted + skipped + self.idle().len() + unseen
    }

    fn passed(&self) -> usize {
        self.suite.passed + self.checks.iter().filter(|(_, passed)| *passed).count()
    }

    // A test may use a part many times and is counted once.
    fn used(&self) -> BTreeMap<&str, usize> {
        let mut used: BTreeMap<&str, usize> = self.parts.iter().map(|part| (*part, 0)).collect();
        for line in self.tally.lines().collect::<BTreeSet<_>>() {
            if let Some((part, _)) = line.split_once('\t') {
                *used.entry(part).or_default() += 1;
            }
        }
        used
    }

    fn idle(&self) -> Vec<&str> {
        self.used().into_iter().filter(|(_, tests)| *tests == 0).map(|(part, _)| part).collect()
    }
}

/// The last line of a run.
pub(crate) fn verdict(passed: usize, failed: usize) -> String {
    format!("{passed} passed, {failed} failed")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<24}{:>8}", "checks", self.checks.len())?;
        writeln!(f, "{:<24}{:>8}", "tests", self.suite.announced)?;
        for (part, tests) in self.used() {
            writeln!(f, "{:<24}{tests:>8}", format!("  on real {part}"))?;
        }
        writeln!(f, "\n{}", verdict(self.passed(), self.failed()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Report, Suite};

    const GOOD: &str = "
running 2 tests
test a ... ok
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
running 1 test
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
    const TALLY: &str = "nbformat\tone-1\ta\nnbformat\tone-1\ta\nnbformat\ttwo-2\ta\nzmq\tone-1\tb\n";

    fn report(output: &str, ended_well: bool, tally: &str) -> Report {
        let mut suite = Suite { ended_well, ..Suite::default() };
        output.lines().for_each(|line| suite.read(line));
        let checks = vec![("format", true), ("lints", true)];
        Report { checks, suite, parts: vec!["nbformat"], tally: tally.to_owned() }
    }

    #[track_caller]
    fn check(report: &Report, last_line: &str, complaints: &[&str]) {
        assert_eq!(report.to_string().lines().last(), Some(last_line));
        assert_eq!(report.complaints(), complaints);
    }

    #[test]
    fn a_good_run_counts_each_test_once_on_each_part() {
        let good = report(GOOD, true, TALLY);
        check(&good, "5 passed, 0 failed", &[]);
        let table: Vec<_> = good
            .to_string()
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect::<Vec<Vec<_>>>()
            .into_iter()
            .map(|words| words.join(" "))
            .collect();
        assert_eq!(table[..4], ["checks 2", "tests 3", "on real nbformat 2", "on real zmq 1"]);
    }

    #[test]
    fn tests_of_the_page_count_like_all_others() {
        let mut suite = Suite::default();
        let lines = [
            "ok 1 - a test",
            "# tests 5",
            "# suites 0",
            "# pass 3",
            "# fail 1",
            "# cancelled 0",
            "# skipped 1",
        ];
        lines.iter().for_each(|line| suite.read_tap(line));
        assert_eq!(suite, Suite { announced: 5, passed: 3, failed: 1, skipped: 1, ended_well: false });
    }

    #[test]
    fn failed_tests_are_counted_once() {
        let output = GOOD.replacen("ok. 2 passed; 0 failed", "FAILED. 1 passed; 1 failed", 1);
        check(&report(&output, false, TALLY), "4 passed, 1 failed", &["1 test: failed"]);
    }

    #[test]
    fn a_program_that_aborts_fails_all_of_its_tests() {
        let output = GOOD.replacen("test result: ok. 2 passed", "(signal: 6)", 1);
        check(&report(&output, false, TALLY), "3 passed, 2 failed", &["2 tests: ended without a result"]);
    }

    #[test]
    fn a_skipped_test_is_a_failure() {
        let output = GOOD.replacen("2 passed; 0 failed; 0 ignored", "1 passed; 0 failed; 1 ignored", 1);
        let complaint = "1 test: did not run, and nothing may be skipped";
        check(&report(&output, true, TALLY), "4 passed, 1 failed", &[complaint]);
    }

    #[test]
    fn a_part_that_no_test_used_is_a_failure() {
        check(&report(GOOD, true, ""), "5 passed, 1 failed", &["no test ran on nbformat"]);
    }

    #[test]
    fn a_build_that_fails_is_a_failure_though_no_test_was_announced() {
        check(&report(GOOD, false, TALLY), "5 passed, 1 failed", &["cargo test failed: see above"]);
    }

    #[test]
    fn a_failed_check_is_a_failure() {
        let mut bad = report(GOOD, true, TALLY);
        bad.checks[1].1 = false;
        check(&bad, "4 passed, 1 failed", &["the check of lints failed"]);
    }
}
