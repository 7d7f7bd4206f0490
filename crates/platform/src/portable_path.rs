//! Names and values of the system as JSON: text where they are text, else their bytes, so that nothing is lost.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Something that has a form which JSON can hold.
pub trait Portable: Clone {
    /// That form.
    type Form: Serialize + DeserializeOwned;
    /// Puts it into that form.
    fn into_form(self) -> Self::Form;
    /// Takes it from that form.
    fn from_form(form: Self::Form) -> Self;
}

/// For `#[serde(with = "…")]`.
pub fn serialize<T: Portable, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.clone().into_form().serialize(serializer)
}

/// For `#[serde(with = "…")]`.
pub fn deserialize<'de, T: Portable, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::Form::deserialize(deserializer).map(T::from_form)
}

/// One name or value.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub enum Word {
    /// One that is text.
    Text(String),
    /// One that is not.
    Raw {
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

impl Portable for OsString {
    type Form = Word;

    fn into_form(self) -> Word {
        match self.into_string() {
            Ok(text) => Word::Text(text),
            Err(raw) => Word::Raw { bytes: raw.into_vec() },
        }
    }

    fn from_form(form: Word) -> OsString {
        match form {
            Word::Text(text) => text.into(),
            Word::Raw { bytes } => OsString::from_vec(bytes),
        }
    }
}

impl Portable for PathBuf {
    type Form = Word;

    fn into_form(self) -> Word {
        self.into_os_string().into_form()
    }

    fn from_form(form: Word) -> PathBuf {
        OsString::from_form(form).into()
    }
}

impl<T: Portable> Portable for Option<T> {
    type Form = Option<T::Form>;

    fn into_form(self) -> Self::Form {
        self.map(T::into_form)
    }

    fn from_form(form: Self::Form) -> Self {
        form.map(T::from_form)
    }
}

impl<T: Portable> Portable for Vec<T> {
    type Form = Vec<T::Form>;

    fn into_form(self) -> Self::Form {
        self.into_iter().map(T::into_form).collect()
    }

    fn from_form(form: Self::Form) -> Self {
        form.into_iter().map(T::from_form).collect()
    }
}

impl<T: Portable, U: Portable> Portable for (T, U) {
    type Form = (T::Form, U::Form);

    fn into_form(self) -> Self::Form {
        (self.0.into_form(), self.1.into_form())
    }

    fn from_form((one, other): Self::Form) -> Self {
        (T::from_form(one), U::from_form(other))
    }
}
