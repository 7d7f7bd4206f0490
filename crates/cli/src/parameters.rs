//! Parameters on the command line and in files.

use std::path::PathBuf;
use std::str::FromStr;

use cellist_session::parameters::Literal;
use serde_json::Value;

use crate::error::{CliError, FailureKind};
use crate::input::InputSource;

/// `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    name: String,
    value: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Assignment, String> {
        let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
        if name.trim().is_empty() {
            return Err("missing name before `=`".into());
        }
        Ok(Assignment { name: name.trim().to_owned(), value: value.to_owned() })
    }
}

/// Collects parameters from files and flags; flags take precedence.
pub(crate) fn collect(
    files: &[PathBuf],
    typed: &[Assignment],
    raw: &[Assignment],
) -> Result<Vec<(String, Literal)>, CliError> {
    let mut all: Vec<(String, Literal)> = Vec::new();
    let mut put = |name: String, value: Literal| match all.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value,
        None => all.push((name, value)),
    };
    for file in files {
        let content = InputSource::of_file(Some(file.clone()));
        let text = content.text("run")?;
        for (name, value) in read(&text).map_err(|error| {
            CliError::input(FailureKind::InvalidParameter, format!("{}: {error}", content.name()))
                .with_hint("a parameter file is a YAML or JSON mapping of names to values")
        })? {
            put(name, value);
        }
    }
    for Assignment { name, value } in typed {
        put(name.clone(), Literal::typed(value));
    }
    for Assignment { name, value } in raw {
        put(name.clone(), Literal::Text(value.clone()));
    }
    Ok(all)
}

/// Parses a YAML mapping; JSON is valid YAML.
fn read(text: &str) -> Result<Vec<(String, Literal)>, String> {
    let value: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Object(members) => {
            Ok(members.into_iter().map(|(name, value)| (name, Literal::from(value))).collect())
        }
        _ => Err("is not a mapping of names to values".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pairs: &[(String, Literal)]) -> Vec<String> {
        pairs.iter().map(|(name, value)| format!("{name}={value:?}")).collect()
    }

    #[test]
    fn a_file_holds_values_of_all_kinds() {
        let text =
            "a: 1\nb: 0.5\nc: text\nd: [1, two]\ne: {k: true}\nf: null\ng: '1'\nh: 99999999999999999\n";
        assert_eq!(
            texts(&read(text).unwrap()),
            [
                "a=Int(\"1\")",
                "b=Float(0.5)",
                "c=Text(\"text\")",
                "d=List([Int(\"1\"), Text(\"two\")])",
                "e=Map([(\"k\", Bool(true))])",
                "f=Null",
                "g=Text(\"1\")",
                "h=Int(\"99999999999999999\")",
            ]
        );
        assert_eq!(texts(&read(r#"{"x": [1.5]}"#).unwrap()), ["x=List([Float(1.5)])"]);
        assert!(read("- 1\n- 2\n").is_err() && read("a: [").is_err());
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn what_is_given_one_by_one_wins() {
        let assign = |text: &str| Assignment::from_str(text).unwrap();
        let all = collect(&[], &[assign("a=1"), assign("b=x=y"), assign("a=2")], &[assign("b=3")]).unwrap();
        assert_eq!(texts(&all), ["a=Int(\"2\")", "b=Text(\"3\")"]);
        assert!(Assignment::from_str("nothing").is_err() && Assignment::from_str("=1").is_err());
    }
}
