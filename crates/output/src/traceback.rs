//! Tracebacks without most of the frames inside libraries, for a reader who wrote the cell and not the libraries, and
//! without those of a recursion but one. Knows the layout of Python itself and that of IPython; what is of neither
//! layout stays as it is.

use crate::clean::{Ansi, clean};
use crate::notices;
use crate::sink::Part;

/// How many frames in a row may be of libraries: where they are entered, and where the exception was raised.
const IN_A_ROW: usize = 2;

/// How often the same frame may stand there one after the other.
const THE_SAME: usize = 2;

/// A traceback in parts, of which the frames in the middle of libraries are left out, and those that are like the one
/// before. Its colours may still be in it.
pub fn trimmed(traceback: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut shown_from = 0;
    let frames = frames(traceback);
    let text = |frame: &Frame| &traceback[frame.from..frame.to];
    let belong = |one: &Frame, next: &Frame| {
        one.to == next.from && (one.is_library && next.is_library || text(one) == text(next))
    };
    for run in frames.chunk_by(belong) {
        let (left_out, what) = match (run[0].is_library, run.len()) {
            (true, count) if count > IN_A_ROW => {
                (&run[1..count - 1], notices::frames_left_out(count - IN_A_ROW))
            }
            (false, count) if count > THE_SAME => (&run[1..], notices::frames_repeated(count - 1)),
            _ => continue,
        };
        let (from, to) = (left_out[0].from, left_out[left_out.len() - 1].to);
        if shown_from < from {
            parts.push(Part::Shown(&traceback[shown_from..from]));
        }
        // Frames of IPython stand apart, each with an empty line behind it.
        let gap = if traceback[from..to].ends_with("\n\n") { "\n\n" } else { "\n" };
        let notice = format!("{what}{gap}");
        parts.push(Part::LeftOut { text: &traceback[from..to], notice });
        shown_from = to;
    }
    if shown_from < traceback.len() {
        parts.push(Part::Shown(&traceback[shown_from..]));
    }
    parts
}

/// A frame, with its place in the text.
#[derive(Clone, Copy, Debug)]
struct Frame {
    from: usize,
    to: usize,
    is_library: bool,
}

/// How a traceback is written.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Python,
    Ipython,
}

fn frames(traceback: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut open: Option<Layout> = None;
    let mut at = 0;
    for line in traceback.split_inclusive('\n') {
        let plain = clean(line.as_bytes(), Ansi::Remove);
        let plain = plain.trim_end_matches('\n');
        if let Some((layout, is_library)) = begins(plain) {
            frames.push(Frame { from: at, to: at + line.len(), is_library });
            open = Some(layout);
        } else if let Some(layout) = open {
            let goes_on = match layout {
                Layout::Python => plain.starts_with("  "),
                Layout::Ipython => true,
            };
            match frames.last_mut().filter(|_| goes_on) {
                Some(frame) => frame.to = at + line.len(),
                None => open = None,
            }
            if layout == Layout::Ipython && plain.is_empty() {
                open = None;
            }
        }
        at += line.len();
    }
    frames
}

/// Whether a line begins a frame, in which layout, and whether that is one of a library.
fn begins(line: &str) -> Option<(Layout, bool)> {
    if let Some(rest) = line.strip_prefix("  File \"") {
        let (path, rest) = rest.split_once('"')?;
        return rest.starts_with(", line ").then(|| (Layout::Python, is_library(path)));
    }
    if line.starts_with("Cell In[") || line.starts_with("Input In [") {
        return Some((Layout::Ipython, false));
    }
    let rest = line.strip_prefix("File ")?;
    let (place, _) = rest.split_once(", in ").unwrap_or((rest, ""));
    let (path, number) = place.rsplit_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (Layout::Ipython, is_library(path)))
}

/// Whether code in this file is somebody else's: installed, of Python itself, or compiled.
fn is_library(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let folder = |name: &str| path.split('/').any(|part| part == name);
    let is_standard = path.split('/').zip(path.split('/').skip(1)).any(|(one, next)| {
        (one == "lib" || one == "lib64" || one == "Lib")
            && (next.starts_with("python") || next.ends_with(".py"))
    });
    is_standard
        || folder("site-packages")
        || folder("dist-packages")
        || path.starts_with("<frozen ")
        || path.ends_with(".pyx")
        || path.ends_with(".pxi")
        || path.ends_with(".pxd")
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
        trimmed(traceback).into_iter().map(text).collect()
    }

    #[test]
    fn frames_within_libraries_are_left_out_of_pythons_own_layout() {
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
        Traceback (most recent call last):
          File "/v/lib/python3.11/site-packages/pandas/core/indexes/base.py", line 3816, in get_loc
            return self._engine.get_loc(casted_key)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        [2 frames of libraries left out]
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
        [1 frame of libraries left out]
          File "/usr/lib/python3.11/c.py", line 3, in three
        KeyError: 'b'
        "#);
    }

    #[test]
    fn frames_within_libraries_are_left_out_of_ipythons_layout() {
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
        ---------------------------------------------------------------------------
        KeyError                                  Traceback (most recent call last)
        Cell In[1], line 4
              2 def f():
        ----> 4 f()

        File /v/lib/python3.11/site-packages/pandas/core/frame.py:4330, in DataFrame.__getitem__(self, key)
           4326 
        -> 4330 indexer = self.columns.get_loc(key)

        [1 frame of libraries left out]

        File pandas/_libs/index.pyx:201, in pandas._libs.index.IndexEngine.get_loc()
        --> 201 'Could not get source'

        Cell In[1], line 9, in callback(x)
        ----> 9     x[1]

        KeyError: 'b'
        ");
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
        let parts = trimmed(&traceback);
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.iter().map(text).collect::<String>(), traceback);
    }
}
