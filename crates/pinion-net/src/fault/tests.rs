use super::*;
use crate::testing::seed;

fn numbered(frames: u64) -> impl Iterator<Item = (u64, [u8; 8])> {
    (0..frames).map(|number| (number * 1000, number.to_be_bytes()))
}

fn through(text: &str, frames: u64) -> (Vec<(u64, u64)>, FaultCounts) {
    let mut lane = FaultLane::new(&text.parse().unwrap(), 0);
    let mut out = Vec::new();
    for (time_ps, bytes) in numbered(frames) {
        lane.push(time_ps, &bytes);
        out.extend(std::iter::from_fn(|| lane.take()));
    }
    lane.finish();
    out.extend(std::iter::from_fn(|| lane.take()));
    let number =
        |(time_ps, bytes): (u64, Vec<u8>)| (time_ps, u64::from_be_bytes(bytes.try_into().unwrap()));
    (out.into_iter().map(number).collect(), lane.counts())
}

#[test]
fn specifications_read_as_documented() {
    let spec: FaultSpec =
        "loss=1%, dup=0.5,reorder=0,distance=9,hold=2ms,seed=7,way=in".parse().unwrap();
    let expected = FaultSpec {
        loss: 0.01,
        duplicate: 0.5,
        distance: 9,
        hold_ps: 2_000_000_000,
        seed: 7,
        way: Some(Way::In),
        ..FaultSpec::default()
    };
    assert_eq!(spec, expected);
    assert!(spec.is_inward() && !spec.is_outward());
    for (text, complaint) in [
        ("loss", "loss=1%"),
        ("los=1%", "did you mean `loss`"),
        ("loss=2", "a probability"),
        ("loss=-1%", "a probability"),
        ("loss=nan", "a probability"),
        ("loss=1%,loss=2%", "twice"),
        ("distance=0", "at least 1"),
        ("hold=3", "a time"),
        ("way=up", "in (to the NIC)"),
        ("seed=x", "a whole number"),
    ] {
        let error = text.parse::<FaultSpec>().unwrap_err().to_string();
        assert!(error.contains(complaint), "{text}: {error}");
    }
}

#[test]
fn a_link_without_faults_changes_nothing() {
    let (out, counts) = through("seed=3", 100);
    assert!(
        out.iter()
            .enumerate()
            .all(|(at, &(time, number))| { (time, number) == (at as u64 * 1000, at as u64) })
    );
    assert_eq!((out.len(), counts.lost), (100, 0));
}

#[test]
fn frames_are_lost_repeated_and_overtaken_as_often_as_said() {
    let seed = seed("frames_are_lost_repeated_and_overtaken_as_often_as_said");
    let text = format!("loss=10%,dup=5%,reorder=20%,distance=3,seed={seed}");
    let (out, counts) = through(&text, 20_000);
    let near = |count: u64, share: f64| (count as f64 / (20_000.0 * share) - 1.0).abs() < 0.15;
    assert!(near(counts.lost, 0.1), "{counts}");
    assert!(near(counts.duplicated, 0.05 * 0.9), "{counts}");
    assert!(near(counts.reordered, 0.2 * 0.9), "{counts}");
    assert_eq!(out.len() as u64, 20_000 - counts.lost + counts.duplicated);
    assert!(out.is_sorted_by_key(|&(time, _)| time), "times go back");
    // Three frames overtake one at most, and those that are held themselves or lost in between.
    let (mut last, mut farthest) = (0, 0);
    for &(_, number) in &out {
        last = last.max(number);
        farthest = farthest.max(last - number);
    }
    assert!((3..40).contains(&farthest), "a frame fell {farthest} behind");
    assert_eq!(out, through(&text, 20_000).0, "the same seed gives the same faults");
}

#[test]
fn a_held_frame_goes_on_by_itself() {
    let mut lane = FaultLane::new(&"reorder=1,hold=5us".parse().unwrap(), 0);
    lane.push(1_000, b"one");
    assert_eq!((lane.take(), lane.next_deadline_ps()), (None, Some(5_001_000)));
    lane.release_due(5_000_999);
    assert_eq!(lane.take(), None);
    lane.release_due(6_000_000);
    assert_eq!(lane.take(), Some((5_001_000, b"one".to_vec())));
}

#[test]
fn a_damaged_frame_differs_in_one_bit() {
    let mut lane = FaultLane::new(&"corrupt=1".parse().unwrap(), 0);
    for _ in 0..100 {
        lane.push(0, &[0; 64]);
        let (_, bytes) = lane.take().unwrap();
        assert_eq!(bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    }
}
