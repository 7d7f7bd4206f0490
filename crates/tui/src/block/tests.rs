//! Every kind of block, at three widths, folded and unfolded.

mod outputs;

use cellist_output::{Output, StreamName};

use super::*;
use crate::graphics::ImageSupport;
use crate::text::{line_width, to_plain};

fn options(width: usize, detail: BlockDetail) -> RenderOptions {
    RenderOptions { width, detail, key: "Ctrl-O", images: ImageSupport::WORDS }
}

/// The block at all widths, folded and unfolded. Equal screens are not repeated.
fn screens(block: &CellBlock) -> String {
    let (mut all, mut last) = (String::new(), String::new());
    for (detail, fold) in [(BlockDetail::Preview(4), "folded"), (BlockDetail::All, "unfolded")] {
        for width in [40, 80, 160] {
            let rendered = block.render(&options(width, detail));
            assert!(rendered.lines.iter().all(|line| line_width(line) <= width), "{width}: {rendered:?}");
            let text = to_plain(&rendered.lines);
            match text == last {
                true => all.push_str(&format!("= {fold} at {width}\n")),
                false => all.push_str(&format!("- {fold} at {width}\n{text}")),
            }
            last = text;
        }
    }
    all
}

fn code(text: &str) -> BlockSource {
    BlockSource::Code { text: text.into(), language: "python".into() }
}

fn showing(outputs: &[Output]) -> CellBlock {
    CellBlock {
        state: BlockState::Complete,
        label: "[3]".into(),
        title: "load the data".into(),
        time: Some(Duration::from_millis(420)),
        source: code("frame = load('data.csv')"),
        pieces: output_pieces(outputs),
        ..CellBlock::default()
    }
}

fn printed(text: &str) -> Output {
    Output::stream(StreamName::Stdout, text)
}

fn lines(count: usize) -> String {
    (1..=count).map(|at| format!("line {at}\n")).collect()
}

