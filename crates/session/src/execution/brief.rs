//! Shortens outputs for a reader with a byte limit. The shape of the outputs stays the same.

use std::borrow::Cow;

use cellist_output::{Limits, MimeBundle, MimeData, Output, StreamName, notices};

use super::output_buffer::weight;

/// Images and other data up to this size are kept whole, regardless of the text limit.
const MAX_DATA: usize = 1024 * 1024;

/// Limit for the data of all outputs together. The oldest data is dropped first.
const MAX_ALL_DATA: usize = 10 * 1024 * 1024;

/// Shortens outputs to the limits. Keeps the end of the text.
pub(crate) fn brief(outputs: &[Output], limits: &Limits) -> Vec<Output> {
    let (mut room, mut data_room) = (limits.max_bytes, MAX_ALL_DATA);
    let mut shown: Vec<Output> = Vec::new();
    let mut left_out: u64 = 0;
    for output in outputs.iter().rev() {
        let output = small(output, limits);
        let size = text_weight(&output);
        let data = weight(&output) - size;
        match (&*output, room.checked_sub(size)) {
            (_, Some(rest)) if data <= data_room => {
                (room, data_room) = (rest, data_room - data);
                shown.push(output.into_owned());
            }
            (Output::Stream { name, text }, None) if room > 0 && left_out == 0 => {
                let tail = &text[text.ceil_char_boundary(text.len() - room)..];
                left_out += (text.len() - tail.len()) as u64;
                shown.push(Output::stream(*name, tail));
                room = 0;
            }
            (_, Some(_)) => left_out += (size + data) as u64,
            (_, None) => {
                left_out += size as u64;
                room = 0;
            }
        }
    }
    if left_out > 0 {
        shown.push(Output::stream(StreamName::Stderr, notices::left_out(left_out, None)));
    }
    shown.reverse();
    shown
}

/// Returns an output without values that exceed the limits.
fn small<'a>(output: &'a Output, limits: &Limits) -> Cow<'a, Output> {
    let cut = |data: &MimeBundle| {
        let mut kept = MimeBundle::new();
        for (mime, value) in data.iter() {
            match value {
                MimeData::Text(text) if is_text(mime) && text.len() > limits.max_bytes => {
                    let end = text.floor_char_boundary(limits.max_bytes / 2);
                    let rest = (text.len() - end) as u64;
                    // Truncated HTML is worse than none.
                    if mime != "text/html" {
                        kept.insert(
                            mime,
                            format!("{}\n{}", &text[..end], notices::left_out(rest, None).trim_end()),
                        );
                    }
                }
                MimeData::Text(text) if text.len() > MAX_DATA => {}
                MimeData::Json(json) if json.get().len() > MAX_DATA => {}
                whole => kept.insert(mime, whole.clone()),
            }
        }
        kept
    };
    match output {
        Output::Display { data, metadata, .. } => {
            Cow::Owned(Output::Display { data: cut(data), metadata: metadata.clone(), display_id: None })
        }
        Output::Result { execution_count, data, metadata, .. } => Cow::Owned(Output::Result {
            execution_count: *execution_count,
            data: cut(data),
            metadata: metadata.clone(),
            display_id: None,
        }),
        // A stream may be very large, so the caller slices it instead of copying it here.
        Output::Stream { .. } | Output::Error { .. } => Cow::Borrowed(output),
    }
}

fn text_weight(output: &Output) -> usize {
    match output {
        Output::Display { data, .. } | Output::Result { data, .. } => data
            .iter()
            .filter(|(mime, _)| is_text(mime))
            .filter_map(|(_, it)| it.as_text())
            .map(str::len)
            .sum(),
        Output::Stream { .. } | Output::Error { .. } => weight(output),
    }
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_text_stays_and_dropped_bytes_are_counted() {
        let limits = Limits::new(10, 100);
        let outputs = [
            Output::stream(StreamName::Stderr, "gone"),
            Output::stream(StreamName::Stdout, "0123456789"),
            Output::display(MimeBundle::text("text/plain", "end").with("image/png", "A".repeat(500))),
        ];
        let brief = brief(&outputs, &limits);
        assert_eq!(brief.len(), 3);
        assert_eq!(brief[0], Output::stream(StreamName::Stderr, notices::left_out(7, None)));
        assert_eq!(brief[1], Output::stream(StreamName::Stdout, "3456789"));
        assert_eq!(brief[2], outputs[2]);
    }

    #[test]
    fn a_huge_result_is_cut_and_a_huge_picture_left_out() {
        let huge =
            MimeBundle::text("text/plain", "x".repeat(5000)).with("image/png", "A".repeat(2 * MAX_DATA));
        let [Output::Display { data, .. }] = &brief(&[Output::display(huge)], &Limits::new(1000, 10))[..]
        else {
            panic!("one display")
        };
        assert!(data.get_text("text/plain").unwrap().len() < 700);
        assert_eq!(data.get("image/png"), None);
    }

    #[test]
    fn small_outputs_stay_unchanged() {
        let outputs = vec![Output::stream(StreamName::Stdout, "a"), Output::stream(StreamName::Stderr, "b")];
        assert_eq!(brief(&outputs, &Limits::for_screen()), outputs);
    }
}
