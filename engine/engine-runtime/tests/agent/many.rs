//! Many agents on one thread.

use super::fakes::{Bench, calls, finished, says};
use futures_util::future::join_all;

#[tokio::test]
async fn two_hundred_agents_share_one_thread() {
    let benches: Vec<Bench> = (0..200)
        .map(|task| {
            let round = || calls(&[("a", "read"), ("b", "edit")]);
            let mut bench = Bench::new([round(), round(), says("ready")]);
            bench.spec.agent.task = format!("t{task}").parse().unwrap();
            bench
        })
        .collect();
    let outcomes = join_all(benches.iter().map(|bench| bench.run(&[]))).await;
    assert_eq!(outcomes, vec![finished("ready"); 200]);
    assert!(benches.iter().all(|bench| bench.ran().len() == 4));
}
