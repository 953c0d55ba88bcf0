//! What belongs to no class of changes.

use package::changes::aside;

use crate::{kept, text};

/// The report goes as a whole: what is in it, nobody has to understand.
#[test]
fn f1_a_report_that_nobody_can_read_belongs_to_no_class() {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n";
    for report in [
        "mutationSteps: nothing",
        "mutationSteps:\n    - image: [a, b]",
    ] {
        let told = format!("{kptfile}status:\n  renderStatus:\n    {report}\n");
        let files = kept(&[("Kptfile", &told)]);
        assert_eq!(text(&aside(&files), "Kptfile"), kptfile);
    }
}
