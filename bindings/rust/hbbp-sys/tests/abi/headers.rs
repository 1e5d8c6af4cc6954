//! Finds names in the C headers and in the version script, as simply as possible.

use std::collections::BTreeSet;
use std::path::Path;

pub struct Headers {
    pub structs: Vec<String>,
    pub constants: Vec<String>,
    pub functions: Vec<String>,
}

pub fn sorted(names: &[&str]) -> Vec<String> {
    names
        .iter()
        .map(|name| name.to_string())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

impl Headers {
    pub fn read(directory: &Path) -> Headers {
        let mut text = String::new();
        for entry in std::fs::read_dir(directory.join("hbbp")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().map_or(false, |extension| extension == "h") {
                text += &without_comments(&std::fs::read_to_string(path).unwrap());
            }
        }
        let words: Vec<&str> = text
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .collect();
        // A name with parameters follows.
        let is_called = |name: &&&str| {
            text.contains(&format!(" {name}(")) || text.contains(&format!("*{name}("))
        };
        let structs: Vec<&str> = text
            .split("typedef struct ")
            .skip(1)
            .filter(|rest| rest.split_whitespace().nth(1) == Some("{"))
            .filter_map(|rest| rest.split_whitespace().next())
            .collect();
        let constants: Vec<&str> = words
            .iter()
            .filter(|word| word.starts_with("HBBP_") && !is_of_the_preprocessor(word))
            .copied()
            .collect();
        let functions: Vec<&str> = words
            .iter()
            .filter(|word| word.starts_with("hbbp_"))
            .filter(is_called)
            .copied()
            .collect();
        Headers {
            structs: sorted(&structs),
            constants: sorted(&constants),
            functions: sorted(&functions),
        }
    }
}

fn is_of_the_preprocessor(word: &str) -> bool {
    word.ends_with("_H_")
        || ["HBBP_API", "HBBP_BUILDING_LIBRARY", "HBBP_INIT"].contains(&word)
        || word.starts_with("HBBP_EXTERN_C_")
        || word.starts_with("HBBP_DISABLE")
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |before, part| {
        before + " " + part.split_once("*/").map_or("", |(_, rest)| rest)
    })
}

/// Returns the functions of the stable ABI that a version script exports.
pub fn exported(script: &str) -> Vec<String> {
    let names: Vec<&str> = script
        .split(|c: char| c.is_whitespace())
        .filter_map(|word| word.strip_suffix(';'))
        .filter(|word| word.starts_with("hbbp_") && !word.starts_with("hbbp_experimental_"))
        .collect();
    sorted(&names)
}
