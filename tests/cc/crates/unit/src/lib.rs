//! Functions that a program uses, one of which panics.
pub struct Guard(pub &'static str);

impl Drop for Guard {
    fn drop(&mut self) {
        println!("dropped: {}", self.0);
    }
}

/// The value in the middle; panics if there is none.
pub fn median<T: PartialOrd + Copy>(values: &[T]) -> T {
    let _guard = Guard("of the library");
    let mut sorted = values.to_vec();
    sorted.sort_by(|one, other| one.partial_cmp(other).unwrap());
    sorted[checked_middle(sorted.len())]
}

fn checked_middle(count: usize) -> usize {
    assert!(count > 0, "no value of {count}");
    count / 2
}

#[no_mangle]
pub extern "C" fn checksum_of(bytes: *const u8, count: usize) -> u32 {
    checksum(unsafe { std::slice::from_raw_parts(bytes, count) })
}

/// CRC-32.
pub fn checksum(bytes: &[u8]) -> u32 {
    let mut rest = !0u32;
    for byte in bytes {
        rest ^= u32::from(*byte);
        for _ in 0..8 {
            rest = (rest >> 1) ^ if rest & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !rest
}

/// The words of a text by their first letters, sorted.
pub fn index(text: &str) -> Vec<(char, Vec<String>)> {
    let mut found: Vec<(char, Vec<String>)> = Vec::new();
    for word in text.split_whitespace() {
        let first = word.chars().next().unwrap_or('?').to_ascii_lowercase();
        match found.iter_mut().find(|(letter, _)| *letter == first) {
            Some((_, words)) => words.push(word.to_owned()),
            None => found.push((first, vec![word.to_owned()])),
        }
    }
    found.sort();
    found
}
