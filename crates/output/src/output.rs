//! One output of a kernel. Its JSON is that of a notebook file; display ids live only while a kernel runs
//! and are not part of it.

use std::fmt;

use bytestring::ByteString;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::joined::Joined;
use crate::mime::{MimeBundle, RawJson};

/// Which of a program's two text streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamName {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StreamName::Stdout => "stdout",
            StreamName::Stderr => "stderr",
        })
    }
}

/// One output of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Text written to a stream, as written: neither cleaned nor folded.
    Stream {
        /// The stream it was written to.
        name: StreamName,
        /// The text.
        text: String,
    },
    /// Something displayed.
    Display {
        /// Its representations.
        data: MimeBundle,
        /// A JSON object.
        metadata: RawJson,
        /// The name by which a later update finds it.
        display_id: Option<String>,
    },
    /// The value of a cell's last expression.
    Result {
        /// The number the kernel gave the execution.
        execution_count: Option<u64>,
        /// Its representations.
        data: MimeBundle,
        /// A JSON object.
        metadata: RawJson,
        /// The name by which a later update finds it.
        display_id: Option<String>,
    },
    /// An exception.
    Error {
        /// The exception's type, such as `ValueError`.
        name: String,
        /// The exception's message.
        message: String,
        /// The traceback's lines, with colours where the kernel made some.
        traceback: Vec<String>,
    },
}

impl Output {
    /// Text on a stream.
    pub fn stream(name: StreamName, text: impl Into<String>) -> Self {
        Output::Stream { name, text: text.into() }
    }

    /// A display without metadata or id.
    pub fn display(data: MimeBundle) -> Self {
        Output::Display { data, metadata: RawJson::empty_object(), display_id: None }
    }

    /// A result without metadata or id.
    pub fn result(execution_count: u64, data: MimeBundle) -> Self {
        Output::Result {
            execution_count: Some(execution_count),
            data,
            metadata: RawJson::empty_object(),
            display_id: None,
        }
    }

    /// Reads an output from JSON that stands in a text. Large representations without escapes stay there.
    pub fn read_within(json: &str, text: &ByteString) -> serde_json::Result<Self> {
        let fields: Fields<&RawValue> = serde_json::from_str(json)?;
        let data = fields.data.map(|data| MimeBundle::read_within(data, text)).transpose()?;
        fields.output(data.unwrap_or_default())
    }

    /// The representations of a display or result.
    pub fn data(&self) -> Option<&MimeBundle> {
        match self {
            Output::Display { data, .. } | Output::Result { data, .. } => Some(data),
            Output::Stream { .. } | Output::Error { .. } => None,
        }
    }

    /// The name by which a later update finds this display or result.
    pub fn display_id(&self) -> Option<&str> {
        match self {
            Output::Display { display_id, .. } | Output::Result { display_id, .. } => display_id.as_deref(),
            Output::Stream { .. } | Output::Error { .. } => None,
        }
    }

    /// Replaces the data and metadata of a display or result with this id, and says whether it is one.
    pub fn update_display(&mut self, id: &str, new: &MimeBundle, new_metadata: &RawJson) -> bool {
        let is_meant = self.display_id() == Some(id);
        if let Output::Display { data, metadata, .. } | Output::Result { data, metadata, .. } = self
            && is_meant
        {
            data.clone_from(new);
            metadata.clone_from(new_metadata);
        }
        is_meant
    }

