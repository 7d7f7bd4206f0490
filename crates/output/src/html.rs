//! HTML as Markdown. The library does prose; tables are ours, because it loses the header cells that a
//! DataFrame has in each row. HTML too deep or too large to convert is shown without its tags instead.

mod depth;
mod pieces;
mod strip;
mod table;

use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};

/// Larger HTML is not converted: its tree would take many times its size, and no reader gets that much.
const MAX_BYTES: usize = 4 << 20;

/// Converts HTML of any quality to Markdown; empty where nothing is to be read.
pub fn to_markdown(html: &str) -> String {
    if html.len() > MAX_BYTES || depth::is_risky(html) {
        return strip::strip_tags(html);
    }
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder()
        .options(options)
        .skip_tags(vec![
            "head", "script", "style", "template", "noscript", "svg", "iframe", "object", "canvas",
        ])
        .add_handler(vec!["table"], table::handle)
        .build();
    match converter.html_to_tree(html) {
        Ok(tree) if !depth::is_too_deep(&tree) => converter.tree_to_markdown(&tree).trim().to_owned(),
        Ok(_) | Err(_) => strip::strip_tags(html),
    }
}
