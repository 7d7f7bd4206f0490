//! A decoder of sixels, as in a terminal.

use crate::graphics::Pixels;

/// Decodes sixels to pixels.
pub(super) fn drawn_sixels(sent: &str) -> Pixels {
    let body = sent.strip_prefix("\x1bP0;1;0q\"1;1;").unwrap().strip_suffix("\x1b\\").unwrap();
    let number = |text: &str| {
        let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
        (text[..end].parse::<u32>().unwrap(), end)
    };
    let (width, end) = number(body);
    let (height, more) = number(&body[end + 1..]);
    let mut rest = &body[end + 1 + more..];
    let mut rgba = vec![0; (width * height * 4) as usize];
    let (mut colours, mut colour, mut x, mut top) = (vec![[0u8; 3]; 256], 0usize, 0u32, 0u32);
    while let Some(letter) = rest.chars().next() {
        rest = &rest[1..];
        let mut count = 1;
        let mut sixel = letter;
        match letter {
            '#' => {
                let (chosen, end) = number(rest);
                rest = &rest[end..];
                colour = chosen as usize;
                if let Some(values) = rest.strip_prefix(";2;") {
                    rest = values;
                    for value in &mut colours[colour] {
                        let (share, end) = number(rest);
                        *value = ((share * 255 + 50) / 100) as u8;
                        rest = rest[end..].strip_prefix(';').unwrap_or(&rest[end..]);
                    }
                }
                continue;
            }
            '$' => {
                x = 0;
                continue;
            }
            '-' => {
                (x, top) = (0, top + 6);
                continue;
            }
            '!' => {
                let (many, end) = number(rest);
                count = many;
                sixel = rest[end..].chars().next().unwrap();
                rest = &rest[end + 1..];
            }
            _ => {}
        }
        let bits = sixel as u8 - b'?';
        for column in x..x + count {
            for row in (0..6).filter(|row| bits & (1 << row) != 0) {
                let [r, g, b] = colours[colour];
                let at = (((top + row) * width + column) * 4) as usize;
                rgba[at..at + 4].copy_from_slice(&[r, g, b, 255]);
            }
        }
        x += count;
    }
    Pixels { width, height, rgba }
}
