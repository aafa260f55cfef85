//! Strings words together into prose and into the lines tools print.

use std::fmt::Write;

use super::words::{Zipf, vocabulary};
use crate::random::Random;

const CJK_PERCENT: u64 = 2;

/// Common words of three scripts; what is wanted is their characters, not their sense.
const HAN: &str = "部署 脚本 数据库 连接 失败 昨晚 会议 项目 索引 查询 缓存 修复 日志 用户 服务器 \
    配置 测试 回滚 超时 内存 队列 备份 订单 报告 时间 问题 今天 需要 已经 可以 我们 检查 重新 \
    更新 版本 文件 接口 权限 迁移 监控";
const KANA: &str = "検索 インデックス を 再構築 した テスト が 失敗 する ログ の 確認 です サーバー に \
    接続 できない 設定 ファイル デプロイ";
const HANGUL: &str = "검색 색인을 다시 만들었다 서버 연결이 실패했다 로그를 확인 배포 오류 시간 초과 \
    데이터베이스 설정 파일";

const EXTENSIONS: [&str; 10] = [
    "rs", "py", "ts", "go", "toml", "md", "sql", "sh", "json", "yaml",
];

pub(super) struct Text {
    words: Vec<String>,
    zipf: Zipf,
    /// Own stream for [`Text::word`] and [`Text::path`], which name things outside of rows.
    names: Random,
}

impl Text {
    pub(super) fn new(seed: u64) -> Text {
        let words = vocabulary();
        let ranks = u32::try_from(words.len()).expect("a vocabulary is counted in thousands");
        Text {
            words,
            zipf: Zipf::new(ranks),
            names: Random::new(!seed),
        }
    }

    pub(super) fn word(&mut self) -> String {
        // Names want sense of difference: the commonest words name nothing.
        let rank = self.names.index(self.words.len() - 200) + 200;
        self.words[rank].clone()
    }

    pub(super) fn path(&mut self) -> String {
        let extension = self.names.pick(&EXTENSIONS);
        let folder = self.word();
        format!("src/{folder}/{}.{extension}", self.word())
    }

    /// Appends sentences until `chars` more characters stand there, give or take a sentence.
    pub(super) fn prose(&self, random: &mut Random, out: &mut String, chars: u64) {
        let end = out.len() + usize::try_from(chars).unwrap_or(0);
        if random.percent(CJK_PERCENT) {
            return foreign(random, out, end);
        }
        while out.len() < end {
            let words = random.between(5, 15);
            for at in 0..words {
                self.token(random, out);
                let comma = at + 1 < words && random.below(12) == 0;
                out.push_str(if comma { ", " } else { " " });
            }
            out.pop();
            out.push_str(". ");
        }
        out.pop();
    }

    /// Appends lines as compilers, searches and servers print them.
    pub(super) fn lines(&self, random: &mut Random, out: &mut String, chars: u64) {
        let end = out.len() + usize::try_from(chars).unwrap_or(0);
        while out.len() < end {
            self.line(random, out);
            out.push('\n');
        }
        out.pop();
    }

    fn line(&self, random: &mut Random, out: &mut String) {
        let number = random.below(900) + 1;
        let words = match random.below(8) {
            0 => print(
                out,
                format_args!("[{number:03}] {:016x} ", random.bits()),
                3,
            ),
            1 | 2 => {
                let (hour, minute) = (random.below(24), random.below(60));
                let level = random.pick(&["INFO", "INFO", "INFO", "WARN", "ERROR"]);
                print(
                    out,
                    format_args!("{hour:02}:{minute:02}:{:02} {level} ", number % 60),
                    9,
                )
            }
            3 | 4 => {
                let (folder, file) = (self.common(random), self.common(random));
                let extension = random.pick(&EXTENSIONS);
                print(
                    out,
                    format_args!("src/{folder}/{file}.{extension}:{number}: "),
                    7,
                )
            }
            _ => print(out, format_args!("    "), 11),
        };
        for _ in 0..words {
            self.token(random, out);
            out.push(' ');
        }
        out.pop();
    }

    /// Appends a word, or one time in 25 something only a program would write.
    fn token(&self, random: &mut Random, out: &mut String) {
        if random.below(25) > 0 {
            return out.push_str(self.common(random));
        }
        let (first, second) = (self.common(random), self.common(random));
        let (head, tail) = second.split_at(1);
        let number = random.below(1_000);
        match random.below(5) {
            0 => print(out, format_args!("{first}{}{tail}", head.to_uppercase()), 0),
            1 => print(out, format_args!("{first}_{second}"), 0),
            2 => print(
                out,
                format_args!("{first}/{second}.{}", random.pick(&EXTENSIONS)),
                0,
            ),
            3 => print(out, format_args!("{:010x}", random.bits() >> 24), 0),
            _ => print(out, format_args!("{number}"), 0),
        };
    }

    fn common(&self, random: &mut Random) -> &str {
        &self.words[self.zipf.rank(random)]
    }
}

/// Appends `text`; returns how many words are to follow it.
fn print(out: &mut String, text: std::fmt::Arguments<'_>, words: u64) -> u64 {
    out.write_fmt(text)
        .expect("writing to a String never fails");
    words
}

fn foreign(random: &mut Random, out: &mut String, bytes_end: usize) {
    let (script, between, stop) = random.weighted(&[
        (6, (HAN, "", "。")),
        (2, (KANA, "", "。")),
        (2, (HANGUL, " ", ". ")),
    ]);
    let words: Vec<&str> = script.split_whitespace().collect();
    while out.len() < bytes_end {
        for _ in 0..random.between(4, 9) {
            out.push_str(random.pick(&words));
            out.push_str(between);
        }
        out.push_str(stop);
    }
}
