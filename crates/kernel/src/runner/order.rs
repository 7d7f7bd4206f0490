//! Puts the two streams and the frames back into the order in which the program made them, by their marks.

use std::collections::VecDeque;

use bytes::Bytes;
use cellist_output::StreamName;

use super::marks::{Mark, Piece};

/// How much of one stream may wait for its turn. Past it, it is passed on out of turn: C code that writes while
/// it holds Python's lock keeps the runner from putting the mark into the other pipe.
const HELD: usize = 256 * 1024;

/// The next item.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OrderedItem<F> {
    /// Output of the program.
    Text(StreamName, Bytes),
    /// A frame, in its place.
    Frame(F),
}

/// Items that wait, and the expected next one.
#[derive(Debug)]
pub(super) struct OutputOrder<F> {
    pipes: [Pipe; 2],
    frames: VecDeque<(u64, F)>,
    next: VecDeque<OrderedItem<F>>,
    // The last mark that both pipes have passed.
    passed: u64,
}

#[derive(Debug, Default)]
struct Pipe {
    waiting: VecDeque<Piece>,
    held: usize,
}

const NAMES: [StreamName; 2] = [StreamName::Stdout, StreamName::Stderr];

impl<F> OutputOrder<F> {
    /// Nothing was read yet.
    pub(super) fn new() -> OutputOrder<F> {
        OutputOrder { pipes: Default::default(), frames: VecDeque::new(), next: VecDeque::new(), passed: 0 }
    }

    /// Takes text that was read from one pipe.
    pub(super) fn read(&mut self, name: StreamName, pieces: impl IntoIterator<Item = Piece>) {
        let pipe = &mut self.pipes[index(name)];
        for piece in pieces {
            if let Piece::Text(text) = &piece {
                pipe.held += text.len();
            }
            pipe.waiting.push_back(piece);
        }
        self.advance();
    }

    /// Takes a frame that belongs at a mark.
    pub(super) fn frame(&mut self, mark: u64, frame: F) {
        if mark <= self.passed {
            self.next.push_back(OrderedItem::Frame(frame));
            return;
        }
        self.frames.push_back((mark, frame));
        self.advance();
    }

    /// How many frames wait for their place.
    pub(super) fn waiting_frames(&self) -> usize {
        self.frames.len()
    }

    /// Whether text waits for the other pipe or the frames.
    pub(super) fn is_holding(&self) -> bool {
        self.pipes.iter().any(|pipe| pipe.held > 0)
    }

    /// The next item, if it is known.
    pub(super) fn next(&mut self) -> Option<OrderedItem<F>> {
        self.next.pop_front()
    }

    /// Nothing more will be read: waiting items come as far as their order is known.
    pub(super) fn finish(&mut self) {
        self.advance();
        for name in NAMES {
            self.release(name);
        }
        self.next.extend(self.frames.drain(..).map(|(_, frame)| OrderedItem::Frame(frame)));
    }

    fn advance(&mut self) {
        loop {
            for name in NAMES {
                let pipe = &mut self.pipes[index(name)];
                loop {
                    match pipe.waiting.pop_front() {
                        Some(Piece::Text(text)) => {
                            pipe.held -= text.len();
                            self.next.push_back(OrderedItem::Text(name, text));
                        }
                        // A signal handler that prints puts its own mark between the two halves of another.
                        Some(Piece::Mark(mark)) if mark.number <= self.passed => {}
                        Some(mark) => {
                            pipe.waiting.push_front(mark);
                            break;
                        }
                        None => break,
                    }
                }
            }
            let [Some(Piece::Mark(first)), Some(Piece::Mark(second))] =
                [0, 1].map(|pipe: usize| self.pipes[pipe].waiting.front())
            else {
                break;
            };
            // They have the same number, unless one was lost.
            let mark: Mark = if first.number <= second.number { *first } else { *second };
            if mark.frame {
                // One that has a later number comes behind one that was lost.
                if self.frames.is_empty() {
                    break;
                }
                while self.frames.front().is_some_and(|(number, _)| *number <= mark.number) {
                    self.next.extend(self.frames.pop_front().map(|(_, frame)| OrderedItem::Frame(frame)));
                }
            }
            self.passed = mark.number;
            for pipe in &mut self.pipes {
                if pipe.waiting.front() == Some(&Piece::Mark(mark)) {
                    pipe.waiting.pop_front();
                }
            }
        }
        for name in NAMES {
            if self.pipes[index(name)].held > HELD {
                self.release(name);
            }
        }
    }

    /// Passes on the text of a stream and keeps its marks.
    fn release(&mut self, name: StreamName) {
        let pipe = &mut self.pipes[index(name)];
        pipe.held = 0;
        let (texts, marks): (VecDeque<_>, VecDeque<_>) =
            pipe.waiting.drain(..).partition(|piece| matches!(piece, Piece::Text(_)));
        pipe.waiting = marks;
        for piece in texts {
            if let Piece::Text(text) = piece {
                self.next.push_back(OrderedItem::Text(name, text));
            }
        }
    }
}

