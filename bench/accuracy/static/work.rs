// work N: N rounds of three kinds of work, as work.c and work.go.
use std::collections::HashMap;

fn sieve(n: usize) -> usize {
    let mut composite = vec![false; n + 1];
    let mut count = 0;
    for i in 2..=n {
        if composite[i] {
            continue;
        }
        count += 1;
        let mut j = i * i;
        while j <= n {
            composite[j] = true;
            j += i;
        }
    }
    count
}

fn words(n: usize) -> usize {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for i in 0..n {
        *counts.entry(format!("w{}", i * 7919 % 1009)).or_insert(0) += 1;
    }
    let mut names: Vec<String> = counts.keys().map(|name| name.to_uppercase()).collect();
    names.sort();
    names.len()
}

fn collatz(n: u64) -> u32 {
    let mut longest = 0;
    for i in 1..n {
        let mut v = i;
        let mut steps = 0;
        while v != 1 {
            v = if v % 2 == 0 { v / 2 } else { 3 * v + 1 };
            steps += 1;
        }
        longest = longest.max(steps);
    }
    longest
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    for _ in 0..rounds {
        println!("{} {} {}", sieve(200_000), words(20_000), collatz(20_000));
    }
}