#[test]
fn each_state_has_its_symbol_and_word() {
    let states = [
        BlockState::Resting,
        BlockState::Pending,
        BlockState::Running(0),
        BlockState::Complete,
        BlockState::Failed,
        BlockState::FailedAllowed,
        BlockState::Cancelled,
        BlockState::TimedOut,
    ];
    let draw = |state: BlockState| {
        let block = CellBlock { state, source: BlockSource::Hidden, ..showing(&[]) };
        to_plain(&block.render(&options(80, BlockDetail::Preview(20))).lines)
    };
    insta::assert_snapshot!(states.map(draw).concat(), @"
    · [3] load the data  0.42 s
    ○ [3] load the data  pending · 0.42 s
    ⣾ [3] load the data  0.42 s
    ✓ [3] load the data  0.42 s
    ✗ [3] load the data  failed · 0.42 s
    ✗ [3] load the data  failed (allowed) · 0.42 s
    ⊘ [3] load the data  interrupted · 0.42 s
    ✗ [3] load the data  timed out · 0.42 s
    ");
}

#[test]
fn a_narrow_heading_drops_remarks_first_and_then_cuts_its_title() {
    let block = CellBlock {
        remarks: vec!["2 more".into(), "stale: edited since its run".into()],
        title: "a title that says quite a lot about what this cell is there for, and more".into(),
        source: BlockSource::Hidden,
        state: BlockState::Failed,
        ..showing(&[])
    };
    insta::assert_snapshot!(screens(&block), @"
    - folded at 40
    ✗ [3] a title that sa…  failed · 0.42 s
    - folded at 80
    ✗ [3] a title that say…  failed · 0.42 s · 2 more · stale: edited since its run
    - folded at 160
    ✗ [3] a title that says quite a lot about what this cell is there…  failed · 0.42 s · 2 more · stale: edited since its run
    - unfolded at 40
    ✗ [3] a title that sa…  failed · 0.42 s
    - unfolded at 80
    ✗ [3] a title that say…  failed · 0.42 s · 2 more · stale: edited since its run
    - unfolded at 160
    ✗ [3] a title that says quite a lot about what this cell is there…  failed · 0.42 s · 2 more · stale: edited since its run
    ");
    for width in 1..60 {
        assert!(line_width(&block.render(&options(width, BlockDetail::All)).lines[0]) <= width, "{width}");
    }
}

#[test]
fn folded_output_shows_its_end_and_the_key_for_the_rest() {
    insta::assert_snapshot!(screens(&showing(&[printed(&lines(8))])), @"
    - folded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      … 4 hidden (Ctrl-O)
      line 5
      line 6
      line 7
      line 8
    - folded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      … 4 earlier lines hidden (Ctrl-O shows all)
      line 5
      line 6
      line 7
      line 8
    = folded at 160
    - unfolded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      line 1
      line 2
      line 3
      line 4
      line 5
      line 6
      line 7
      line 8
    = unfolded at 80
    = unfolded at 160
    ");
}

#[test]
fn folded_code_shows_its_start() {
    let text: Vec<String> =
        (1..=8).map(|at| format!("x{at} = compute(first={at}, second='something', third=None)")).collect();
    let block = CellBlock { source: code(&text.join("\n")), ..showing(&[]) };
    insta::assert_snapshot!(screens(&block), @"
    - folded at 40
    ✓ [3] load the data  0.42 s
    │ x1 = compute(first=1, second='somethin
    │ g', third=None)
    │ x2 = compute(first=2, second='somethin
    │ g', third=None)
    │ x3 = compute(first=3, second='somethin
    │ g', third=None)
    │ x4 = compute(first=4, second='somethin
    │ g', third=None)
    │ … 4 hidden (Ctrl-O)
    - folded at 80
    ✓ [3] load the data  0.42 s
    │ x1 = compute(first=1, second='something', third=None)
    │ x2 = compute(first=2, second='something', third=None)
    │ x3 = compute(first=3, second='something', third=None)
    │ x4 = compute(first=4, second='something', third=None)
    │ … 4 more lines of code (Ctrl-O shows all)
    = folded at 160
    - unfolded at 40
    ✓ [3] load the data  0.42 s
    │ x1 = compute(first=1, second='somethin
    │ g', third=None)
    │ x2 = compute(first=2, second='somethin
    │ g', third=None)
    │ x3 = compute(first=3, second='somethin
    │ g', third=None)
    │ x4 = compute(first=4, second='somethin
    │ g', third=None)
    │ x5 = compute(first=5, second='somethin
    │ g', third=None)
    │ x6 = compute(first=6, second='somethin
    │ g', third=None)
    │ x7 = compute(first=7, second='somethin
    │ g', third=None)
    │ x8 = compute(first=8, second='somethin
    │ g', third=None)
    - unfolded at 80
    ✓ [3] load the data  0.42 s
    │ x1 = compute(first=1, second='something', third=None)
    │ x2 = compute(first=2, second='something', third=None)
    │ x3 = compute(first=3, second='something', third=None)
    │ x4 = compute(first=4, second='something', third=None)
    │ x5 = compute(first=5, second='something', third=None)
    │ x6 = compute(first=6, second='something', third=None)
    │ x7 = compute(first=7, second='something', third=None)
    │ x8 = compute(first=8, second='something', third=None)
    = unfolded at 160
    ");
}

#[test]
fn a_running_block_shows_its_progress() {
    let block = CellBlock {
        state: BlockState::Running(3),
        progress: Some((Some(0.5), "5/10 rows".into())),
        ..showing(&[printed("begun\n")])
    };
    insta::assert_snapshot!(screens(&block), @"
    - folded at 40
    ⢿ [3] load the data  0.42 s
    │ frame = load('data.csv')
      ████████████░░░░░░░░░░░░ 5/10 rows
      begun
    = folded at 80
    = folded at 160
    = unfolded at 40
    = unfolded at 80
    = unfolded at 160
    ");
}

#[test]
fn long_lines_are_cut_and_escape_sequences_are_escaped() {
    let block = CellBlock {
        title: "a\u{1b}]0;owned\u{7}".into(),
        label: "\u{9b}2J".into(),
        remarks: vec!["\u{1b}[2J".into()],
        ..showing(&[
            printed(&"x".repeat(9000)),
            Output::stream(StreamName::Stderr, "\u{1b}]52;c;eA==\u{7}b\u{1b}[31mr\n"),
        ])
    };
    let rendered = block.render(&options(80, BlockDetail::All));
    let text = to_plain(&rendered.lines);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{9b}'), "{text:?}");
    assert_eq!(text.matches('x').count(), 4000);
}

#[test]
fn a_progress_bar_has_a_share_and_a_text() {
    let bar = Bar { label: "rows".into(), done: 5.0, total: Some(10.0) };
    assert_eq!(format_progress(&bar), (Some(0.5), "5/10 rows".to_owned()));
    let endless = Bar { label: String::new(), done: 5.0, total: None };
    assert_eq!(format_progress(&endless), (None, "5".to_owned()));
}

#[test]
fn durations_have_a_fitting_precision() {
    let texts = [3, 420, 12_345, 125_000].map(|it| format_duration(Duration::from_millis(it)));
    assert_eq!(texts, ["3 ms", "0.42 s", "12.3 s", "2 min 05 s"]);
}
