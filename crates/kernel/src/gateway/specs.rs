//! Which of a gateway's kernels is meant.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::address::Gateway;
use crate::error::Error;

/// The kernelspecs of a gateway.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Specs {
    #[serde(default)]
    default: String,
    #[serde(default)]
    kernelspecs: BTreeMap<String, ListedSpecs>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct ListedSpecs {
    #[serde(default)]
    spec: Spec,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Spec {
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    language: String,
}

impl Specs {
    /// Each kernel's name, its name for people, and its language.
    pub fn list(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.kernelspecs.iter().map(|(name, listed)| {
            (name.as_str(), listed.spec.display_name.as_str(), listed.spec.language.as_str())
        })
    }

    /// The kernel of that name, or without a name, the one that its language or the gateway suggests.
    pub(super) fn choose(&self, gateway: &Gateway, wanted: &Wanted) -> Result<String, Error> {
        let named = |name: &str| self.kernelspecs.keys().find(|known| known.eq_ignore_ascii_case(name));
        let of_language = |language: &str| {
            let suits = |name: &&String| is_same(&self.kernelspecs[*name].spec.language, language);
            let default = self.kernelspecs.keys().find(|name| **name == self.default).filter(suits);
            default.or_else(|| self.kernelspecs.keys().find(suits))
        };
        let language = || of_language(wanted.language.as_deref().unwrap_or("python"));
        let found = match (&wanted.kernel, wanted.is_named) {
            (Some(name), true) => named(name),
            (Some(name), false) => named(name).or_else(language),
            (None, _) => language(),
        };
        found.cloned().ok_or_else(|| {
            let what = match (&wanted.kernel, &wanted.language) {
                (Some(kernel), _) => format!("kernel named `{kernel}`"),
                (None, Some(language)) => format!("kernel for {language}"),
                (None, None) => "kernel for Python".to_owned(),
            };
            let known: Vec<&str> = self.kernelspecs.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Error::Gateway {
                message: format!("the gateway {} has no {what}; it has: {known}", gateway.url()),
                hint: Some("name one of them with --kernel NAME, or have it installed over there".into()),
            }
        })
    }
}

/// The requested kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, Deserialize)]
pub struct Wanted {
    /// Its name.
    pub kernel: Option<String>,
    /// Whether only that name will do.
    pub is_named: bool,
    /// Its language.
    pub language: Option<String>,
}

fn is_same(one: &str, other: &str) -> bool {
    let plain = |language: &str| match language.to_ascii_lowercase().as_str() {
        "python3" | "ipython" | "ipython3" => "python".to_owned(),
        other => other.to_owned(),
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kernel_is_found_by_name_and_else_by_language() {
        let spec = |language: &str| json!({"spec": {"language": language, "display_name": "D"}});
        let specs: Specs = serde_json::from_value(json!({
            "default": "spark",
            "kernelspecs": {"ir": spec("R"), "python3": spec("python"), "spark": spec("python")},
        }))
        .unwrap();
        let gateway = Gateway::new("http://gw", None).unwrap();
        let choose = |kernel: Option<&str>, is_named, language: Option<&str>| {
            let wanted =
                Wanted { kernel: kernel.map(Into::into), is_named, language: language.map(Into::into) };
            specs.choose(&gateway, &wanted).map_err(|error| error.to_string())
        };
        assert_eq!(choose(None, false, None).unwrap(), "spark");
        assert_eq!(choose(Some("python3"), false, Some("python")).unwrap(), "python3");
        assert_eq!(choose(Some("venv-x"), false, Some("python")).unwrap(), "spark");
        assert_eq!(choose(Some("IR"), true, None).unwrap(), "ir");
        assert_eq!(choose(None, false, Some("r")).unwrap(), "ir");
        let said = choose(Some("venv-x"), true, Some("python")).unwrap_err();
        assert_eq!(said, "the gateway http://gw has no kernel named `venv-x`; it has: ir, python3, spark");
        assert!(choose(None, false, Some("julia")).unwrap_err().contains("no kernel for julia"));
    }
}
