//! A MIME bundle: one thing in several representations, in the order in which the kernel gave them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use bytestring::ByteString;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::escape::unescape;
use crate::joined::Joined;

/// JSON text kept as it was written, so that numbers keep their spelling. Clones share it.
#[derive(Clone)]
pub struct RawJson(Arc<Box<RawValue>>);

impl RawJson {
    /// Takes JSON text; an error says where it is not JSON.
    pub fn new(text: impl Into<String>) -> serde_json::Result<Self> {
        RawValue::from_string(text.into()).map(Self::from)
    }

    /// The JSON of a value; `null` where a value has none.
    pub fn from_value(value: &serde_json::Value) -> Self {
        serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()).into()
    }

    /// The object without keys.
    pub fn empty_object() -> Self {
        Self::from_value(&serde_json::Value::Object(serde_json::Map::new()))
    }

    /// The text, as written.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads it as `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }
}

impl Default for RawJson {
    fn default() -> Self {
        Self::empty_object()
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        Self(Arc::new(raw))
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

/// A text of this size stays in the message that it came in; a smaller one would keep a message that is much larger.
const SHARED: usize = 64 * 1024;

/// One representation: text, or JSON as it was written. Clones share it, since it may be large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MimeData {
    /// Text, base64 text included.
    Text(ByteString),
    /// Anything that is not a text.
    Json(RawJson),
}

impl MimeData {
    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            MimeData::Text(text) => Some(&**text),
            MimeData::Json(_) => None,
        }
    }

    /// Reads one value of a bundle. A notebook file may keep a text as a list of its lines; JSON types are
    /// never joined.
    fn read(mime: &str, raw: &RawValue, within: Option<&ByteString>) -> Self {
        if !is_json(mime) {
            let inside = raw.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            if let Some(text) = inside.and_then(|inside| text_of(inside, within)) {
                return MimeData::Text(text);
            }
            if raw.get().starts_with('[')
                && let Ok(Joined(text)) = serde_json::from_str(raw.get())
            {
                return MimeData::Text(text.into());
            }
        }
        MimeData::Json(raw.to_owned().into())
    }
}

impl From<&str> for MimeData {
    fn from(text: &str) -> Self {
        MimeData::Text(text.into())
    }
}

impl From<String> for MimeData {
    fn from(text: String) -> Self {
        MimeData::Text(text.into())
    }
}

impl From<RawJson> for MimeData {
    fn from(json: RawJson) -> Self {
        MimeData::Json(json)
    }
}

impl Serialize for MimeData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            MimeData::Text(text) => serializer.serialize_str(text),
            MimeData::Json(json) => json.serialize(serializer),
        }
    }
}

/// Representations by MIME type, in order, each type once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MimeBundle(Vec<(String, MimeData)>);

impl MimeBundle {
    /// A bundle without representations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a bundle from JSON text. Costs one copy of each representation, where reading by way of
    /// [`Deserialize`] costs two.
    pub fn read(json: &RawValue) -> serde_json::Result<Self> {
        let mut text = serde_json::Deserializer::from_str(json.get());
        text.deserialize_map(BundleVisitor::<&RawValue> { within: None, raw: PhantomData })
    }

    /// Reads a bundle that stands in a message. Large texts without escapes, such as pictures, stay there.
    pub fn read_within(json: &RawValue, message: &ByteString) -> serde_json::Result<Self> {
        let mut text = serde_json::Deserializer::from_str(json.get());
        text.deserialize_map(BundleVisitor::<&RawValue> { within: Some(message), raw: PhantomData })
    }

    /// A bundle of one text.
    pub fn text(mime: &str, text: impl Into<String>) -> Self {
        Self::new().with(mime, text.into())
    }

    /// The bundle with one representation more.
    pub fn with(mut self, mime: &str, data: impl Into<MimeData>) -> Self {
        self.insert(mime, data);
        self
    }

    /// Adds a representation, or replaces the one of that type where it stands.
    pub fn insert(&mut self, mime: &str, data: impl Into<MimeData>) {
        let data = data.into();
        match self.0.iter_mut().find(|(known, _)| known == mime) {
            Some((_, known)) => *known = data,
            None => self.0.push((mime.to_owned(), data)),
        }
    }

