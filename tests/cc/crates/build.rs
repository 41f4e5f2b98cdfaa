fn main() {
    println!("cargo:rustc-env=BUILT=by a script");
}
