//! Tracebacks for a model: frames of libraries are folded into a line that counts them, and so are the frames of a
//! recursion and an earlier exception that says nothing new. Understands the layout of Python and that of IPython; any
//! other text stays as it is.

mod frame;

use crate::clean::{Ansi, clean};
use crate::notices;
use crate::sink::Part;
use frame::{Layout, begins};

/// A single library frame up to this many bytes is not worth folding.
const SHORT_FRAME: usize = 200;

/// How often the same frame may stand there one after the other.
const THE_SAME: usize = 2;

/// A folded traceback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedTraceback<'a> {
    /// The whole text; folded parts carry the line that stands for them. Colours may still be in it.
    pub parts: Vec<Part<'a>>,
    /// How many frames a reader can only see in the whole text.
    pub hidden_frames: usize,
}

/// Folds a traceback.
pub fn folded(traceback: &str) -> FoldedTraceback<'_> {
    let pieces = pieces(traceback);
    let text = |piece: &TracebackPiece| &traceback[piece.from..piece.to];
    let mut folded = TracebackFold { traceback, parts: Vec::new(), shown_from: 0, hidden_frames: 0 };
    let last = pieces.iter().rposition(|piece| piece.kind == Kind::Link).map_or(0, |at| at + 1);
    let final_message = message(traceback, &pieces[last..]);
    for exception in pieces.split_inclusive(|piece| piece.kind == Kind::Link) {
        let is_linked = exception.last().is_some_and(|piece| piece.kind == Kind::Link);
        let frames: Vec<&TracebackPiece> = exception.iter().filter(|piece| piece.is_frame()).collect();
        if is_linked
            && !frames.is_empty()
            && frames.iter().all(|piece| piece.library().is_some())
            && message(traceback, exception) == final_message
        {
            folded.hidden_frames += frames.len();
            let notice = notices::same_exception(frames.len(), &libraries(&frames));
            folded.leave_out(exception, format!("{notice}\n"));
            continue;
        }
        let belong = |one: &TracebackPiece, next: &TracebackPiece| match (&one.kind, &next.kind) {
            (Kind::Frame(Some(_)), Kind::Frame(Some(_))) => true,
            (Kind::Frame(None), Kind::Frame(None)) => text(one) == text(next),
            _ => false,
        };
        for run in exception.chunk_by(belong) {
            // Frames of IPython stand apart, each with an empty line behind it.
            let gap = if text(&run[run.len() - 1]).ends_with("\n\n") { "\n\n" } else { "\n" };
            match &run[0].kind {
                Kind::Rule => folded.leave_out(run, String::new()),
                Kind::Header => folded.leave_out(run, format!("{HEADER}:\n")),
                Kind::Frame(Some(_)) if run.len() > 1 || text(&run[0]).len() > SHORT_FRAME => {
                    folded.hidden_frames += run.len();
                    let libraries = libraries(&run.iter().collect::<Vec<_>>());
                    let notice = notices::frames_hidden(run.len(), &libraries);
                    folded.leave_out(run, format!("{notice}{gap}"));
                }
                Kind::Frame(None) if run.len() > THE_SAME => {
                    let notice = notices::frames_repeated(run.len() - 1);
                    folded.leave_out(&run[1..], format!("{notice}{gap}"));
                }
                Kind::Frame(_) | Kind::Link | Kind::Other => {}
            }
        }
    }
    folded.done()
}

const HEADER: &str = "Traceback (most recent call last)";

/// The lines between the tracebacks of two exceptions.
const LINKS: [&str; 2] = [
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
];

/// A part of a traceback, by its place in the text.
#[derive(Clone, Debug)]
struct TracebackPiece {
    from: usize,
    to: usize,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The line of dashes above a traceback of IPython.
    Rule,
    /// The line of IPython that names the exception before its frames.
    Header,
    /// A frame, with the library that it is in.
    Frame(Option<String>),
    /// A line that leads to the next exception, with the empty lines around it.
    Link,
    /// The message, and anything else.
    Other,
}