    /// Keeps the representations of some types.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(mime, _)| keep(mime));
    }

    /// The representation of that type.
    pub fn get(&self, mime: &str) -> Option<&MimeData> {
        self.0.iter().find(|(known, _)| known == mime).map(|(_, data)| data)
    }

    /// The text of that type, where the representation is a text.
    pub fn get_text(&self, mime: &str) -> Option<&str> {
        self.get(mime).and_then(MimeData::as_text)
    }

    /// The model of the widget that it displays.
    pub fn widget_model(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct View {
            model_id: String,
        }
        match self.get("application/vnd.jupyter.widget-view+json")? {
            MimeData::Json(json) => json.parse::<View>().ok().map(|view| view.model_id),
            MimeData::Text(_) => None,
        }
    }

    /// All representations, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &MimeData)> {
        self.0.iter().map(|(mime, data)| (mime.as_str(), data))
    }

    /// Whether there is no representation.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for MimeBundle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (mime, data) in self.iter() {
            map.serialize_entry(mime, data)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for MimeBundle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BundleVisitor::<Box<RawValue>> { within: None, raw: PhantomData })
    }
}

/// Takes each representation as `Raw` first.
struct BundleVisitor<'m, Raw> {
    /// The message that the text is a part of.
    within: Option<&'m ByteString>,
    raw: PhantomData<Raw>,
}

impl<'de, Raw: Deserialize<'de> + Deref<Target = RawValue>> Visitor<'de> for BundleVisitor<'_, Raw> {
    type Value = MimeBundle;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of MIME types")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MimeBundle, A::Error> {
        let mut bundle = MimeBundle::new();
        while let Some((mime, raw)) = map.next_entry::<String, Raw>()? {
            let data = MimeData::read(&mime, &raw, self.within);
            bundle.insert(&mime, data);
        }
        Ok(bundle)
    }
}

/// The text of a JSON string without its quotes, in the message itself where that is possible.
fn text_of(inside: &str, within: Option<&ByteString>) -> Option<ByteString> {
    if memchr::memchr(b'\\', inside.as_bytes()).is_some() {
        return unescape(inside).map(ByteString::from);
    }
    Some(match within.filter(|_| inside.len() >= SHARED) {
        Some(message) => message.slice_ref(inside),
        None => inside.into(),
    })
}

/// Whether representations of this type are JSON values rather than texts.
fn is_json(mime: &str) -> bool {
    mime == "application/json" || mime.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_order_come_back_as_they_were_written() {
        let text = r#"{"text/plain":"x","application/json":{"b":1e0,"a":123456789012345678901234567890}}"#;
        let bundle: MimeBundle = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&bundle).unwrap(), text);
    }

    #[test]
    fn a_list_of_lines_is_one_text_but_a_json_list_stays_a_list() {
        let bundle: MimeBundle =
            serde_json::from_str(r#"{"text/html":["<b>\n","</b>"],"application/json":["a","b"]}"#).unwrap();
        assert_eq!(bundle.get_text("text/html"), Some("<b>\n</b>"));
        assert_eq!(bundle.get("application/json"), Some(&RawJson::new(r#"["a","b"]"#).unwrap().into()));
    }

    #[test]
    fn a_bundle_read_from_a_text_at_hand_is_the_same() {
        for text in [r#"{"text/plain":"a\nb","image/png":["x","y"],"a/b":{"c":1e0},"a/json":7}"#, "{}"] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            assert_eq!(MimeBundle::read(raw).unwrap(), serde_json::from_str(text).unwrap());
        }
        assert!(MimeBundle::read(serde_json::from_str("[]").unwrap()).is_err());
    }

    #[test]
    fn a_large_text_stays_in_its_message() {
        let shares = |text: &str| {
            let json = serde_json::to_string(&serde_json::json!({ "image/png": text })).unwrap();
            let message = ByteString::from(json);
            let raw: &RawValue = serde_json::from_str(&message).unwrap();
            let bundle = MimeBundle::read_within(raw, &message).unwrap();
            assert_eq!(bundle, MimeBundle::read(raw).unwrap());
            assert_eq!(bundle.get_text("image/png"), Some(text));
            !message.into_bytes().is_unique()
        };
        assert!(shares(&"A".repeat(SHARED)));
        assert!(!shares(&"A".repeat(SHARED - 1)));
        assert!(!shares(&"A\n".repeat(SHARED)));
    }

    #[test]
    fn a_bundle_can_be_read_from_a_value_too() {
        let value = serde_json::json!({"text/plain": "x", "application/x-cellist-status": {"op": "read"}});
        let bundle: MimeBundle = serde_json::from_value(value).unwrap();
        assert_eq!(
            bundle.get("application/x-cellist-status"),
            Some(&RawJson::new(r#"{"op":"read"}"#).unwrap().into())
        );
    }

    #[test]
    fn a_type_given_twice_keeps_its_place_and_its_last_value() {
        let bundle = MimeBundle::text("a/a", "1").with("b/b", "2").with("a/a", "3");
        assert_eq!(serde_json::to_string(&bundle).unwrap(), r#"{"a/a":"3","b/b":"2"}"#);
    }
}
