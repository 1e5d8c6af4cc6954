//! A program that reads a log and profiles itself meanwhile: it prints which functions, lines and
//! instructions ran, and how often loops iterated.
//!
//! cargo run --profile profiling --example log_words [SECONDS]

use hbbp::{demangle, Analysis, MixKeys, PivotQuery, SessionOptions, SourceKind};
use std::collections::HashMap;
use std::error::Error;
use std::time::{Duration, Instant};

/// A pattern of `?`, any character, and `*`, any text.
mod glob {
    pub struct Pattern<'p>(pub &'p str);

    pub trait Matches {
        fn matches(&self, text: &str) -> bool;
    }

    impl Matches for Pattern<'_> {
        #[inline(never)]
        fn matches(&self, text: &str) -> bool {
            let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
            let (mut at, mut read, mut star) = (0, 0, None);
            while read < text.len() {
                if pattern.get(at) == Some(&b'*') {
                    star = Some((at, read));
                    at += 1;
                } else if pattern
                    .get(at)
                    .map_or(false, |&byte| byte == b'?' || byte == text[read])
                {
                    at += 1;
                    read += 1;
                } else if let Some((star_at, star_read)) = star {
                    star = Some((star_at, star_read + 1));
                    at = star_at + 1;
                    read = star_read + 1;
                } else {
                    return false;
                }
            }
            pattern[at..].iter().all(|&byte| byte == b'*')
        }
    }
}

mod log {
    use super::glob::{Matches, Pattern};
    use super::HashMap;

    const VERBS: [&str; 4] = ["GET", "PUT", "POST", "DELETE"];
    const PATHS: [&str; 5] = [
        "index.html",
        "static/app.js",
        "users",
        "login",
        "report.pdf",
    ];

    /// Makes the log of a server, which is always the same.
    pub fn write(lines: u32) -> String {
        let mut state = 2463534242u32;
        let mut next = |count: usize| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as usize % count
        };
        (0..lines)
            .map(|line| {
                let (verb, path) = (VERBS[next(4)], PATHS[next(5)]);
                format!(
                    "{line:08} {verb} /{path}?id={} {}\n",
                    next(997),
                    200 + next(4) * 100
                )
            })
            .collect()
    }

    /// Counts each word in the lines that match a pattern, and returns the most frequent word
    /// first.
    #[inline(never)]
    pub fn count_words<'l>(log: &'l str, pattern: &str) -> Vec<(&'l str, u64)> {
        let mut counts = HashMap::new();
        for line in log.lines().filter(|line| Pattern(pattern).matches(line)) {
            for word in line
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
            {
                *counts.entry(word).or_insert(0u64) += 1;
            }
        }
        let mut words: Vec<_> = counts.into_iter().collect();
        sort_by(&mut words, |left, right| {
            right.1.cmp(&left.1).then(left.0.cmp(right.0))
        });
        words
    }

    /// It is generic, so that its name has types.
    #[inline(never)]
    fn sort_by<T>(items: &mut [T], order: impl Fn(&T, &T) -> std::cmp::Ordering) {
        items.sort_by(order);
    }
}

fn work(time: Duration) -> usize {
    let log = log::write(3000);
    let start = Instant::now();
    let mut words = 0;
    while start.elapsed() < time {
        words += log::count_words(&log, "*GET*?id=*7* 200").len();
    }
    words
}

fn show_functions(analysis: &Analysis) -> hbbp::Result<()> {
    println!("\nfunctions");
    let query = PivotQuery::new().rows("function").top(8);
    for row in analysis.pivot(&query)?.rows() {
        let cell = row.total(0)?;
        let name = row.label(0)?.text;
        println!(
            "{:5.1} % ±{:.1}  {}",
            100.0 * cell.share,
            100.0 * cell.share_error,
            demangle(&name)
        );
    }
    Ok(())
}

/// Sums executed instructions by the line that they are written in, or inlined into.
fn show_lines(analysis: &Analysis) -> hbbp::Result<()> {
    let mut lines = HashMap::new();
    let mut all = 0.0;
    for block in analysis.blocks()? {
        let range = block.start..block.end;
        all += block.count * f64::from(block.instruction_count);
        let ranges: Vec<_> = analysis
            .line_ranges(block.module, range.clone())
            .filter_map(Result::ok)
            .collect();
        for instruction in analysis.instructions(block.module, range) {
            let address = instruction?.address;
            let lines_there = ranges
                .iter()
                .find(|found| found.start <= address && address < found.end);
            if let Some((innermost, line)) = lines_there
                .and_then(|found| found.frames.first())
                .and_then(|f| Some((f, f.line?)))
            {
                let key = (
                    innermost.file,
                    line,
                    innermost.function.clone().into_owned(),
                );
                *lines.entry(key).or_insert(0.0) += block.count;
            }
        }
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by(|left, right| right.1.total_cmp(&left.1));
    println!("\nsource lines");
    for ((file, line, function), count) in lines.iter().take(8) {
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        println!(
            "{:5.1} %  {file}:{line}  {}",
            100.0 * count / all,
            demangle(function)
        );
    }
    Ok(())
}

fn show_instructions(analysis: &Analysis) -> hbbp::Result<()> {
    println!("\ninstructions");
    for row in analysis.mix(MixKeys::MNEMONIC)?.rows().take(8) {
        println!("{:5.1} %  {}", 100.0 * row.share, row.mnemonic);
    }
    Ok(())
}

fn show_loops(analysis: &Analysis) -> hbbp::Result<()> {
    println!("\nloops");
    let functions = analysis.functions()?;
    let mut loops = analysis.loops()?.to_vec();
    loops.sort_by(|left, right| right.own_instructions.total_cmp(&left.own_instructions));
    for found in loops.iter().take(5) {
        let name = demangle(&functions[found.function].name);
        println!(
            "{:7.1} ±{:.1} iterations  {name} at 0x{:x}",
            found.trip_count, found.trip_count_error, found.header
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args()
        .nth(1)
        .map_or(Ok(2.0), |argument| argument.parse::<f64>())?;
    if !(0.0..=3600.0).contains(&seconds) {
        return Err("SECONDS is a number up to 3600".into());
    }
    let time = Duration::from_secs_f64(seconds);
    let options = SessionOptions::new()
        .source(SourceKind::Auto)
        .period(10_000_000);
    let (words, profile) = options.profile(|| work(time))?;
    println!(
        "{words} words, {} samples of {:?}",
        profile.info()?.samples,
        profile.sources()?[0].kind
    );
    let analysis = profile.analyze()?;
    show_functions(&analysis)?;
    show_lines(&analysis)?;
    show_instructions(&analysis)?;
    show_loops(&analysis)?;
    Ok(())
}
