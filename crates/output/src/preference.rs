//! Which representation of a display a reader gets: one table, with the best of each reader first.

/// Readers of text: models, commands, logs. HTML is read as Markdown, JSON as a tree, an image as a line about it. Plain text
/// counts unless it only names an object.
pub const TEXT: [&str; 7] =
    ["text/markdown", "text/plain", "text/html", "text/latex", "application/json", "image/png", "image/jpeg"];

/// The terminal, which draws images, and HTML as far as it holds a table. All else it shows as text.
pub const TERMINAL: [&str; 4] = ["image/png", "image/jpeg", "text/markdown", "text/html"];

/// The page. Its copy stands with its renderers (`web/src/out/render.ts`), and a test compares the two.
pub const PAGE: [&str; 11] = [
    "application/vnd.plotly.v1+json",
    "text/html",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "text/markdown",
    "text/latex",
    "application/json",
    "text/plain",
];

/// Pictures, for models that look at them.
pub const PICTURES: [&str; 5] = ["image/png", "image/jpeg", "image/svg+xml", "image/webp", "image/gif"];
