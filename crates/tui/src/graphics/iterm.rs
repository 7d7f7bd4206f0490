//! iTerm2's protocol: the file itself, with its size in cells.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{CellArea, TerminalImage};

pub(super) fn payload(picture: &TerminalImage, cells: CellArea) -> String {
    let (bytes, CellArea { columns, rows }) = (picture.bytes(), cells);
    let file = STANDARD.encode(bytes);
    let size = bytes.len();
    format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height={rows};preserveAspectRatio=1;\
         doNotMoveCursor=1:{file}\x07"
    )
}
