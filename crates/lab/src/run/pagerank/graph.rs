//! Graphs: read from a file of edges, or made with degrees by a power law.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};

use super::{BASE, DAMPING};
use crate::LabError;

/// The same graph in every run.
const SEED: u64 = 0x0050_6167;
/// Popularity of pages: a few have most of the links.
const EXPONENT: f64 = 0.8;

/// Neighbours of every node, by number.
pub struct Graph {
    neighbours: Vec<Vec<u32>>,
}

impl Graph {
    /// A graph of so many nodes and about so many edges for each.
    pub fn make(nodes: u32, edges_per_node: f64) -> Self {
        let mut random = SmallRng::seed_from_u64(SEED);
        let popular = Zipf::new(f64::from(nodes), EXPONENT).ok();
        let mut neighbours = Vec::with_capacity(nodes as usize);
        for node in 0..nodes {
            // Out-degrees are spread evenly in their logarithm around the mean.
            let degree = edges_per_node * random.random_range(-1.2f64..1.2).exp() / 1.26;
            let mut mine: Vec<u32> = (0..degree.round() as u32)
                .map(|_| {
                    let rank = popular.as_ref().map_or(1.0, |law| law.sample(&mut random));
                    // Popular pages are scattered over the numbers.
                    ((rank as u64 - 1) * 2_654_435_761 % u64::from(nodes)) as u32
                })
                .filter(|other| *other != node)
                .collect();
            mine.sort_unstable();
            mine.dedup();
            neighbours.push(mine);
        }
        Self { neighbours }
    }

    /// Reads edges, one a line, as SNAP writes them; lines that begin with `#` are passed over.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = fs::read_to_string(path).map_err(|error| {
            LabError::system(format!("read the graph {}", path.display()), error)
        })?;
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut neighbours: Vec<Vec<u32>> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let ends: Vec<u64> =
                line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
            let [from, to] = ends[..] else {
                return Err(LabError::Options(format!("{}: {line:?} is no edge", path.display())));
            };
            let mut number = |name: u64| {
                let next = numbers.len() as u32;
                let number = *numbers.entry(name).or_insert(next);
                if number == next {
                    neighbours.push(Vec::new());
                }
                number
            };
            let (from, to) = (number(from), number(to));
            neighbours[from as usize].push(to);
        }
        Ok(Self { neighbours })
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.neighbours.len() as u32
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        self.neighbours.iter().map(Vec::len).sum()
    }

    /// Neighbours of a node.
    pub fn of(&self, node: u32) -> &[u32] {
        &self.neighbours[node as usize]
    }

    /// Bytes of the graph as a text of edges.
    pub fn text_bytes(&self) -> usize {
        let digits = |number: u32| number.checked_ilog10().unwrap_or(0) as usize + 1;
        (0..self.nodes())
            .map(|node| {
                self.of(node).iter().map(|other| digits(node) + digits(*other) + 2).sum::<usize>()
            })
            .sum()
    }

    /// The graph as a text of edges.
    pub fn text(&self) -> String {
        let mut out = String::with_capacity(self.text_bytes());
        for node in 0..self.nodes() {
            for other in self.of(node) {
                out.push_str(&format!("{node}\t{other}\n"));
            }
        }
        out
    }

    /// Ranks after so many iterations, computed here: what every store must come to.
    pub fn ranks(&self, iterations: usize) -> Vec<f64> {
        let mut ranks = vec![1.0; self.neighbours.len()];
        for _ in 0..iterations {
            let mut sums = vec![0.0; ranks.len()];
            for (node, neighbours) in self.neighbours.iter().enumerate() {
                let share = ranks[node] / neighbours.len().max(1) as f64;
                for other in neighbours {
                    sums[*other as usize] += share;
                }
            }
            ranks = sums.into_iter().map(|sum| BASE + DAMPING * sum).collect();
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_graph_has_its_edges_and_some_popular_nodes() {
        let graph = Graph::make(5_000, 5.83);
        let mean = graph.edges() as f64 / 5_000.0;
        assert!((4.6..6.6).contains(&mean), "{mean}");
        let mut incoming = vec![0; 5_000];
        for node in 0..5_000 {
            for other in graph.of(node) {
                incoming[*other as usize] += 1;
            }
        }
        incoming.sort_unstable();
        assert!(incoming[4_999] > 20 * incoming[2_500].max(1), "{}", incoming[4_999]);
        assert_eq!(graph.text().len(), graph.text_bytes());
    }

    #[test]
    fn ranks_of_a_ring_stay_one_and_a_hub_is_high() {
        let ring = Graph { neighbours: vec![vec![1], vec![2], vec![0]] };
        assert!(ring.ranks(10).iter().all(|rank| (rank - 1.0).abs() < 1e-12));
        let hub = Graph { neighbours: vec![vec![], vec![0], vec![0]] };
        let ranks = hub.ranks(10);
        assert!((ranks[0] - (0.15 + 0.85 * 0.3)).abs() < 1e-12, "{ranks:?}");
    }
}
