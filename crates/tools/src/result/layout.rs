//! Selects the sections of a reply when there is no room for all.

/// The rendered forms of a section.
#[derive(Clone, Debug, Default)]
pub(super) struct SectionView {
    /// The whole section.
    pub(super) full: String,
    /// The shortest form of a failed section: its heading and its error.
    pub(super) short: Option<String>,
}

/// The shown part of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Full,
    Short,
    Nothing,
}

/// Failed sections that are always shown.
pub(super) const MOST_FAILED: usize = 20;

/// Selects the sections that fit into `room` bytes. Failed sections come first: each with its
/// error, then in full while there is room. Then come the last section and the shortest ones, to
/// show as many as possible.
pub(super) fn extents(views: &[SectionView], room: usize) -> Vec<Extent> {
    let mut extents = vec![Extent::Nothing; views.len()];
    let mut left = room;
    let size = |text: &str| text.len() + 1;
    for (index, view) in views.iter().enumerate().filter(|(_, view)| view.short.is_some()).take(MOST_FAILED) {
        let short = view.short.as_deref().map_or(0, size);
        if short <= left {
            left -= short;
            extents[index] = Extent::Short;
        }
    }
    for (index, view) in views.iter().enumerate() {
        let short = view.short.as_deref().map_or(0, size);
        if extents[index] == Extent::Short && size(&view.full) <= left + short {
            left = left + short - size(&view.full);
            extents[index] = Extent::Full;
        }
    }
    let last = views.len().saturating_sub(1);
    let mut others: Vec<usize> = (0..views.len()).filter(|at| extents[*at] == Extent::Nothing).collect();
    others.sort_by_key(|at| (*at != last, views[*at].full.len()));
    for index in others {
        let needed = size(&views[index].full);
        if needed <= left {
            left -= needed;
            extents[index] = Extent::Full;
        }
    }
    extents
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn view(bytes: usize, failed: Option<usize>) -> SectionView {
        SectionView { full: "x".repeat(bytes), short: failed.map(|bytes| "e".repeat(bytes)) }
    }

    #[test]
    fn errors_come_first_then_the_last_and_the_shortest_sections() {
        use Extent::{Full, Nothing, Short};
        let views = [view(50, None), view(100, Some(9)), view(10, None), view(300, Some(9)), view(80, None)];
        for (room, expected) in [
            (5, [Nothing; 5]),
            (10, [Nothing, Short, Nothing, Nothing, Nothing]),
            (20, [Nothing, Short, Nothing, Short, Nothing]),
            (31, [Nothing, Short, Full, Short, Nothing]),
            (111, [Nothing, Full, Nothing, Short, Nothing]),
            (200, [Nothing, Full, Nothing, Short, Full]),
            (254, [Full, Full, Full, Short, Full]),
            (545, [Full; 5]),
        ] {
            assert_eq!(extents(&views, room), expected, "{room}");
        }
    }

    proptest! {
        #[test]
        fn sections_fit_and_errors_take_precedence(
            sizes in prop::collection::vec((1usize..400, prop::option::of(1usize..60)), 0..40),
            room in 0usize..4000,
        ) {
            let views: Vec<SectionView> =
                sizes.iter().map(|(full, short)| view((*full).max(short.unwrap_or(0)), *short)).collect();
            let shown = extents(&views, room);
            let size = |(view, extent): (&SectionView, &Extent)| match extent {
                Extent::Full => view.full.len() + 1,
                Extent::Short => view.short.as_ref().map_or(0, String::len) + 1,
                Extent::Nothing => 0,
            };
            prop_assert!(views.iter().zip(&shown).map(size).sum::<usize>() <= room);
            let errors: usize = views.iter().filter_map(|view| view.short.as_ref()).take(MOST_FAILED)
                .map(|short| short.len() + 1).sum();
            if errors <= room {
                let failed = views.iter().zip(&shown).filter(|(view, _)| view.short.is_some()).take(MOST_FAILED);
                prop_assert!(failed.into_iter().all(|(_, extent)| *extent != Extent::Nothing));
            }
        }
    }
}
