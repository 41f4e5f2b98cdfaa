//! Uses what a compiler of Rust must keep: unwinding through crates, drops, thread-locals, generics, formats.
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic;
use unit::{checksum, median, Guard};

thread_local!(static COUNT: Cell<u32> = Cell::new(1));

macros::answer!();

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let mut words = BTreeMap::new();
    for word in "the crate the macro the script".split(' ') {
        *words.entry(word).or_insert(0) += 1;
    }
    println!("{words:?} {} {}", answer(), option_env!("BUILT").unwrap_or("by hand"));
    let caught = panic::catch_unwind(|| {
        let _guard = Guard("of the program");
        median(&[] as &[u32])
    });
    println!("{}", caught.is_err());
    let threads: Vec<_> = (0..3u8)
        .map(|number| {
            std::thread::spawn(move || {
                COUNT.with(|count| count.set(count.get() + u32::from(number)));
                COUNT.with(Cell::get)
            })
        })
        .collect();
    let counts: Vec<u32> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    println!("{counts:?} {:08x} {:?}", checksum(b"burnish"), median(&[3.5, 1.25, 9.0]));
}
