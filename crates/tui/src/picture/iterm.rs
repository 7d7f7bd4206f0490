//! Pictures as iTerm2 takes them: the file itself, with the cells that it is to fill.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Cells, Picture};

pub(super) fn payload(picture: &Picture, cells: Cells) -> String {
    let (bytes, Cells { columns, rows }) = (picture.bytes(), cells);
    let file = STANDARD.encode(bytes);
    let size = bytes.len();
    format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height={rows};preserveAspectRatio=1;\
         doNotMoveCursor=1:{file}\x07"
    )
}
