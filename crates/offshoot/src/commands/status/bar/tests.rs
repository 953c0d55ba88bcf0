use super::*;

fn counts(all: &[(Standing, usize)]) -> BTreeMap<Standing, usize> {
    all.iter().copied().collect()
}

fn widths(all: &[(Standing, usize)], width: usize) -> Vec<usize> {
    let cells = cells(&counts(all), width);
    cells.into_iter().map(|(_, n)| n).collect()
}

const MARKS: Look = Look {
    width: 80,
    coloured: false,
};

#[test]
fn cells_are_shares_of_the_whole_bar() {
    let half = [(Standing::UpToDate, 5), (Standing::Draft, 5)];
    assert_eq!(widths(&half, 20), [10, 10]);
    let third = [
        (Standing::UpToDate, 1),
        (Standing::Draft, 1),
        (Standing::Proposed, 1),
    ];
    assert_eq!(widths(&third, 20).iter().sum::<usize>(), 20);
    assert_eq!(widths(&[(Standing::Failed, 3)], 20), [20]);
    assert!(widths(&[(Standing::Failed, 0)], 20).is_empty());
}

#[test]
fn whatever_occurs_has_a_cell_and_the_bar_is_full() {
    let rare = [
        (Standing::UpToDate, 9_997),
        (Standing::Conflicts, 1),
        (Standing::Failed, 2),
    ];
    assert_eq!(widths(&rare, 20), [18, 1, 1]);
    for width in SHORTEST..60 {
        for big in [1, 10, 1_000, 1_000_000] {
            let all = Standing::ALL.map(|s| (s, if s == Standing::Gates { big } else { 1 }));
            let widths = widths(&all, width);
            assert_eq!(widths.len(), all.len());
            assert_eq!(widths.iter().sum::<usize>(), width, "{widths:?}");
            assert!(widths.iter().all(|n| *n > 0), "{widths:?}");
        }
    }
}

#[test]
fn a_bar_stands_beside_each_row_within_the_width() {
    let text = "SET    VARIANTS\nweb    4\nempty  0\n";
    let (web, empty) = (
        counts(&[(Standing::UpToDate, 3), (Standing::Conflicts, 1)]),
        counts(&[]),
    );
    let rows = [&web, &empty];
    let look = Look { width: 38, ..MARKS };
    assert_eq!(
        look.table(&[text], &rows),
        "SET    VARIANTS\n\
         web    4          ✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓≠≠≠≠≠\n\
         empty  0\n\
         \n\
         ✓ up to date  ≠ conflicts to decide\n"
    );
    for width in 30..120 {
        let shown = Look { width, ..MARKS }.table(&[text], &rows);
        let longest = shown.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(longest <= width && shown.contains('✓'), "{width}: {shown}");
    }
}

#[test]
fn a_narrow_terminal_has_the_counts_alone() {
    let text = "SET    VARIANTS\nweb    4\n";
    let web = counts(&[(Standing::UpToDate, 4)]);
    let look = |width| Look { width, ..MARKS };
    assert_eq!(look(29).table(&[text], &[&web]), text);
    assert_ne!(look(30).table(&[text], &[&web]), text);
    // A table of fewer columns may still have room.
    let short = "SET\nweb\n";
    let shown = look(18).table(&[text, short], &[&web]);
    assert!(shown.starts_with("SET\nweb   ✓✓✓✓✓✓✓✓✓✓✓✓\n"), "{shown}");
}

#[test]
fn colours_are_ended_and_marks_have_none() {
    let text = "SET\nweb\n";
    let web = counts(&[(Standing::UpToDate, 1), (Standing::Failed, 1)]);
    let coloured = Look {
        width: 80,
        coloured: true,
    };
    let shown = coloured.table(&[text], &[&web]);
    let bar = "\x1b[32m████████████████████\x1b[0m\x1b[31m████████████████████\x1b[0m";
    assert!(shown.contains(bar), "{shown}");
    assert_eq!(
        shown.matches("\x1b[0m").count() * 2,
        shown.matches('\x1b').count()
    );
    let marked = MARKS.table(&[text], &[&web]);
    assert!(
        !marked.contains('\x1b') && !marked.contains('█'),
        "{marked}"
    );
}
