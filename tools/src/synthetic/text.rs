//! Strings words together into prose and into the lines tools print.

use std::io::Write;

use super::words::{CELL_BYTES, Zipf, vocabulary};
use crate::random::Random;

/// Of the texts that are prose; two rows in a hundred then hold some of it.
const CJK_PERCENT: u64 = 4;

/// Common words of three scripts; what is wanted is their characters, not their sense.
const HAN: &str = "部署 脚本 数据库 连接 失败 昨晚 会议 项目 索引 查询 缓存 修复 日志 用户 服务器 \
    配置 测试 回滚 超时 内存 队列 备份 订单 报告 时间 问题 今天 需要 已经 可以 我们 检查 重新 \
    更新 版本 文件 接口 权限 迁移 监控";
const KANA: &str = "検索 インデックス を 再構築 した テスト が 失敗 する ログ の 確認 です サーバー に \
    接続 できない 設定 ファイル デプロイ";
const HANGUL: &str = "검색 색인을 다시 만들었다 서버 연결이 실패했다 로그를 확인 배포 오류 시간 초과 \
    데이터베이스 설정 파일";

const EXTENSIONS: [&str; 10] = ["rs", "py", "ts", "go", "toml", "md", "sql", "sh", "json", "yaml"];

pub(super) struct Text {
    words: Vec<Word>,
    zipf: Zipf,
    /// Own stream for [`Text::word`] and [`Text::path`], which name things outside of rows.
    names: Random,
}

/// A word and a space in a cell of fixed size: most of the time goes into appending words, and
/// a copy whose length is known when compiling takes a third of the time of one that is not.
struct Word {
    cell: [u8; CELL_BYTES],
    len: usize,
}

impl Word {
    fn new(word: &str) -> Word {
        let mut cell = [b' '; CELL_BYTES];
        cell[..word.len()].copy_from_slice(word.as_bytes());
        Word { cell, len: word.len() }
    }

    fn bytes(&self) -> &[u8] {
        &self.cell[..self.len]
    }
}

impl Text {
    pub(super) fn new(seed: u64) -> Text {
        let words: Vec<Word> = vocabulary().iter().map(|word| Word::new(word)).collect();
        let ranks = u32::try_from(words.len()).expect("a vocabulary is counted in thousands");
        Text { words, zipf: Zipf::new(ranks), names: Random::new(!seed) }
    }

    pub(super) fn word(&mut self) -> String {
        // Names want sense of difference: the commonest words name nothing.
        let rank = self.names.index(self.words.len() - 200) + 200;
        text_of(self.words[rank].bytes().to_vec())
    }

    pub(super) fn path(&mut self) -> String {
        let extension = self.names.pick(&EXTENSIONS);
        let folder = self.word();
        format!("src/{folder}/{}.{extension}", self.word())
    }

    /// Returns sentences of `chars` characters, give or take a sentence.
    pub(super) fn prose(&self, random: &mut Random, chars: u64) -> String {
        if random.percent(CJK_PERCENT) {
            return foreign(random, chars);
        }
        let (mut out, end) = room(chars);
        while out.len() < end {
            for _ in 0..random.between(1, 3) {
                for _ in 0..random.between(3, 7) {
                    self.token(random, &mut out);
                }
                out.pop();
                out.extend(b", ");
            }
            out.truncate(out.len() - 2);
            out.extend(b". ");
        }
        out.pop();
        text_of(out)
    }

    /// Returns lines as compilers, searches and servers print them.
    pub(super) fn lines(&self, random: &mut Random, chars: u64) -> String {
        let (mut out, end) = room(chars);
        while out.len() < end {
            let words = self.line_head(random, &mut out);
            for _ in 0..words {
                self.token(random, &mut out);
            }
            out.pop();
            out.push(b'\n');
        }
        out.pop();
        text_of(out)
    }

    /// Starts a line; returns how many words are to follow.
    fn line_head(&self, random: &mut Random, out: &mut Vec<u8>) -> u64 {
        let number = random.below(900) + 1;
        match random.below(8) {
            0 => {
                print(out, format_args!("[{number:03}] {:016x} ", random.bits()));
                3
            }
            1 | 2 => {
                let (hour, minute) = (random.below(24), random.below(60));
                let level = random.pick(&["INFO", "INFO", "INFO", "WARN", "ERROR"]);
                print(out, format_args!("{hour:02}:{minute:02}:{:02} {level} ", number % 60));
                9
            }
            3 | 4 => {
                out.extend(b"src/");
                self.joined(random, out, b'/');
                print(out, format_args!(".{}:{number}: ", random.pick(&EXTENSIONS)));
                7
            }
            _ => {
                out.extend(b"    ");
                11
            }
        }
    }

    /// Appends a word and a space, or one time in 25 something only a program would write.
    fn token(&self, random: &mut Random, out: &mut Vec<u8>) {
        if random.below(25) > 0 {
            let word = self.common(random);
            out.extend_from_slice(&word.cell);
            return out.truncate(out.len() - CELL_BYTES + word.len + 1);
        }
        match random.below(5) {
            0 => {
                out.extend(self.common(random).bytes());
                let word = self.common(random).bytes();
                out.push(word[0].to_ascii_uppercase());
                out.extend(&word[1..]);
            }
            1 => self.joined(random, out, b'_'),
            2 => self.joined(random, out, b'.'),
            3 => print(out, format_args!("{:010x}", random.bits() >> 24)),
            _ => print(out, format_args!("{}", random.below(1_000))),
        }
        out.push(b' ');
    }

    fn joined(&self, random: &mut Random, out: &mut Vec<u8>, by: u8) {
        out.extend(self.common(random).bytes());
        out.push(by);
        out.extend(self.common(random).bytes());
    }

    fn common(&self, random: &mut Random) -> &Word {
        &self.words[self.zipf.rank(random)]
    }
}

fn print(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to memory never fails");
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("all words are ASCII")
}

/// An empty text with room for `chars` characters and the end of a line, and where to stop.
fn room(chars: u64) -> (Vec<u8>, usize) {
    let end = usize::try_from(chars).expect("a text is far shorter than memory");
    (Vec::with_capacity(end + 200), end)
}

fn foreign(random: &mut Random, chars: u64) -> String {
    let (script, between, stop) =
        random.weighted(&[(6, (HAN, "", "。")), (2, (KANA, "", "。")), (2, (HANGUL, " ", ". "))]);
    let words: Vec<&str> = script.split_whitespace().collect();
    let (mut out, mut left) = (String::new(), chars);
    while left > 0 {
        for _ in 0..random.between(4, 9) {
            let word = random.pick(&words);
            out.push_str(word);
            out.push_str(between);
            // Words of these scripts have two or three characters each.
            left = left.saturating_sub(3);
        }
        out.push_str(stop);
    }
    out
}