impl TracebackPiece {
    fn is_frame(&self) -> bool {
        matches!(self.kind, Kind::Frame(_))
    }

    fn library(&self) -> Option<&str> {
        match &self.kind {
            Kind::Frame(library) => library.as_deref(),
            Kind::Rule | Kind::Header | Kind::Link | Kind::Other => None,
        }
    }
}

/// A traceback that is being folded, from its start to its end.
struct TracebackFold<'a> {
    traceback: &'a str,
    parts: Vec<Part<'a>>,
    shown_from: usize,
    hidden_frames: usize,
}

impl<'a> TracebackFold<'a> {
    /// Shows a line instead of some pieces.
    fn leave_out(&mut self, pieces: &[TracebackPiece], notice: String) {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return };
        if self.shown_from < first.from {
            self.parts.push(Part::Shown(&self.traceback[self.shown_from..first.from]));
        }
        self.parts.push(Part::LeftOut { text: &self.traceback[first.from..last.to], notice });
        self.shown_from = last.to;
    }

    fn done(mut self) -> FoldedTraceback<'a> {
        if self.shown_from < self.traceback.len() {
            self.parts.push(Part::Shown(&self.traceback[self.shown_from..]));
        }
        FoldedTraceback { parts: self.parts, hidden_frames: self.hidden_frames }
    }
}

/// Takes a traceback apart. The pieces are all of it, in order.
fn pieces(traceback: &str) -> Vec<TracebackPiece> {
    let mut pieces: Vec<TracebackPiece> = Vec::new();
    let mut open: Option<Layout> = None;
    let mut at = 0;
    for line in traceback.split_inclusive('\n') {
        let plain = clean(line.as_bytes(), Ansi::Remove);
        let plain = plain.trim_end_matches('\n');
        let (from, to) = (at, at + line.len());
        at = to;
        if let Some((layout, library)) = begins(plain) {
            pieces.push(TracebackPiece { from, to, kind: Kind::Frame(library) });
            open = Some(layout);
            continue;
        }
        let goes_on = match open {
            Some(Layout::Python) => plain.starts_with("  "),
            Some(Layout::Ipython) => true,
            None => false,
        };
        if open == Some(Layout::Ipython) && plain.is_empty() || !goes_on {
            open = None;
        }
        let kind = kind(plain);
        match pieces.last_mut() {
            Some(last) if goes_on => last.to = to,
            Some(last) if last.kind == Kind::Link && plain.is_empty() => last.to = to,
            Some(last) if last.kind == Kind::Other && kind == Kind::Other => last.to = to,
            _ => pieces.push(TracebackPiece { from, to, kind }),
        }
    }
    pieces
}

fn kind(line: &str) -> Kind {
    if LINKS.contains(&line) {
        return Kind::Link;
    }
    if line.len() >= 20 && line.bytes().all(|byte| byte == b'-') {
        return Kind::Rule;
    }
    match line.strip_suffix(HEADER) {
        Some(name) if name.ends_with(' ') => Kind::Header,
        Some(_) | None => Kind::Other,
    }
}

/// The message of an exception: the text behind its last frame.
fn message(traceback: &str, pieces: &[TracebackPiece]) -> String {
    let behind = pieces.iter().rposition(TracebackPiece::is_frame).map_or(0, |at| at + 1);
    let text = |piece: &TracebackPiece| match piece.kind {
        Kind::Other => clean(&traceback.as_bytes()[piece.from..piece.to], Ansi::Remove),
        Kind::Rule | Kind::Header | Kind::Frame(_) | Kind::Link => String::new(),
    };
    pieces[behind..].iter().map(text).collect::<String>().trim().to_owned()
}

