//! x
fn main() {
    let rows: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let path = std::path::Path::new("/tmp/tw/speed.db");
    let _ = std::fs::remove_file(path);
    let start = std::time::Instant::now();
    let mut s = afterthought_tools::synthetic::write(
        path,
        afterthought_tools::archive::Shape::V22,
        rows,
        7,
    )
    .unwrap();
    let t = start.elapsed();
    let p = s.planted.len();
    s.planted.clear();
    println!(
        "{s:?} planted {p} content/row {} reasoning/row {} {:?} rows/s {:.0}",
        s.chars_content / rows,
        s.chars_reasoning / rows,
        t,
        rows as f64 / t.as_secs_f64()
    );
}
