//! UTF-8 from chunks split anywhere, with the result of decoding the whole lossily at once.

/// Turns bytes into text; holds back those of a character that is not complete yet.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    held: [u8; 4],
    held_len: usize,
}

impl Decoder {
    /// Takes bytes, and gives all text that is complete.
    pub fn push(&mut self, mut bytes: &[u8], mut text: impl FnMut(&str)) {
        while self.held_len > 0 {
            let Some((&next, rest)) = bytes.split_first() else { return };
            self.held[self.held_len] = next;
            match str::from_utf8(&self.held[..=self.held_len]) {
                Ok(character) => {
                    text(character);
                    self.held_len = 0;
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => {
                    self.held_len += 1;
                    bytes = rest;
                }
                // This byte cannot complete the held bytes, so it is decoded anew.
                Err(_) => {
                    text(char::REPLACEMENT_CHARACTER.encode_utf8(&mut [0; 3]));
                    self.held_len = 0;
                }
            }
        }
        if let Ok(valid) = str::from_utf8(bytes) {
            // Much the fastest way through, and nearly always taken.
            return text(valid);
        }
        for chunk in bytes.utf8_chunks() {
            text(chunk.valid());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let is_last = invalid.as_ptr_range().end == bytes.as_ptr_range().end;
            if is_last && str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none()) {
                self.held[..invalid.len()].copy_from_slice(invalid);
                self.held_len = invalid.len();
            } else {
                text(char::REPLACEMENT_CHARACTER.encode_utf8(&mut [0; 3]));
            }
        }
    }

    /// Ends the stream: the held bytes never became a character.
    pub fn finish(&mut self, mut text: impl FnMut(&str)) {
        if std::mem::take(&mut self.held_len) > 0 {
            text(char::REPLACEMENT_CHARACTER.encode_utf8(&mut [0; 3]));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(chunks: &[&[u8]]) -> String {
        let mut decoder = Decoder::default();
        let mut whole = String::new();
        for chunk in chunks {
            decoder.push(chunk, |text| whole.push_str(text));
        }
        decoder.finish(|text| whole.push_str(text));
        whole
    }

    /// Bytes around the edges of UTF-8: lead bytes, continuations, overlong forms, surrogates.
    fn awkward() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            Just(b'a'),
            Just(b'\n'),
            0x80..=0xbfu8,
            prop::sample::select(vec![0xc2, 0xc3, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff, 0xc0]),
            any::<u8>(),
        ];
        prop::collection::vec(byte, 0..60)
    }

    proptest! {
        #[test]
        fn any_split_decodes_like_the_whole(bytes in awkward(), cuts in prop::collection::vec(0usize..60, 0..8)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let mut from = 0;
            let chunks: Vec<&[u8]> = cuts.into_iter().map(|cut| { let c = &bytes[from..cut]; from = cut; c }).collect();
            prop_assert_eq!(decoded(&chunks), String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn every_two_way_split_of_valid_text_is_the_text() {
        let text = "aé€😀\n";
        for cut in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(cut);
            assert_eq!(decoded(&[left, right]), text);
        }
    }
}