    /// Gives the display of a widget another text.
    pub fn set_widget_text(&mut self, model: &str, text: &str) {
        if let Output::Display { data, .. } | Output::Result { data, .. } = self
            && data.widget_model().as_deref() == Some(model)
        {
            data.insert("text/plain", text);
        }
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Keys in the order in which Jupyter writes them: sorted.
        let mut map = serializer.serialize_map(None)?;
        match self {
            Output::Stream { name, text } => {
                map.serialize_entry("name", name)?;
                map.serialize_entry("output_type", "stream")?;
                map.serialize_entry("text", text)?;
            }
            Output::Display { data, metadata, display_id: _ } => {
                map.serialize_entry("data", data)?;
                map.serialize_entry("metadata", metadata)?;
                map.serialize_entry("output_type", "display_data")?;
            }
            Output::Result { execution_count, data, metadata, display_id: _ } => {
                map.serialize_entry("data", data)?;
                map.serialize_entry("execution_count", execution_count)?;
                map.serialize_entry("metadata", metadata)?;
                map.serialize_entry("output_type", "execute_result")?;
            }
            Output::Error { name, message, traceback } => {
                map.serialize_entry("ename", name)?;
                map.serialize_entry("evalue", message)?;
                map.serialize_entry("output_type", "error")?;
                map.serialize_entry("traceback", traceback)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not a tagged enum: serde would buffer the fields, and a buffered number loses its spelling.
        let mut fields = Fields::<MimeBundle>::deserialize(deserializer)?;
        let data = fields.data.take().unwrap_or_default();
        fields.output(data)
    }
}

#[derive(Deserialize)]
struct Fields<Data> {
    output_type: String,
    name: Option<StreamName>,
    text: Option<Joined>,
    data: Option<Data>,
    #[serde(default)]
    metadata: RawJson,
    execution_count: Option<u64>,
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
    #[serde(default)]
    traceback: Vec<String>,
}

impl<Data> Fields<Data> {
    fn output<E: serde::de::Error>(self, data: MimeBundle) -> Result<Output, E> {
        match self.output_type.as_str() {
            "stream" => Ok(Output::Stream {
                name: self.name.ok_or_else(|| E::missing_field("name"))?,
                text: self.text.ok_or_else(|| E::missing_field("text"))?.0,
            }),
            "display_data" => Ok(Output::Display { data, metadata: self.metadata, display_id: None }),
            "execute_result" => Ok(Output::Result {
                execution_count: self.execution_count,
                data,
                metadata: self.metadata,
                display_id: None,
            }),
            "error" => {
                Ok(Output::Error { name: self.ename, message: self.evalue, traceback: self.traceback })
            }
            unknown => {
                Err(E::unknown_variant(unknown, &["stream", "display_data", "execute_result", "error"]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: Output, json: &str) {
        assert_eq!(serde_json::to_string(&output).unwrap(), json);
        assert_eq!(serde_json::from_str::<Output>(json).unwrap(), output);
    }

    #[test]
    fn each_kind_has_the_json_of_a_notebook_file() {
        check(
            Output::stream(StreamName::Stderr, "oh\n"),
            r#"{"name":"stderr","output_type":"stream","text":"oh\n"}"#,
        );
        check(
            Output::display(MimeBundle::text("text/plain", "1")),
            r#"{"data":{"text/plain":"1"},"metadata":{},"output_type":"display_data"}"#,
        );
        check(
            Output::result(3, MimeBundle::text("text/plain", "1")),
            r#"{"data":{"text/plain":"1"},"execution_count":3,"metadata":{},"output_type":"execute_result"}"#,
        );
        check(
            Output::Error {
                name: "ValueError".into(),
                message: "no".into(),
                traceback: vec!["a".into(), "b".into()],
            },
            r#"{"ename":"ValueError","evalue":"no","output_type":"error","traceback":["a","b"]}"#,
        );
    }

    #[test]
    fn a_stream_kept_as_lines_is_read_as_one_text() {
        let json = r#"{"output_type":"stream","name":"stdout","text":["a\n","b"]}"#;
        assert_eq!(serde_json::from_str::<Output>(json).unwrap(), Output::stream(StreamName::Stdout, "a\nb"));
    }

    #[test]
    fn an_unknown_kind_is_refused_by_name() {
        let error = serde_json::from_str::<Output>(r#"{"output_type":"smoke"}"#).unwrap_err();
        assert!(error.to_string().contains("smoke"), "{error}");
    }

    #[test]
    fn metadata_keeps_the_spelling_of_its_numbers() {
        check(
            Output::Display {
                data: MimeBundle::text("image/png", "AA=="),
                metadata: RawJson::new(r#"{"image/png":{"width":1e2}}"#).unwrap(),
                display_id: None,
            },
            r#"{"data":{"image/png":"AA=="},"metadata":{"image/png":{"width":1e2}},"output_type":"display_data"}"#,
        );
    }
}