/// The libraries of frames, each once: `pandas`, or `sklearn, joblib`.
fn libraries(frames: &[&TracebackPiece]) -> String {
    const MOST: usize = 3;
    let mut names: Vec<&str> = Vec::new();
    for name in frames.iter().filter_map(|frame| frame.library()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.len() > MOST {
        true => format!("{}, …", names[..MOST].join(", ")),
        false => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn shown(traceback: &str) -> String {
        let text = |part: Part<'_>| match part {
            Part::Shown(text) => text.to_owned(),
            Part::LeftOut { notice, .. } => notice,
        };
        folded(traceback).parts.into_iter().map(text).collect()
    }

    #[test]
    fn library_frames_are_folded_in_pythons_layout() {
        let traceback = r#"Traceback (most recent call last):
  File "/v/lib/python3.11/site-packages/pandas/core/indexes/base.py", line 3816, in get_loc
    return self._engine.get_loc(casted_key)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "pandas/_libs/index.pyx", line 172, in get_loc
  File "pandas/_libs/index.pyx", line 201, in get_loc
  File "pandas/_libs/hashtable_class_helper.pxi", line 7734, in get_item
KeyError: 'b'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "<cell 1>", line 4, in <module>
    f()
  File "/home/me/project/mine.py", line 3, in f
    return frame["b"]
           ~~~~~^^^^^
  File "/usr/lib/python3.11/a.py", line 1, in one
  File "<frozen importlib._bootstrap>", line 2, in two
    two()
  [Previous line repeated 970 more times]
  File "/usr/lib/python3.11/c.py", line 3, in three
KeyError: 'b'"#;
        assert_snapshot!(shown(traceback), @r#"
        [an earlier exception with the same message hidden: 4 frames in pandas]
        Traceback (most recent call last):
          File "<cell 1>", line 4, in <module>
            f()
          File "/home/me/project/mine.py", line 3, in f
            return frame["b"]
                   ~~~~~^^^^^
        [3 frames in a, importlib, c hidden]
        KeyError: 'b'
        "#);
    }

    #[test]
    fn library_frames_are_folded_in_ipythons_layout() {
        let traceback = "---------------------------------------------------------------------------
KeyError                                  Traceback (most recent call last)
Cell \u{1b}[0;32mIn[1], line 4\u{1b}[0m
      2 def f():
----> 4 f()

File \u{1b}[0;32m/v/lib/python3.11/site-packages/pandas/core/frame.py:4330\u{1b}[0m, in DataFrame.__getitem__(self, key)
   4326 
-> 4330 indexer = self.columns.get_loc(key)

File /v/lib/python3.11/site-packages/pandas/core/indexes/base.py:3823, in Index.get_loc(self, key)
-> 3823     raise KeyError(key) from err

File pandas/_libs/index.pyx:201, in pandas._libs.index.IndexEngine.get_loc()
--> 201 'Could not get source'

Cell In[1], line 9, in callback(x)
----> 9     x[1]

KeyError: 'b'";
        assert_snapshot!(clean(shown(traceback).as_bytes(), Ansi::Remove), @r"
        Traceback (most recent call last):
        Cell In[1], line 4
              2 def f():
        ----> 4 f()

        [3 frames in pandas hidden]

        Cell In[1], line 9, in callback(x)
        ----> 9     x[1]

        KeyError: 'b'
        ");
    }

    #[test]
    fn an_exception_that_says_something_else_stays_with_its_message() {
        let traceback = r#"Traceback (most recent call last):
  File "/usr/lib/python3.11/json/decoder.py", line 1, in one
  File "/usr/lib/python3.11/json/scanner.py", line 2, in two
StopIteration: 6

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "<cell 1>", line 2, in <module>
    json.loads(text)
  File "/usr/lib/python3.11/json/decoder.py", line 3, in short
    raise JSONDecodeError("Expecting value", s, err.value) from None
JSONDecodeError: Expecting value"#;
        assert_snapshot!(shown(traceback), @r#"
        Traceback (most recent call last):
        [2 frames in json hidden]
        StopIteration: 6

        During handling of the above exception, another exception occurred:

        Traceback (most recent call last):
          File "<cell 1>", line 2, in <module>
            json.loads(text)
          File "/usr/lib/python3.11/json/decoder.py", line 3, in short
            raise JSONDecodeError("Expecting value", s, err.value) from None
        JSONDecodeError: Expecting value
        "#);
        // The user's own frames stay, whatever the message.
        let own = traceback.replace("/usr/lib/python3.11/json/scanner.py", "/home/me/mine.py");
        assert!(
            shown(&own.replace("StopIteration: 6", "JSONDecodeError: Expecting value")).contains("mine.py")
        );
    }

    #[test]
    fn a_chain_in_ipythons_layout_loses_its_repetitions() {
        let file = |path: &str| format!("File {path}:7, in f(key)\n      6 try:\n----> 7     g(key)\n\n");
        let header = "KeyError                                  Traceback (most recent call last)\n";
        let traceback = format!(
            "{}\n{header}{}{}KeyError: 'b'\n\n{}\n\n{header}Cell In[1], line 4\n----> 4 frame['b']\n\n{}{}KeyError: 'b'",
            "-".repeat(75),
            file("/v/site-packages/pandas/core/indexes/base.py"),
            file("pandas/_libs/index.pyx"),
            LINKS[0],
            file("/v/site-packages/pandas/core/frame.py"),
            file("/v/site-packages/pandas/core/indexes/base.py"),
        );
        assert_snapshot!(shown(&traceback), @r"
        [an earlier exception with the same message hidden: 2 frames in pandas]
        Traceback (most recent call last):
        Cell In[1], line 4
        ----> 4 frame['b']

        [2 frames in pandas hidden]

        KeyError: 'b'
        ");
        assert_eq!(folded(&traceback).hidden_frames, 4);
    }

    #[test]
    fn a_frame_of_a_recursion_stands_there_once() {
        let frame =
            "Cell In[2], line 9, in deep(n)\n      7     if n == 0:\n----> 9     return deep(n - 1)\n\n";
        let last =
            "Cell In[2], line 8, in deep(n)\n----> 8     return 1 / n\n\nZeroDivisionError: division by zero";
        let traceback = |count: usize| {
            format!("Cell In[2], line 11\n---> 11 deep({count})\n\n{}{last}", frame.repeat(count))
        };
        assert_snapshot!(shown(&traceback(40)), @r"
        Cell In[2], line 11
        ---> 11 deep(40)

        Cell In[2], line 9, in deep(n)
              7     if n == 0:
        ----> 9     return deep(n - 1)

        [the same frame 39 more times]

        Cell In[2], line 8, in deep(n)
        ----> 8     return 1 / n

        ZeroDivisionError: division by zero
        ");
        assert_eq!(shown(&traceback(2)), traceback(2));
    }

    #[test]
    fn what_is_not_a_traceback_stays_as_it_is() {
        for text in [
            "",
            "Error: nothing\nFile a.txt: not there",
            "Error in library(x): there is no package called ‘x’",
            "Traceback (most recent call last):\n  File \"<cell 1>\", line 1, in <module>\nKeyError: 1\n",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn the_parts_are_the_whole_traceback() {
        let frame =
            |number: usize| format!("  File \"/usr/lib/python3.9/m.py\", line {number}, in f\n    f()\n");
        let traceback: String = (0..20).map(frame).collect();
        let text = |part: &Part<'_>| match part {
            Part::Shown(text) | Part::LeftOut { text, .. } => (*text).to_owned(),
        };
        let FoldedTraceback { parts, hidden_frames } = folded(&traceback);
        assert_eq!((parts.len(), hidden_frames), (1, 20));
        assert_eq!(parts.iter().map(text).collect::<String>(), traceback);
    }
}