fn index(name: StreamName) -> usize {
    match name {
        StreamName::Stdout => 0,
        StreamName::Stderr => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use StreamName::{Stderr, Stdout};

    fn text(text: &str) -> Piece {
        Piece::Text(Bytes::copy_from_slice(text.as_bytes()))
    }

    fn turn(number: u64) -> Piece {
        Piece::Mark(Mark { number, frame: false })
    }

    fn place(number: u64) -> Piece {
        Piece::Mark(Mark { number, frame: true })
    }

    /// Everything that is known to come next, as text.
    fn heard(order: &mut OutputOrder<&str>) -> String {
        let mut all = String::new();
        while let Some(item) = order.next() {
            match item {
                OrderedItem::Text(Stdout, bytes) => all += &format!("o:{} ", String::from_utf8_lossy(&bytes)),
                OrderedItem::Text(Stderr, bytes) => all += &format!("e:{} ", String::from_utf8_lossy(&bytes)),
                OrderedItem::Frame(frame) => all += &format!("[{frame}] "),
            }
        }
        all.trim_end().to_owned()
    }

    #[test]
    fn text_of_a_later_segment_waits_for_the_other_stream() {
        let mut order = OutputOrder::new();
        order.read(Stdout, [text("a"), turn(1), turn(2), text("c")]);
        assert_eq!((heard(&mut order), order.is_holding()), ("o:a".into(), true));
        order.read(Stderr, [turn(1), text("b")]);
        assert_eq!((heard(&mut order), order.is_holding()), ("e:b".into(), true));
        order.read(Stderr, [turn(2)]);
        assert_eq!((heard(&mut order), order.is_holding()), ("o:c".into(), false));
    }

    #[test]
    fn a_frame_comes_when_both_streams_were_read_up_to_its_mark_and_not_before() {
        let mut order = OutputOrder::new();
        order.frame(1, "display");
        order.read(Stdout, [text("a"), place(1), text("b")]);
        assert_eq!(heard(&mut order), "o:a");
        order.read(Stderr, [place(1)]);
        assert_eq!(heard(&mut order), "[display] o:b");
    }

    #[test]
    fn text_behind_a_mark_waits_for_the_frame() {
        let mut order = OutputOrder::new();
        order.read(Stdout, [place(1), text("after")]);
        order.read(Stderr, [place(1)]);
        assert_eq!(heard(&mut order), "");
        order.frame(1, "display");
        assert_eq!(heard(&mut order), "[display] o:after");
    }

    #[test]
    fn a_stream_that_runs_far_ahead_is_not_held_for_ever() {
        let mut order = OutputOrder::<&str>::new();
        order.read(Stdout, [turn(1)]);
        order.read(Stdout, [Piece::Text(vec![b'x'; HELD].into())]);
        assert!(order.next().is_none());
        order.read(Stdout, [text("y")]);
        assert!(matches!(order.next(), Some(OrderedItem::Text(Stdout, bytes)) if bytes.len() == HELD));
        order.read(Stderr, [turn(1), text("z")]);
        assert_eq!(heard(&mut order), "o:y e:z");
    }

    #[test]
    fn a_mark_that_one_stream_lost_stops_nothing() {
        let mut order = OutputOrder::new();
        order.frame(1, "one");
        order.frame(2, "two");
        order.read(Stdout, [place(1), place(2)]);
        order.read(Stderr, [place(2)]);
        assert_eq!(heard(&mut order), "[one] [two]");
    }

    #[test]
    fn a_frame_that_was_lost_stops_nothing() {
        let mut order = OutputOrder::new();
        order.read(Stdout, [place(1), text("a"), place(2)]);
        order.read(Stderr, [place(1), place(2)]);
        order.frame(2, "two");
        assert_eq!(heard(&mut order), "o:a [two]");
    }

    #[test]
    fn a_mark_put_between_the_halves_of_another_stops_nothing() {
        let mut order = OutputOrder::new();
        order.read(Stdout, [place(1), turn(2), text("a"), place(3)]);
        order.read(Stderr, [turn(2), place(1), text("b"), place(3)]);
        order.frame(1, "one");
        order.frame(3, "three");
        assert_eq!(heard(&mut order), "[one] o:a e:b [three]");
    }

    proptest! {
        /// A program's steps, written as the runner writes them, are heard in order however the pipes are read.
        #[test]
        fn steps_are_heard_in_the_order_in_which_they_were_made(
            steps in prop::collection::vec(0_u8..3, 0..30),
            picks in prop::collection::vec(0_u8..3, 0..200),
        ) {
            let names: Vec<String> = (0..steps.len()).map(|at| at.to_string()).collect();
            let (mut pipes, mut frames) = ([VecDeque::new(), VecDeque::new()], VecDeque::new());
            let (mut number, mut current) = (0, None);
            for (at, step) in steps.iter().enumerate() {
                if *step == 2 {
                    number += 1;
                    pipes.iter_mut().for_each(|pipe| pipe.push_back(place(number)));
                    frames.push_back((number, names[at].as_str()));
                    current = None;
                } else {
                    if current.is_some_and(|current| current != *step) {
                        number += 1;
                        pipes.iter_mut().for_each(|pipe| pipe.push_back(turn(number)));
                    }
                    current = Some(*step);
                    pipes[usize::from(*step)].push_back(text(&names[at]));
                }
            }
            let mut order = OutputOrder::new();
            for pick in picks.into_iter().chain((0..3).cycle().take(steps.len() * 9)) {
                match pick {
                    2 => if let Some((mark, frame)) = frames.pop_front() { order.frame(mark, frame) },
                    pick => order.read(NAMES[usize::from(pick)], pipes[usize::from(pick)].pop_front()),
                }
            }
            let expected: Vec<String> = steps.iter().zip(&names).map(|(step, name)| match step {
                0 => format!("o:{name}"),
                1 => format!("e:{name}"),
                _ => format!("[{name}]"),
            }).collect();
            prop_assert_eq!(heard(&mut order), expected.join(" "));
        }
    }
}
