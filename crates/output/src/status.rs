//! Status events: actions of a helper in the kernel, reported to the front end as data. They add no text.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::mime::{MimeBundle, MimeData};

/// The MIME types a status event may travel under; the first is our own.
const STATUS_TYPES: [&str; 3] =
    ["application/x-cellist-status", "application/x-omp-status", "application/x-pisces-status"];

/// Something done, by the name of the operation, with its own fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatusEvent {
    /// The operation, such as `read`.
    pub op: String,
    /// Its fields, in order, without `op`.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl StatusEvent {
    /// The MIME type to send status events under.
    pub const MIME: &'static str = STATUS_TYPES[0];

    /// The status event in a bundle; one without a text `op` is none.
    pub fn find(bundle: &MimeBundle) -> Option<Self> {
        STATUS_TYPES.iter().find_map(|mime| Self::read(bundle.get(mime)?))
    }

    /// Whether representations of this type are status events.
    pub fn is_status(mime: &str) -> bool {
        STATUS_TYPES.contains(&mime)
    }

    fn read(data: &MimeData) -> Option<Self> {
        let mut fields: Map<String, Value> = match data {
            MimeData::Json(json) => json.parse().ok()?,
            // Some senders encode the object once more.
            MimeData::Text(text) => serde_json::from_str(text).ok()?,
        };
        match fields.shift_remove("op")? {
            Value::String(op) => Some(Self { op, fields }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RawJson;

    #[test]
    fn each_known_type_is_read_with_its_fields_in_order() {
        for mime in STATUS_TYPES {
            let json = RawJson::new(r#"{"path":"a.txt","op":"read","bytes":12}"#).unwrap();
            let event = StatusEvent::find(&MimeBundle::new().with(mime, json)).unwrap();
            assert_eq!(event.op, "read");
            assert_eq!(serde_json::to_string(&event).unwrap(), r#"{"op":"read","path":"a.txt","bytes":12}"#);
        }
    }

    #[test]
    fn an_object_without_an_operation_is_no_event() {
        for json in [r#"{"path":"a"}"#, r#"{"op":1}"#, "[]"] {
            let bundle = MimeBundle::new().with(StatusEvent::MIME, RawJson::new(json).unwrap());
            assert_eq!(StatusEvent::find(&bundle), None, "{json}");
        }
    }
}
