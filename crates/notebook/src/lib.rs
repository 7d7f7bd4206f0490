//! A notebook document.
