//! Keeps HTML away from the converter that would exhaust the stack or the parser's time.

use std::rc::Rc;

use htmd::Node;

use super::pieces::{Piece, Pieces};

/// Deeper nesting is not converted: the converter recurses.
const MAX_DEPTH: usize = 200;
/// More attributes in one tag are not parsed: the parser compares each with all others.
const MAX_ATTRIBUTES: usize = 500;

/// Elements that have no end tag.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Shapes of a drawing, which close themselves.
const SHAPES: [&str; 9] = ["path", "rect", "circle", "line", "polyline", "polygon", "ellipse", "use", "stop"];

/// Elements whose end tag may be left out, with those that end them when they begin.
const IMPLIED_END: [(&str, &[&str]); 11] = [
    ("p", &["p", "div", "ul", "ol", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "section"]),
    ("li", &["li"]),
    ("dt", &["dt", "dd"]),
    ("dd", &["dt", "dd"]),
    ("option", &["option", "optgroup"]),
    ("td", &["td", "th", "tr", "thead", "tbody", "tfoot"]),
    ("th", &["td", "th", "tr", "thead", "tbody", "tfoot"]),
    ("tr", &["tr", "thead", "tbody", "tfoot"]),
    ("thead", &["tbody", "tfoot"]),
    ("tbody", &["tbody", "tfoot"]),
    ("tfoot", &["tbody"]),
];

/// A cheap look at the tags, before parsing: the parser's time grows with the square of the depth, and
/// formatting elements left open are repeated in every paragraph after them. Errs on the side of risk.
pub(super) fn is_risky(html: &str) -> bool {
    let mut open: Vec<String> = Vec::new();
    let mut left_open = 0;
    for piece in Pieces::new(html) {
        let (Piece::Start(tag) | Piece::End(tag)) = &piece else { continue };
        if tag.uncertain || tag.attributes > MAX_ATTRIBUTES {
            return true;
        }
        match piece {
            Piece::Text(_) => {}
            Piece::Start(tag) => {
                let name = tag.name;
                let is_shape = tag.self_closing && SHAPES.contains(&name.as_str());
                if is_shape || VOID.contains(&name.as_str()) {
                    continue;
                }
                while open.last().is_some_and(|last| ends(&name, last)) {
                    open.pop();
                }
                open.push(name);
                if open.len() + left_open > MAX_DEPTH {
                    return true;
                }
            }
            Piece::End(tag) => {
                if let Some(at) = open.iter().rposition(|known| *known == tag.name) {
                    left_open += open[at + 1..].iter().filter(|inner| !may_stay_open(inner)).count();
                    open.truncate(at);
                }
            }
        }
    }
    false
}

/// Whether the parsed tree is deeper than the converter may go. Takes no stack itself.
pub(super) fn is_too_deep(tree: &Rc<Node>) -> bool {
    let mut level: Vec<Rc<Node>> = vec![tree.clone()];
    for _ in 0..=MAX_DEPTH {
        level = level.iter().flat_map(|node| node.children.borrow().clone()).collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}

fn ends(name: &str, open: &str) -> bool {
    IMPLIED_END.iter().any(|(element, by)| *element == open && by.contains(&name))
}

fn may_stay_open(name: &str) -> bool {
    IMPLIED_END.iter().any(|(element, _)| *element == name)
}
