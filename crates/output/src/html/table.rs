//! Tables of HTML as GFM tables: every cell in its column, spans filled in, several header rows as one.

use std::rc::Rc;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, Node};
use markup5ever_rcdom::NodeData;

/// Wider spans are taken for a mistake.
const MAX_SPAN: usize = 1000;
/// A table that would have more cells once its spans are filled in keeps the rows that fit.
const MAX_CELLS: usize = 200_000;
/// A cell's longer text is not repeated where the cell spans.
const MAX_REPEATED: usize = 200;

/// Handles `<table>` for the converter.
pub(super) fn handle(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    if is_in_cell(element.node) {
        // A table can't hold a table in Markdown: the inner one becomes text of the cell.
        return Some(handlers.walk_children(element.node));
    }
    let mut source = Source::default();
    source.collect(element.node);
    let mut text = String::from("\n\n");
    for caption in &source.captions {
        let caption = handlers.walk_children(caption).content;
        text.push_str(caption.trim());
        text.push_str("\n\n");
    }
    let grid = Grid::fill(handlers, &source);
    grid.write(&mut text);
    text.push('\n');
    Some(text.into())
}

/// The rows of a table as they stand in the HTML.
#[derive(Default)]
struct Source {
    captions: Vec<Rc<Node>>,
    head: Vec<Rc<Node>>,
    body: Vec<Rc<Node>>,
}

impl Source {
    fn collect(&mut self, table: &Rc<Node>) {
        for child in table.children.borrow().iter() {
            match tag(child) {
                Some("caption") => self.captions.push(child.clone()),
                Some("thead") => self.head.extend(rows(child)),
                Some("tbody" | "tfoot") => self.body.extend(rows(child)),
                Some("tr") => self.body.push(child.clone()),
                Some(_) | None => {}
            }
        }
        // Without a head, leading rows of nothing but header cells are the head.
        if self.head.is_empty() {
            let leading = self.body.iter().take_while(|row| is_header(row)).count();
            // A table of header cells only would have no rows left.
            let leading = if leading == self.body.len() { leading.min(1) } else { leading };
            self.head = self.body.drain(..leading).collect();
        }
    }
}

/// Cells by row and column, spans filled in.
struct Grid {
    head: Vec<Vec<String>>,
    body: Vec<Vec<String>>,
}

impl Grid {
    fn fill(handlers: &dyn Handlers, source: &Source) -> Self {
        Self { head: fill_rows(handlers, &source.head), body: fill_rows(handlers, &source.body) }
    }

    fn write(&self, text: &mut String) {
        let columns = self.head.iter().chain(&self.body).map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return;
        }
        write_row(text, &self.headings(columns));
        text.push('|');
        text.push_str(&" --- |".repeat(columns));
        text.push('\n');
        for row in &self.body {
            write_row(text, row);
        }
    }

    /// GFM has one header row: a column's headings are joined, equal neighbours once, blanks left out.
    fn headings(&self, columns: usize) -> Vec<String> {
        let mut headings: Vec<Vec<&str>> = vec![Vec::new(); columns];
        for row in &self.head {
            for (heading, cell) in headings.iter_mut().zip(row) {
                if !cell.is_empty() && heading.last() != Some(&cell.as_str()) {
                    heading.push(cell);
                }
            }
        }
        headings.into_iter().map(|heading| heading.join(" / ")).collect()
    }
}

/// A row may be shorter than the header: GFM fills it up.
fn write_row(text: &mut String, row: &[String]) {
    text.push('|');
    for cell in row {
        text.push(' ');
        text.push_str(cell);
        if !cell.is_empty() {
            text.push(' ');
        }
        text.push('|');
    }
    text.push('\n');
}

/// The span of an earlier row's cell in a column.
struct Covered {
    rows_left: usize,
    text: String,
}

