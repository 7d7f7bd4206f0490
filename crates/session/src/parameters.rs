//! Parameters of a run: values written into a separate cell after the cell with the defaults. Names and tags follow
//! papermill.

use cellist_notebook::{CellType, Notebook};
use serde_json::{Value, json};

/// Tag of the cell with the defaults.
const DEFAULTS: &str = "parameters";
/// Tag of the cell with the injected values.
const INJECTED: &str = "injected-parameters";

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// Null.
    Null,
    /// A Boolean.
    Bool(bool),
    /// An integer, as written.
    Int(String),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Literal>),
    /// A map.
    Map(Vec<(String, Literal)>),
}

impl Literal {
    /// Parses a value: `True`, `False`, `None`, a number, or else a string.
    pub fn typed(text: &str) -> Literal {
        match text {
            "True" => return Literal::Bool(true),
            "False" => return Literal::Bool(false),
            "None" => return Literal::Null,
            _ => {}
        }
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let is_whole =
            digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit()));
        if is_whole {
            let sign = if text.starts_with('-') { "-" } else { "" };
            let number = digits.replace('_', "");
            let number = number.trim_start_matches('0');
            return Literal::Int(format!("{sign}{}", if number.is_empty() { "0" } else { number }));
        }
        // Rust parses "infinity" and "nan" as numbers, like Python.
        text.parse().map_or_else(|_| Literal::Text(text.to_owned()), Literal::Float)
    }
}

impl From<Value> for Literal {
    fn from(value: Value) -> Literal {
        match value {
            Value::Null => Literal::Null,
            Value::Bool(yes) => Literal::Bool(yes),
            Value::Number(number) if number.is_f64() => Literal::Float(number.as_f64().unwrap_or_default()),
            Value::Number(number) => Literal::Int(number.to_string()),
            Value::String(text) => Literal::Text(text),
            Value::Array(items) => Literal::List(items.into_iter().map(Literal::from).collect()),
            Value::Object(members) => {
                Literal::Map(members.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

/// Why parameters cannot be injected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum ParameterError {
    #[error("parameters are not supported for notebooks in {language}")]
    Language { language: String },
    #[error("`{name}` cannot be the name of a parameter in {language}")]
    Name { name: String, language: String },
}

impl ParameterError {
    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            ParameterError::Language { .. } => {
                let known: Vec<&str> = LANGUAGES.iter().map(|dialect| dialect.name).collect();
                Some(format!("supported languages: {}", known.join(", ")))
            }
            ParameterError::Name { .. } => Some("a name has letters, digits and underscores".into()),
        }
    }
}

/// Notice for a notebook without a `parameters` cell.
pub(crate) const UNMARKED: &str = "no cell is tagged `parameters`, so the parameters come first";

/// Inserts the cell with the parameters, or replaces that of an earlier run. Returns a notice, if one is needed.
pub fn put_parameters(notebook: &mut Notebook, source: &str) -> Option<&'static str> {
    let defaults = tagged(notebook, DEFAULTS);
    match (parameters_at(notebook), defaults) {
        (Some(index), _) => notebook.set_source(index, source),
        (None, defaults) => {
            let index = defaults.map_or(0, |index| index + 1);
            notebook.insert(index, CellType::Code, source);
            notebook.set_cell_metadata(index, "tags", &json!([INJECTED]));
            return defaults.is_none().then_some(UNMARKED);
        }
    }
    None
}

/// Returns the index of the cell with injected parameters.
pub fn parameters_at(notebook: &Notebook) -> Option<usize> {
    tagged(notebook, INJECTED)
}

fn tagged(notebook: &Notebook, tag: &str) -> Option<usize> {
    notebook.cells().iter().position(|cell| cell.has_tag(tag))
}

/// The literal syntax of a language.
struct LiteralSyntax {
    name: &'static str,
    null: &'static str,
    yes_no: [&'static str; 2],
    not_finite: [&'static str; 3],
    list: [&'static str; 2],
    map: [&'static str; 3],
}

const PYTHON: LiteralSyntax = LiteralSyntax {
    name: "python",
    null: "None",
    yes_no: ["True", "False"],
    not_finite: ["float('nan')", "float('inf')", "float('-inf')"],
    list: ["[", "]"],
    map: ["{", ": ", "}"],
};

const JULIA: LiteralSyntax = LiteralSyntax {
    name: "julia",
    null: "nothing",
    yes_no: ["true", "false"],
    not_finite: ["NaN", "Inf", "-Inf"],
    map: ["Dict(", " => ", ")"],
    ..PYTHON
};

const R: LiteralSyntax = LiteralSyntax {
    name: "R",
    null: "NULL",
    yes_no: ["TRUE", "FALSE"],
    list: ["list(", ")"],
    map: ["list(", " = ", ")"],
    ..JULIA
};

const LANGUAGES: &[LiteralSyntax] = &[PYTHON, R, JULIA];

/// Returns the source of the cell that assigns the parameters.
pub fn assignments(parameters: &[(String, Literal)], language: &str) -> Result<String, ParameterError> {
    let dialect = (LANGUAGES.iter().find(|dialect| dialect.name.eq_ignore_ascii_case(language)))
        .ok_or_else(|| ParameterError::Language { language: language.to_owned() })?;
    let mut lines = vec!["# Parameters".to_owned()];
    for (name, value) in parameters {
        let mut letters = name.chars();
        let is_name = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || letter == '_');
        if !is_name {
            return Err(ParameterError::Name { name: name.clone(), language: dialect.name.to_owned() });
        }
        lines.push(format!("{name} = {}", dialect.spell(value)));
    }
    Ok(lines.join("\n") + "\n")
}

impl LiteralSyntax {
    fn spell(&self, value: &Literal) -> String {
        match value {
            Literal::Null => self.null.to_owned(),
            Literal::Bool(true) => self.yes_no[0].to_owned(),
            Literal::Bool(false) => self.yes_no[1].to_owned(),
            Literal::Int(digits) => digits.clone(),
            Literal::Float(number) if number.is_nan() => self.not_finite[0].to_owned(),
            Literal::Float(number) if number.is_infinite() => {
                self.not_finite[if *number > 0.0 { 1 } else { 2 }].to_owned()
            }
            Literal::Float(number) => format!("{number:?}"),
            Literal::Text(text) => self.quote(text),
            Literal::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.spell(item)).collect();
                format!("{}{}{}", self.list[0], items.join(", "), self.list[1])
            }
            Literal::Map(members) => {
                let [open, between, close] = self.map;
                let member = |(key, value): &(String, Literal)| {
                    format!("{}{between}{}", self.quote(key), self.spell(value))
                };
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{open}{}{close}", members.join(", "))
            }
        }
    }

    fn quote(&self, text: &str) -> String {
        let mut quoted = String::from("\"");
        for letter in text.chars() {
            match letter {
                '"' => quoted.push_str("\\\""),
                '\\' => quoted.push_str("\\\\"),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                '\t' => quoted.push_str("\\t"),
                '$' if self.name == "julia" => quoted.push_str("\\$"),
                control if control.is_control() => quoted.push_str(&format!("\\u{:04x}", control as u32)),
                plain => quoted.push(plain),
            }
        }
        quoted + "\""
    }
}

#[cfg(test)]
mod tests {
    use cellist_notebook::Ids;

