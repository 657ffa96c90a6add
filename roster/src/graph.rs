//! Who waits for whom, as plain indices: circles, and the order of work. Knows no names and no texts.

use std::collections::{BTreeSet, VecDeque};

/// For each node the nodes it needs, in the order written.
pub(crate) struct Graph {
    needs: Vec<Vec<usize>>,
}

impl Graph {
    /// A graph without edges from a node to itself; those are no business of an order.
    pub(crate) fn new(mut needs: Vec<Vec<usize>>) -> Self {
        for (node, wanted) in needs.iter_mut().enumerate() {
            wanted.retain(|need| *need != node);
        }
        Self { needs }
    }

    /// Nodes by the number of steps that must come before: each level needs only earlier ones. Nodes in a
    /// circle, and what needs them, are in no level.
    pub(crate) fn levels(&self) -> Vec<Vec<usize>> {
        let mut placed: BTreeSet<usize> = BTreeSet::new();
        let mut levels = Vec::new();
        let mut waiting: Vec<usize> = (0..self.needs.len()).collect();
        loop {
            let (ready, rest): (Vec<usize>, Vec<usize>) = waiting
                .into_iter()
                .partition(|node| self.needs[*node].iter().all(|need| placed.contains(need)));
            if ready.is_empty() {
                return levels;
            }
            placed.extend(&ready);
            levels.push(ready);
            waiting = rest;
        }
    }

    /// Circles, each a list of nodes of which every one needs the next and the last needs the first.
    /// Every node that lies in a circle is in at least one of them.
    pub(crate) fn circles(&self) -> Vec<Vec<usize>> {
        let placed: BTreeSet<usize> = self.levels().into_iter().flatten().collect();
        let mut covered = placed.clone();
        let mut circles = Vec::new();
        for node in 0..self.needs.len() {
            if covered.contains(&node) {
                continue;
            }
            if let Some(circle) = self.shortest_circle(node, &placed) {
                covered.extend(&circle);
                circles.push(circle);
            }
        }
        circles
    }

    /// The shortest way from a node back to itself, around nodes that have a level.
    fn shortest_circle(&self, start: usize, placed: &BTreeSet<usize>) -> Option<Vec<usize>> {
        let mut came_from: Vec<Option<usize>> = vec![None; self.needs.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for &need in &self.needs[node] {
                if need == start {
                    return Some(way_to(node, &came_from));
                }
                if came_from[need].is_none() && !placed.contains(&need) {
                    came_from[need] = Some(node);
                    queue.push_back(need);
                }
            }
        }
        None
    }
}

/// The nodes on the way to `end`, in order.
fn way_to(end: usize, came_from: &[Option<usize>]) -> Vec<usize> {
    let mut way = vec![end];
    let mut node = end;
    while let Some(before) = came_from[node] {
        way.push(before);
        node = before;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(needs: &[&[usize]], levels: &[&[usize]], circles: &[&[usize]]) {
        let graph = Graph::new(needs.iter().map(|wanted| wanted.to_vec()).collect());
        assert_eq!(graph.levels(), levels, "levels of {needs:?}");
        assert_eq!(graph.circles(), circles, "circles of {needs:?}");
    }

    #[test]
    fn an_order_has_levels_and_a_circle_has_none() {
        check(&[], &[], &[]);
        check(
            &[&[], &[0], &[1], &[], &[3]],
            &[&[0, 3], &[1, 4], &[2]],
            &[],
        );
        check(&[&[1], &[0]], &[], &[&[0, 1]]);
        check(&[&[0]], &[&[0]], &[]);
        // Node 2 only waits for a circle.
        check(&[&[1], &[0], &[0]], &[], &[&[0, 1]]);
        check(&[&[1], &[2], &[0], &[]], &[&[3]], &[&[0, 1, 2]]);
        check(&[&[1], &[0, 2], &[1]], &[], &[&[0, 1], &[2, 1]]);
    }

    proptest! {
        #[test]
        fn either_all_nodes_have_a_level_or_there_is_a_circle(
            needs in prop::collection::vec(prop::collection::vec(0usize..8, 0..4), 8)
        ) {
            let graph = Graph::new(needs);
            let placed: usize = graph.levels().iter().map(Vec::len).sum();
            let circles = graph.circles();
            prop_assert_eq!(placed == 8, circles.is_empty());
            for circle in circles {
                for (at, node) in circle.iter().enumerate() {
                    let next = circle[(at + 1) % circle.len()];
                    prop_assert!(graph.needs[*node].contains(&next));
                }
            }
        }
    }
}
