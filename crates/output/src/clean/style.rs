//! Text styles (SGR) as values: read from any spelling, written in one.

use std::fmt::Write;

/// Colours and attributes in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    foreground: Colour,
    background: Colour,
    /// Bit n stands for SGR code n; codes 1 to 9.
    attributes: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Colour {
    #[default]
    Default,
    Indexed(u8),
    Rgb(u8, u8, u8),
}

impl Style {
    /// Whether it is the style of text without any.
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Applies the parameters of one SGR sequence.
    pub(super) fn apply(&mut self, params: &str) {
        let mut params = params.split(';');
        while let Some(param) = params.next() {
            // `4:3`, a curly underline, and `38:2::1:2:3` carry their own arguments.
            let mut parts = param.split(':');
            let code = parts.next().map_or(0, number);
            let arguments: Vec<&str> = parts.collect();
            match code {
                0 => *self = Self::default(),
                4 if arguments.first() == Some(&"0") => self.attributes &= !(1 << 4),
                1..=9 => self.attributes |= 1 << code,
                21 => self.attributes |= 1 << 4,
                22 => self.attributes &= !(1 << 1 | 1 << 2),
                23 | 24 | 27 | 28 | 29 => self.attributes &= !(1 << (code - 20)),
                25 => self.attributes &= !(1 << 5 | 1 << 6),
                30..=37 => self.foreground = Colour::Indexed(low(code - 30)),
                40..=47 => self.background = Colour::Indexed(low(code - 40)),
                90..=97 => self.foreground = Colour::Indexed(low(code - 90 + 8)),
                100..=107 => self.background = Colour::Indexed(low(code - 100 + 8)),
                39 => self.foreground = Colour::Default,
                49 => self.background = Colour::Default,
                38 | 48 => {
                    let colour = if arguments.is_empty() {
                        colour_of(&mut params)
                    } else {
                        colour_with_colons(&arguments)
                    };
                    match (code, colour) {
                        (38, Some(colour)) => self.foreground = colour,
                        (_, Some(colour)) => self.background = colour,
                        (_, None) => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Writes the sequence that leads from `previous` to this style; nothing where they are equal.
    pub(super) fn switch_from(self, previous: Style, text: &mut String) {
        if self == previous {
            return;
        }
        text.push_str("\u{1b}[0");
        for code in 1..=9 {
            if self.attributes & 1 << code != 0 {
                text.push(';');
                text.push(char::from(b'0' + code));
            }
        }
        self.foreground.write(30, text);
        self.background.write(40, text);
        text.push('m');
    }
}

impl Colour {
    fn write(self, base: u8, text: &mut String) {
        let written = match self {
            Colour::Default => Ok(()),
            Colour::Indexed(index @ 0..8) => write!(text, ";{}", base + index),
            Colour::Indexed(index @ 8..16) => write!(text, ";{}", base + 60 + index - 8),
            Colour::Indexed(index) => write!(text, ";{};5;{index}", base + 8),
            Colour::Rgb(red, green, blue) => write!(text, ";{};2;{red};{green};{blue}", base + 8),
        };
        written.expect("writing to a string does not fail");
    }
}

/// The arguments of `38;5;n` and `38;2;r;g;b`.
fn colour_of<'a>(params: &mut impl Iterator<Item = &'a str>) -> Option<Colour> {
    let mut next = || params.next().map(number);
    match next()? {
        5 => Some(Colour::Indexed(low(next()?))),
        2 => Some(Colour::Rgb(low(next()?), low(next()?), low(next()?))),
        _ => None,
    }
}

/// The arguments of `38:5:n`, `38:2:r:g:b` and `38:2:space:r:g:b`.
fn colour_with_colons(arguments: &[&str]) -> Option<Colour> {
    match arguments {
        ["5", index] => Some(Colour::Indexed(low(number(index)))),
        ["2", red, green, blue] | ["2", _, red, green, blue, ..] => {
            Some(Colour::Rgb(low(number(red)), low(number(green)), low(number(blue))))
        }
        _ => None,
    }
}

/// A parameter; one left out is 0, one beyond reason means nothing.
fn number(param: &str) -> u16 {
    if param.is_empty() { 0 } else { param.parse().unwrap_or(u16::MAX) }
}

fn low(number: u16) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(params: &[&str], expected: &str) {
        let mut style = Style::default();
        for params in params {
            style.apply(params);
        }
        let mut text = String::new();
        style.switch_from(Style::default(), &mut text);
        assert_eq!(text, expected, "{params:?}");
    }

    #[test]
    fn every_spelling_of_a_style_is_written_in_one() {
        check(&["1;31"], "\u{1b}[0;1;31m");
        check(&["1", "31"], "\u{1b}[0;1;31m");
        check(&["38;5;208"], "\u{1b}[0;38;5;208m");
        check(&["38;5;9"], "\u{1b}[0;91m");
        check(&["48;2;1;2;3"], "\u{1b}[0;48;2;1;2;3m");
        check(&["38:2::1:2:3"], "\u{1b}[0;38;2;1;2;3m");
        check(&["38:2:1:2:3"], "\u{1b}[0;38;2;1;2;3m");
        check(&["38:5:3"], "\u{1b}[0;33m");
        check(&["4:3"], "\u{1b}[0;4m");
        check(&["97;104"], "\u{1b}[0;97;104m");
    }

    #[test]
    fn resets_take_back_what_they_name() {
        check(&["1;2;3;31", "22"], "\u{1b}[0;3;31m");
        check(&["31;42", "39"], "\u{1b}[0;42m");
        check(&["31;1", ""], "");
        check(&["4", "4:0"], "");
        check(&["7", "27"], "");
    }

    #[test]
    fn parameters_without_meaning_change_nothing() {
        check(&["38;5", "999999", "73", "38;9"], "");
    }
}
