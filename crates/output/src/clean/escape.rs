//! Escape sequences, one character at a time. Knows where each ends; interprets the few that change the
//! current line or its colours; the rest is only passed over.

/// Characters that an unfinished control string (OSC, DCS and their like) may take. Images travel in them.
const STRING_LIMIT: usize = 1 << 20;
/// Characters that an unfinished CSI sequence may take.
const CSI_LIMIT: usize = 4096;
/// Longer parameters are not understood.
const PARAMS_LIMIT: usize = 128;

/// A sequence that may be open.
#[derive(Clone, Debug, Default)]
pub(super) struct Escape {
    state: State,
    /// Characters taken since it opened.
    taken: usize,
    /// Parameters of a CSI sequence.
    params: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    /// After ESC.
    Opened,
    /// After ESC and an intermediate character, as in `ESC ( B`.
    Intermediate,
    /// After `ESC [`.
    Csi,
    /// After `ESC ]`, `ESC P` and their like: text up to BEL or ST.
    String,
}

/// The effect of a character on an open sequence.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It belongs to the sequence, which goes on.
    More,
    /// It ended the sequence.
    Done(Option<Sequence>),
    /// The sequence is given up; the character is not part of it.
    Broken,
}

/// The effect of a supported sequence.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sequence {
    /// SGR, with its parameters.
    Style(String),
    EraseToEnd,
    EraseToStart,
    EraseLine,
    /// Go to a column, counted from 0.
    Column(usize),
    Forward(usize),
    Back(usize),
}

impl Escape {
    /// The state after an ESC.
    pub(super) fn opened() -> Self {
        Self { state: State::Opened, ..Self::default() }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state != State::Closed
    }

    pub(super) fn feed(&mut self, c: char) -> Step {
        self.taken += 1;
        match c {
            // A line end always stays one; a sequence left open over it is a mistake.
            '\n' => return self.close(Step::Broken),
            '\u{18}' | '\u{1a}' => return self.close(Step::Done(None)),
            '\u{1b}' => {
                *self = Self::opened();
                return Step::More;
            }
            _ => {}
        }
        match self.state {
            State::Closed => Step::Broken,
            State::Opened => match c {
                '[' => self.go_on(State::Csi),
                ']' | 'P' | 'X' | '^' | '_' => self.go_on(State::String),
                ' '..='/' => self.go_on(State::Intermediate),
                '0'..='~' => self.close(Step::Done(None)),
                _ => self.close(Step::Broken),
            },
            State::Intermediate => match c {
                ' '..='/' if self.taken < CSI_LIMIT => Step::More,
                '0'..='~' => self.close(Step::Done(None)),
                _ => self.close(Step::Broken),
            },
            State::Csi => match c {
                ' '..='?' if self.taken < CSI_LIMIT => {
                    if self.params.len() < PARAMS_LIMIT {
                        self.params.push(c);
                    }
                    Step::More
                }
                '@'..='~' => {
                    let sequence = self.meaning(c);
                    self.close(Step::Done(sequence))
                }
                '\0'..='\u{1f}' | '\u{7f}' if self.taken < CSI_LIMIT => Step::More,
                _ => self.close(Step::Broken),
            },
            State::String => match c {
                '\u{7}' | '\u{9c}' => self.close(Step::Done(None)),
                _ if self.taken < STRING_LIMIT => Step::More,
                _ => self.close(Step::Broken),
            },
        }
    }

    fn go_on(&mut self, state: State) -> Step {
        self.state = state;
        Step::More
    }

    fn close(&mut self, step: Step) -> Step {
        self.state = State::Closed;
        step
    }

    fn meaning(&mut self, last: char) -> Option<Sequence> {
        let params = std::mem::take(&mut self.params);
        if params.len() >= PARAMS_LIMIT {
            return None;
        }
        if last == 'm' {
            let known = params.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
            return known.then_some(Sequence::Style(params));
        }
        let number = if params.is_empty() { 0 } else { params.parse::<usize>().ok()? };
        match (last, number) {
            ('K' | 'J', 0) => Some(Sequence::EraseToEnd),
            ('K', 1) => Some(Sequence::EraseToStart),
            ('K', 2) => Some(Sequence::EraseLine),
            ('G' | '`', column) => Some(Sequence::Column(column.max(1) - 1)),
            ('C', count) => Some(Sequence::Forward(count.max(1))),
            ('D', count) => Some(Sequence::Back(count.max(1))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the characters after ESC; returns the outcome and how many characters were taken.
    fn check(text: &str, expected: Step, taken: usize) {
        let mut escape = Escape::opened();
        for (count, c) in text.chars().enumerate() {
            let step = escape.feed(c);
            if step != Step::More {
                assert_eq!((step, count), (expected, taken - 1), "{text:?}");
                assert!(!escape.is_open());
                return;
            }
        }
        assert_eq!(expected, Step::More, "{text:?}");
    }

    #[test]
    fn every_kind_of_sequence_ends_where_a_terminal_ends_it() {
        check("[1;31mX", Step::Done(Some(Sequence::Style("1;31".into()))), 6);
        check("[?25lX", Step::Done(None), 5);
        check("[38:2::1:2:3m", Step::Done(Some(Sequence::Style("38:2::1:2:3".into()))), 13);
        check("[K", Step::Done(Some(Sequence::EraseToEnd)), 2);
        check("[2K", Step::Done(Some(Sequence::EraseLine)), 3);
        check("[5G", Step::Done(Some(Sequence::Column(4))), 3);
        check("]0;title\u{7}X", Step::Done(None), 9);
        check("]8;;http://x\u{1b}\\X", Step::Done(None), 14);
        check("]0;t\u{9c}X", Step::Done(None), 5);
        check("Pq#0\u{1b}\\", Step::Done(None), 6);
        check("_Ga=T\u{1b}\\", Step::Done(None), 7);
        check("(BX", Step::Done(None), 2);
        check("7X", Step::Done(None), 1);
        check("]0;tit", Step::More, 0);
    }

    #[test]
    fn a_line_end_or_a_character_that_cannot_belong_breaks_a_sequence() {
        check("]0;title\nX", Step::Broken, 9);
        check("[12\n", Step::Broken, 4);
        check("[12é", Step::Broken, 4);
        check("é", Step::Broken, 1);
        check("]0;\u{18}X", Step::Done(None), 4);
    }

    #[test]
    fn an_endless_sequence_is_given_up() {
        check(&format!("]{}", "x".repeat(STRING_LIMIT + 5)), Step::Broken, STRING_LIMIT);
        check(&format!("[{}", "1".repeat(CSI_LIMIT + 5)), Step::Broken, CSI_LIMIT);
    }
}
