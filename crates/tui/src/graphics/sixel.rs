//! Sixel graphics: bands of six rows, with one pass over a band for each of its colours.

use std::collections::HashMap;
use std::fmt::Write;

use super::pixels::Pixels;

/// The colours of common terminals' palettes.
const COLOURS: usize = 256;
/// Minimum alpha of a visible pixel.
const OPAQUE: u8 = 128;
/// The full intensity: sixel colours are percentages.
const FULL: u32 = 100;

/// Red, green and blue in percent.
type Colour = [u8; 3];

pub(super) fn payload(pixels: &Pixels) -> String {
    let (colours, places) = palette(pixels);
    let mut sent = format!("\x1bP0;1;0q\"1;1;{};{}", pixels.width, pixels.height);
    for (number, [r, g, b]) in colours.iter().enumerate() {
        let _ = write!(sent, "#{number};2;{r};{g};{b}");
    }
    let width = pixels.width as usize;
    for band in places.chunks(width * 6) {
        let mut used: Vec<u16> = band.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        for number in used {
            let _ = write!(sent, "#{number}");
            let sixel = |x: usize| {
                let bits = (0..6).filter(|y| band.get(y * width + x).copied().flatten() == Some(number));
                char::from(b'?' + bits.fold(0, |all, y| all | 1 << y))
            };
            write_run(&mut sent, (0..width).map(sixel));
            sent.push('$');
        }
        sent.push('-');
    }
    sent.push_str("\x1b\\");
    sent
}

/// Writes characters with run-length encoding.
fn write_run(sent: &mut String, letters: impl Iterator<Item = char>) {
    let mut letters = letters.peekable();
    while let Some(letter) = letters.next() {
        let mut count = 1;
        while letters.next_if_eq(&letter).is_some() {
            count += 1;
        }
        match count {
            1..=3 => (0..count).for_each(|_| sent.push(letter)),
            _ => drop(write!(sent, "!{count}{letter}")),
        }
    }
}

/// The palette, and the index of each visible pixel. Too many colours are reduced by median cut.
fn palette(pixels: &Pixels) -> (Vec<Colour>, Vec<Option<u16>>) {
    let share = |value: u8| ((u32::from(value) * FULL + 127) / 255) as u8;
    let seen: Vec<Option<Colour>> = pixels
        .rgba
        .chunks_exact(4)
        .map(|it| (it[3] >= OPAQUE).then(|| [share(it[0]), share(it[1]), share(it[2])]))
        .collect();
    let mut counts: HashMap<Colour, u64> = HashMap::new();
    seen.iter().flatten().for_each(|colour| *counts.entry(*colour).or_default() += 1);
    let mut all: Vec<(Colour, u64)> = counts.into_iter().collect();
    all.sort_unstable();
    let boxes = boxes(all);
    let colours = boxes.iter().map(|one| mean(one)).collect();
    let numbers: HashMap<Colour, u16> = boxes
        .iter()
        .enumerate()
        .flat_map(|(number, one)| one.iter().map(move |(colour, _)| (*colour, number as u16)))
        .collect();
    let places = seen.iter().map(|colour| colour.and_then(|it| numbers.get(&it).copied())).collect();
    (colours, places)
}

/// Splits the colours at the widest axis until the palette is full, or each box has one colour.
fn boxes(all: Vec<(Colour, u64)>) -> Vec<Vec<(Colour, u64)>> {
    let mut boxes = if all.is_empty() { Vec::new() } else { vec![all] };
    while boxes.len() < COLOURS {
        let Some((at, (axis, spread))) = boxes
            .iter()
            .enumerate()
            .map(|(at, one)| (at, widest(one)))
            .max_by_key(|(_, (_, spread))| *spread)
        else {
            break;
        };
        if spread == 0 {
            break;
        }
        let mut one = boxes.swap_remove(at);
        one.sort_unstable_by_key(|(colour, _)| colour[axis]);
        let middle = one.len() / 2;
        let other = one.split_off(middle);
        boxes.extend([one, other]);
    }
    boxes
}

/// The axis with the largest spread, and the spread.
fn widest(colours: &[(Colour, u64)]) -> (usize, u8) {
    let spread = |axis: usize| {
        let values = colours.iter().map(|(colour, _)| colour[axis]);
        values.clone().max().unwrap_or(0) - values.min().unwrap_or(0)
    };
    (0..3).map(|axis| (axis, spread(axis))).max_by_key(|(_, spread)| *spread).unwrap_or((0, 0))
}

fn mean(colours: &[(Colour, u64)]) -> Colour {
    let count: u64 = colours.iter().map(|(_, count)| count).sum::<u64>().max(1);
    [0, 1, 2].map(|axis| {
        let sum: u64 = colours.iter().map(|(colour, count)| u64::from(colour[axis]) * count).sum();
        ((sum + count / 2) / count) as u8
    })
}