/// Places the cells of a section. A cell that spans columns or rows stands in each of them, so that every row
/// can be read by itself.
fn fill_rows(handlers: &dyn Handlers, source: &[Rc<Node>]) -> Vec<Vec<String>> {
    let mut covered: Vec<Option<Covered>> = Vec::new();
    let mut grid = Vec::new();
    let mut cells_left = MAX_CELLS;
    for row in source {
        let mut cells: Vec<String> = Vec::new();
        for cell in row.children.borrow().iter() {
            if !matches!(tag(cell), Some("td" | "th")) {
                continue;
            }
            take_covered(&mut covered, &mut cells);
            let text = cell_text(handlers, cell);
            let repeated = if text.len() <= MAX_REPEATED { text.clone() } else { String::new() };
            let rows_left = span(cell, "rowspan") - 1;
            let columns = span(cell, "colspan").min(cells_left.saturating_sub(cells.len()));
            if rows_left > 0 {
                let end = cells.len() + columns;
                covered.resize_with(covered.len().max(end), || None);
                covered[cells.len()..end].fill_with(|| Some(Covered { rows_left, text: repeated.clone() }));
            }
            cells.push(text);
            cells.extend((1..columns).map(|_| repeated.clone()));
        }
        take_covered(&mut covered, &mut cells);
        if cells.len() > cells_left {
            break;
        }
        cells_left -= cells.len();
        if !cells.is_empty() {
            grid.push(cells);
        }
    }
    grid
}

/// Continues a row with the cells that reach down into it.
fn take_covered(covered: &mut [Option<Covered>], cells: &mut Vec<String>) {
    while let Some(slot) = covered.get_mut(cells.len())
        && let Some(above) = slot
    {
        cells.push(above.text.clone());
        above.rows_left -= 1;
        if above.rows_left == 0 {
            *slot = None;
        }
    }
}

/// A cell's content on one line, with nothing in it that would end the cell.
fn cell_text(handlers: &dyn Handlers, cell: &Rc<Node>) -> String {
    if let Some(text) = only_text(cell) {
        let words: Vec<&str> = text.split_whitespace().collect();
        return escape(&words.join(" "));
    }
    let content = handlers.walk_children(cell).content;
    let lines: Vec<String> = content
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| line.replace('|', "\\|"))
        .collect();
    lines.join("<br>")
}

/// The text of a cell that holds no elements, which is nearly every cell.
fn only_text(cell: &Rc<Node>) -> Option<String> {
    let mut whole = String::new();
    for child in cell.children.borrow().iter() {
        match &child.data {
            NodeData::Text { contents } => whole.push_str(&contents.borrow()),
            NodeData::Comment { .. } => {}
            NodeData::Element { .. }
            | NodeData::Document
            | NodeData::Doctype { .. }
            | NodeData::ProcessingInstruction { .. } => return None,
        }
    }
    Some(whole)
}

/// Escapes characters that Markdown would interpret inside a cell, and no more: a cell can't begin a list or heading,
/// and an underscore inside a word means nothing.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone().next().unwrap_or(' ');
        let special = match c {
            '|' | '*' | '`' | '<' | '[' | ']' => true,
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            '~' => before == '~' || after == '~',
            '\\' => after.is_ascii_punctuation(),
            '&' => after == '#' || after.is_ascii_alphabetic(),
            _ => false,
        };
        if special {
            escaped.push('\\');
        }
        escaped.push(c);
        before = c;
    }
    escaped
}

fn rows(section: &Rc<Node>) -> Vec<Rc<Node>> {
    section.children.borrow().iter().filter(|child| tag(child) == Some("tr")).cloned().collect()
}

fn is_header(row: &Rc<Node>) -> bool {
    let row = row.children.borrow();
    let mut cells =
        row.iter().filter_map(|cell| tag(cell)).filter(|tag| ["td", "th"].contains(tag)).peekable();
    cells.peek().is_some() && cells.all(|tag| tag == "th")
}

fn is_in_cell(node: &Rc<Node>) -> bool {
    let parent_of = |node: &Rc<Node>| {
        let parent = node.parent.take();
        let found = parent.as_ref().and_then(std::rc::Weak::upgrade);
        node.parent.set(parent);
        found
    };
    std::iter::successors(parent_of(node), parent_of).any(|parent| matches!(tag(&parent), Some("td" | "th")))
}

fn tag(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

/// A span attribute; one that is missing or makes no sense is 1.
fn span(cell: &Rc<Node>, name: &str) -> usize {
    let NodeData::Element { attrs, .. } = &cell.data else { return 1 };
    let attrs = attrs.borrow();
    let value =
        attrs.iter().find(|attr| &*attr.name.local == name).and_then(|attr| attr.value.trim().parse().ok());
    value.filter(|span| (1..=MAX_SPAN).contains(span)).unwrap_or(1)
}