    use super::*;

    #[test]
    fn values_are_parsed_by_their_form() {
        for (text, expected) in [
            ("1", "1"),
            ("-007", "-7"),
            ("1_000", "1000"),
            ("99999999999999999999", "99999999999999999999"),
            ("0.10", "0.1"),
            ("1e3", "1000.0"),
            ("inf", "float('inf')"),
            ("nan", "float('nan')"),
            ("True", "True"),
            ("None", "None"),
            ("true", "\"true\""),
            ("2024-01-01", "\"2024-01-01\""),
            ("a \"b\" \\ c\nd", "\"a \\\"b\\\" \\\\ c\\nd\""),
            ("", "\"\""),
            ("[1, 2]", "\"[1, 2]\""),
        ] {
            assert_eq!(LANGUAGES[0].spell(&Literal::typed(text)), expected, "{text}");
        }
    }

    #[test]
    fn each_language_has_its_own_literals() {
        let value = Literal::from(json!({ "a": [1, 2.5, null], "b": true }));
        let spelt: Vec<String> = LANGUAGES.iter().map(|dialect| dialect.spell(&value)).collect();
        assert_eq!(
            spelt,
            [
                r#"{"a": [1, 2.5, None], "b": True}"#,
                r#"list("a" = list(1, 2.5, NULL), "b" = TRUE)"#,
                r#"Dict("a" => [1, 2.5, nothing], "b" => true)"#,
            ]
        );
    }

    fn notebook(cells: &[&[&str]]) -> Notebook {
        let mut notebook = Notebook::empty(Ids::seeded(7));
        for (index, tags) in cells.iter().enumerate() {
            notebook.insert(index, CellType::Code, "x = 1\n");
            notebook.set_cell_metadata(index, "tags", &json!(tags));
        }
        notebook
    }

    fn sources(notebook: &Notebook) -> Vec<String> {
        notebook.cells().iter().map(|cell| cell.source().into_owned()).collect()
    }

    #[test]
    fn the_cell_goes_behind_the_defaults_and_is_replaced_by_the_next_run() {
        let mut notebook = notebook(&[&[], &["parameters"], &[]]);
        let given = |x: &str| vec![("x".to_owned(), Literal::typed(x))];
        let said = put_parameters(&mut notebook, &assignments(&given("5"), "python").unwrap());
        assert_eq!((said, parameters_at(&notebook)), (None, Some(2)));
        assert_eq!(sources(&notebook), ["x = 1\n", "x = 1\n", "# Parameters\nx = 5\n", "x = 1\n"]);
        assert!(notebook.cells()[2].has_tag("injected-parameters"));
        put_parameters(&mut notebook, &assignments(&given("6"), "Python").unwrap());
        assert_eq!(sources(&notebook)[2], "# Parameters\nx = 6\n");
        assert_eq!(notebook.cells().len(), 4);
    }

    #[test]
    fn without_defaults_the_cell_goes_first_with_a_notice() {
        let mut notebook = notebook(&[&[]]);
        let source = assignments(&[("x".into(), Literal::Null)], "R").unwrap();
        assert_eq!(put_parameters(&mut notebook, &source), Some(UNMARKED));
        assert_eq!(sources(&notebook)[0], "# Parameters\nx = NULL\n");
    }

    #[test]
    fn invalid_names_and_languages_are_refused() {
        let name = assignments(&[("a b".into(), Literal::Null)], "python").unwrap_err();
        assert_eq!(name.to_string(), "`a b` cannot be the name of a parameter in python");
        let language = assignments(&[], "cobol").unwrap_err();
        assert_eq!(language.to_string(), "parameters are not supported for notebooks in cobol");
    }
}
