//! The files of the page, built from `web/` and embedded in the binary.

macro_rules! built {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist/", $name))
    };
}

/// The HTML of the page. `NONCE` is replaced by the nonce of its styles.
pub(super) const INDEX: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist/index.html"));

/// The sandboxed frame of active outputs.
pub(super) const FRAME: &[u8] = built!("frame.html");

/// Path, type and content of the other files.
pub(super) const FILES: &[(&str, &str, &[u8])] = &[
    ("/main.js", "text/javascript; charset=utf-8", built!("main.js")),
    ("/chunk.js", "text/javascript; charset=utf-8", built!("chunk.js")),
    ("/chat.js", "text/javascript; charset=utf-8", built!("chat.js")),
    ("/main.css", "text/css; charset=utf-8", built!("main.css")),
    ("/katex.js", "text/javascript; charset=utf-8", built!("katex.js")),
    ("/inter.woff2", "font/woff2", built!("inter.woff2")),
    ("/mono.woff2", "font/woff2", built!("mono.woff2")),
    ("/icon.svg", "image/svg+xml", built!("icon.svg")),
    ("/THIRD_PARTY.txt", "text/plain; charset=utf-8", built!("THIRD_PARTY.txt")),
];
