//! Names that nobody knows, and the known ones that were probably meant.

pub(crate) fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let list = known.join(", ");
    let nearest = known
        .into_iter()
        .map(|known| (distance(name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.chars().count() / 3);
    match nearest {
        Some((_, nearest)) => {
            format!("there is no {kind} {name:?}, but {nearest:?}; there are {list}")
        }
        None => format!("there is no {kind} {name:?}; there are {list}"),
    }
}

/// Returns how many letters must be put in, left out or replaced to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, &counterpart) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != counterpart);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
