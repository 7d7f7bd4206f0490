//! The part of the screen that moves: the cell that runs, its time, what is left, the end of its output.

use std::time::Instant;

use cellist_output::{Ansi, clean};
use cellist_session::run::{Bar, Step};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Showing;
use super::blocks::title;
use crate::clock::spoken;
use crate::paint::{Ink, Paint};

/// Lines of output below the cell that runs.
const LINES: usize = 8;
const SPINNER: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];

pub(super) struct Live {
    paint: Paint,
    step: Option<Step>,
    since: Instant,
    showing: Showing,
    frame: usize,
    /// Lines on the screen that the next drawing takes away.
    drawn: usize,
}

impl Live {
    pub(super) fn new(paint: Paint) -> Live {
        Live { paint, step: None, since: Instant::now(), showing: Showing::default(), frame: 0, drawn: 0 }
    }

    pub(super) fn step(&self) -> Option<&Step> {
        self.step.as_ref()
    }

    pub(super) fn start(&mut self, step: Step, at: Instant) -> String {
        self.step = Some(step);
        self.since = at;
        self.showing = Showing::default();
        self.draw(None, at)
    }

    /// Takes away what was drawn.
    pub(super) fn clear(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\r\x1b[J"),
        }
    }

    pub(super) fn draw(&mut self, newest: Option<Showing>, now: Instant) -> String {
        if let Some(newest) = newest {
            self.showing = newest;
        }
        let Some(step) = &self.step else { return String::new() };
        self.frame = self.frame.wrapping_add(1);
        let (width, height) = size();
        let room = width.saturating_sub(8);
        let time = spoken(now.saturating_duration_since(self.since));
        let aside = match (step.count, step.count - step.position - 1) {
            (1, _) => time,
            (_, 0) => format!("{time} · the last one"),
            (_, more) => format!("{time} · {more} more"),
        };
        let words = fitting(&title(&step.title), room.saturating_sub(aside.width() + 2));
        let mut lines = vec![format!(
            "{} {} {} {}",
            self.paint.line(Ink::Position, SPINNER[self.frame % SPINNER.len()]),
            self.paint.line(Ink::Position, &format!("{:>3}", step.index)),
            self.paint.line(Ink::Title, &words),
            self.paint.line(Ink::Aside, &aside)
        )];
        if let Some(bar) = &self.showing.bar {
            lines.push(format!("      {}", self.paint.line(Ink::Added, &drawn_bar(bar, room))));
        }
        let text = clean(self.showing.text.as_bytes(), Ansi::Remove);
        let output: Vec<&str> = text.trim_end_matches('\n').lines().collect();
        let shown = LINES.min(height.saturating_sub(4));
        for line in &output[output.len().saturating_sub(shown)..] {
            lines.push(format!("      {}", fitting(line, room)));
        }
        let cleared = self.clear();
        self.drawn = lines.len();
        format!("{cleared}{}\n", lines.join("\n"))
    }
}

/// As much of a line as fits, so that the terminal never breaks it.
fn fitting(line: &str, room: usize) -> String {
    let mut used = 0;
    let mut shown = String::new();
    for letter in line.chars() {
        let letter = if letter == '\t' { ' ' } else { letter };
        used += letter.width().unwrap_or(0);
        if used > room {
            shown.pop();
            shown.push('…');
            break;
        }
        shown.push(letter);
    }
    shown
}

fn drawn_bar(bar: &Bar, room: usize) -> String {
    const WIDTH: usize = 24;
    let counted = match bar.total {
        Some(total) => format!("{}/{}", bar.done, total),
        None => bar.done.to_string(),
    };
    let share = bar.total.filter(|total| *total > 0.0).map(|total| (bar.done / total).clamp(0.0, 1.0));
    let blocks = share.map_or_else(String::new, |share| {
        let full = (share * WIDTH as f64) as usize;
        format!("{}{} ", "█".repeat(full), "░".repeat(WIDTH - full))
    });
    fitting(format!("{blocks}{counted} {}", bar.label).trim_end(), room)
}

/// Columns and lines of the terminal.
fn size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_exceeds_its_room_whatever_it_is_made_of() {
        assert_eq!(fitting("abc", 3), "abc");
        assert_eq!(fitting("abcd", 3), "ab…");
        assert_eq!(fitting("日本語", 4), "日…");
        assert_eq!(fitting("a\tb", 3), "a b");
    }

    #[test]
    fn a_bar_tells_how_far_it_is() {
        let bar = Bar { label: "rows".into(), done: 5.0, total: Some(10.0) };
        assert_eq!(drawn_bar(&bar, 80), format!("{}{} 5/10 rows", "█".repeat(12), "░".repeat(12)));
        let endless = Bar { label: String::new(), done: 5.0, total: None };
        assert_eq!(drawn_bar(&endless, 80), "5");
    }

    #[test]
    fn what_was_drawn_is_taken_away_again() {
        let step = Step { index: 3, position: 1, count: 4, title: "fit".into(), source: String::new() };
        let mut live = Live::new(Paint::never());
        let now = Instant::now();
        let first = live.start(step, now);
        assert!(first.contains("  3 fit 0 ms · 2 more\n"), "{first}");
        let showing = Showing { text: "one\ntwo\n".into(), bar: None };
        let second = live.draw(Some(showing), now);
        assert!(
            second.starts_with("\x1b[1A\r\x1b[J") && second.ends_with("      one\n      two\n"),
            "{second:?}"
        );
        assert_eq!(live.clear(), "\x1b[3A\r\x1b[J");
    }
}
