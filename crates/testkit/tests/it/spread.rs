//! Git work over several holders, by repository.

use testkit::spread::{Fleet, Mutant, holder_of, run};

const SMALL: Fleet = Fleet {
    holders: 4,
    repositories: 40,
    variants: 60_000,
    loses: true,
    mutant: None,
};

#[test]
fn a_member_that_goes_moves_its_own_share_alone() {
    let (four, three) = ([0, 1, 2, 3], [0, 1, 3]);
    let mut shares = [0_usize; 4];
    for number in 0..4_000 {
        let url = format!("https://git.example.com/{number}.git");
        let before = holder_of(&url, &four).unwrap();
        let after = holder_of(&url, &three).unwrap();
        shares[before] += 1;
        assert!(
            before == after || before == 2,
            "{url} moved from {before} to {after}"
        );
    }
    assert!(
        shares.iter().all(|share| (900..1_100).contains(share)),
        "{shares:?}"
    );
    assert_eq!(holder_of("https://git.example.com/a.git", &[]), None);
}

#[test]
fn nothing_is_lost_or_done_twice_whoever_is_lost() {
    let (mut found, mut taken_over) = (0, 0);
    for seed in 0..20 {
        let report = run(seed, SMALL).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert!(report.moved > 0, "seed {seed}: {report}");
        found += report.found;
        taken_over += usize::from(report.away > 0);
    }
    assert!(found > 0, "no push of a lost holder was found");
    assert!(taken_over > 0, "nobody took anything over");
}

#[test]
fn mutants_of_spreading_are_noticed() {
    for mutant in Mutant::ALL {
        let fleet = Fleet {
            mutant: Some(mutant),
            ..SMALL
        };
        let noticed = (0..300).any(|seed| run(seed, fleet).is_err());
        assert!(noticed, "{mutant:?} was not noticed within 300 seeds");
    }
}
