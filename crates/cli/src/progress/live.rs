//! The live display of a run: finished cells, and the running cell redrawn below them.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use cellist_output::{Ansi, clean};
use cellist_session::execution::{CellReport, Status};
use cellist_session::sessions::CellStep;
use cellist_settings::Images;
use cellist_tui::{
    BlockDetail, BlockSource, BlockState, CellBlock, ImageProtocol, ImageSupport, OutputPiece, RenderOptions,
    detect_images, format_progress, report_pieces, size, to_terminal,
};

use super::LiveOutput;
use crate::paint::Paint;

/// Lines of output of the running cell.
const PREVIEW: usize = 20;
/// Lines of output below the cell that runs.
const LINES: usize = 8;
/// Named by the line that stands for hidden output.
const KEY: &str = "the file";

pub(super) struct LiveView {
    paint: Paint,
    images: Images,
    /// Detected when the first image arrives.
    picturing: OnceCell<ImageSupport>,
    step: Option<CellStep>,
    language: String,
    since: Instant,
    showing: LiveOutput,
    frame: usize,
    /// Lines that the next frame erases.
    drawn: usize,
}

impl LiveView {
    pub(super) fn new(paint: Paint, images: Images, language: String) -> LiveView {
        LiveView {
            paint,
            images,
            picturing: OnceCell::new(),
            step: None,
            language,
            since: Instant::now(),
            showing: LiveOutput::default(),
            frame: 0,
            drawn: 0,
        }
    }

    pub(super) fn start(&mut self, step: CellStep, at: Instant) -> String {
        self.step = Some(step);
        self.since = at;
        self.showing = LiveOutput::default();
        self.draw(None, at)
    }

    /// Erases the last frame.
    pub(super) fn clear(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\r\x1b[J"),
        }
    }

    /// Redraws the running cell.
    pub(super) fn draw(&mut self, newest: Option<LiveOutput>, now: Instant) -> String {
        if let Some(newest) = newest {
            self.showing = newest;
        }
        let Some(step) = &self.step else { return String::new() };
        self.frame = self.frame.wrapping_add(1);
        let remark = match (step.count, step.count - step.position - 1) {
            (1, _) => None,
            (_, 0) => Some("last cell".to_owned()),
            (_, more) => Some(format!("{more} more")),
        };
        let ansi = if self.paint.is_on() { Ansi::KeepColour } else { Ansi::Remove };
        let text = clean(self.showing.text.as_bytes(), ansi);
        let block = CellBlock {
            state: BlockState::Running(self.frame),
            time: Some(now.saturating_duration_since(self.since)),
            remarks: remark.into_iter().collect(),
            pieces: if text.is_empty() { Vec::new() } else { vec![OutputPiece::Text(text)] },
            progress: self.showing.bar.as_ref().map(format_progress),
            ..self.block(step)
        };
        let (width, height) = size();
        let room = height.saturating_sub(2).max(1);
        let shown = BlockDetail::Preview(LINES.min(room / 2));
        let mut drawn = block.render(&frame(width, shown, ImageSupport::WORDS));
        // Lines beyond the screen could not be erased, so the middle is cut.
        let over = drawn.lines.len().saturating_sub(room);
        drawn.lines.drain(1..1 + over.min(drawn.lines.len() - 1));
        let cleared = self.clear();
        self.drawn = drawn.lines.len();
        cleared + &to_terminal(&drawn, self.paint.is_on())
    }

    /// Draws a finished cell.
    pub(super) fn finish(&mut self, report: &CellReport) -> String {
        let told = &report.report;
        let state = match told.status {
            Status::Error if report.may_fail => BlockState::FailedAllowed,
            status => BlockState::from(status),
        };
        let pieces = report_pieces(told);
        let has_pictures = pieces.iter().any(|piece| matches!(piece, OutputPiece::Image(..)));
        let known = self.step.take().filter(|step| step.index == report.index);
        let plain = CellBlock { label: label(report.index), ..CellBlock::default() };
        let block = CellBlock {
            state,
            time: Some(Duration::from_millis(told.duration_ms)),
            pieces,
            ..known.as_ref().map_or(plain, |step| self.block(step))
        };
        let (width, _) = size();
        let picturing = if has_pictures { self.picturing() } else { ImageSupport::WORDS };
        let drawn = block.render(&frame(width, BlockDetail::Preview(PREVIEW), picturing));
        self.clear() + &to_terminal(&drawn, self.paint.is_on()) + "\n"
    }

    fn block(&self, step: &CellStep) -> CellBlock {
        let source = match step.source.trim().is_empty() {
            true => BlockSource::Hidden,
            false => BlockSource::Code { text: step.source.clone(), language: self.language.clone() },
        };
        // The title is the first line of the code; omit it if the code is shown.
        let is_said = step.source.lines().map(str::trim).any(|line| line == step.title.trim());
        let title = if is_said { String::new() } else { step.title.clone() };
        CellBlock { label: label(step.index), title, source, ..CellBlock::default() }
    }

    fn picturing(&self) -> ImageSupport {
        *self.picturing.get_or_init(|| picturing_for(self.images, self.paint))
    }
}

/// The image protocol of this terminal, limited by the user's setting.
pub(crate) fn picturing_for(images: Images, paint: Paint) -> ImageSupport {
    let images = if paint.is_on() { images } else { Images::Off };
    detect_images(protocol(images), |name| std::env::var(name).ok())
}

/// The protocol of a setting; `None` detects it.
fn protocol(images: Images) -> Option<ImageProtocol> {
    match images {
        Images::Auto => None,
        Images::Kitty => Some(ImageProtocol::Kitty),
        Images::Iterm => Some(ImageProtocol::Iterm),
        Images::Sixel => Some(ImageProtocol::Sixel),
        Images::Blocks => Some(ImageProtocol::HalfBlocks),
        Images::Off => Some(ImageProtocol::Words),
    }
}

fn label(index: usize) -> String {
    format!("[{index}]")
}

fn frame(width: usize, detail: BlockDetail, picturing: ImageSupport) -> RenderOptions {
    RenderOptions { width, detail, key: KEY, images: picturing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_is_taken_away_again() {
        let (cell, source) = (String::new(), String::new());
        let step = CellStep { index: 3, cell, position: 1, count: 4, title: "fit".into(), source };
        let mut live = LiveView::new(Paint::never(), Images::Off, "python".into());
        let now = Instant::now();
        let first = live.start(step, now);
        assert!(first.contains("[3] fit  0 ms · 2 more\n"), "{first}");
        let showing = LiveOutput { text: "one\ntwo\n".into(), bar: None };
        let second = live.draw(Some(showing), now);
        assert!(second.starts_with("\x1b[1A\r\x1b[J") && second.ends_with("  one\n  two\n"), "{second:?}");
        assert_eq!(live.clear(), "\x1b[3A\r\x1b[J");
    }
}
