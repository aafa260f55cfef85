//! Common words of scripts other than Latin. What is wanted is their characters and how often
//! they come, not their sense.

use super::words::Zipf;
use crate::random::Random;

/// A Han word of two characters that every corpus of some size holds.
pub const HAN_WORD: &str = "部署";
/// A Russian word that every corpus of some size holds.
pub const RUSSIAN_WORD: &str = "сервер";
/// A Japanese word that every corpus of some size holds.
pub const KANA_WORD: &str = "テスト";
/// A Korean word that every corpus of some size holds.
pub const HANGUL_WORD: &str = "서버";

const HAN: &str = "我们 部署 需要 已经 可以 脚本 数据库 连接 失败 昨晚 会议 项目 索引 查询 缓存 修复 日志 用户 \
    服务器 配置 测试 回滚 超时 内存 队列 备份 订单 报告 时间 问题 今天 检查 重新 更新 版本 文件 接口 权限 \
    迁移 监控 任务 结果 运行 错误 消息 会话 记录 搜索 历史 分支 合并 提交 代码 函数 变量 网络 磁盘 容器 镜像 \
    密钥 证书 端口 域名 负载 延迟 重启 线程 进程 事务 主键 字段 表格 图片 视频 邮件 日程 提醒";
const RUSSIAN: &str = "и в не на что это с как но сервер ошибка базы данных после запуска тест упал снова \
    нужно проверить логи очередь сообщений файл настройки развернуть вчера сегодня поиск по истории \
    сессия память закончилась откат версии обновить индекс запрос пользователь таблица память диск сеть \
    ветка слить коммит функция переменная порт сертификат задержка перезапуск поток процесс ещё всё ёлка";
const KANA: &str = "の を が に テスト は した です サーバー 検索 インデックス 再構築 失敗 する ログ 確認 接続 \
    できない 設定 ファイル デプロイ エラー 昨日 今日 データベース キュー メモリ バックアップ 更新 バージョン \
    ブランチ コミット 関数 変数 ネットワーク 会議 報告 ユーザー 履歴 実行 結果 問題 修正 監視 画像";
const HANGUL: &str = "서버 다시 로그를 확인 연결이 실패했다 검색 색인을 만들었다 배포 오류 시간 초과 데이터베이스 \
    설정 파일 어제 오늘 회의 메모리 대기열 백업 갱신 버전 브랜치 커밋 함수 변수 네트워크 보고서 사용자 기록 \
    실행 결과 문제 수정 감시 이미지 테스트가 끝났다 필요하다";

/// The words of one script, the commonest first, and what stands between and after them.
struct Script {
    words: Vec<&'static str>,
    zipf: Zipf,
    between: &'static str,
    stop: &'static str,
}

/// All scripts.
pub(super) struct Scripts {
    scripts: [Script; 4],
}

/// Of foreign texts: Han, Russian, Japanese, Korean.
const SHARES: &[(u64, usize)] = &[(45, 0), (25, 1), (16, 2), (14, 3)];

impl Scripts {
    pub(super) fn new() -> Scripts {
        let script = |words: &'static str, between, stop| {
            let words: Vec<&str> = words.split_whitespace().collect();
            let ranks = u32::try_from(words.len()).expect("a list of words in the source");
            Script { words, zipf: Zipf::new(ranks), between, stop }
        };
        let scripts = [
            script(HAN, "", "。"),
            script(RUSSIAN, " ", ". "),
            script(KANA, "", "。"),
            script(HANGUL, " ", ". "),
        ];
        Scripts { scripts }
    }

    /// Returns sentences of `chars` characters, give or take a word. One word in twelve is
    /// `latin`'s, without a space where the script has none: real ones glue them together.
    pub(super) fn prose(
        &self,
        random: &mut Random,
        chars: u64,
        mut latin: impl FnMut(&mut Random) -> String,
    ) -> String {
        let script = &self.scripts[random.weighted(SHARES)];
        let (mut text, mut written) = (String::new(), 0);
        let mut left = random.between(4, 12);
        while written < chars {
            let start = text.len();
            if random.below(12) == 0 {
                text.push_str(&latin(random));
            } else {
                text.push_str(script.words[script.zipf.rank(random)]);
            }
            left -= 1;
            text.push_str(if left == 0 { script.stop } else { script.between });
            if left == 0 {
                left = random.between(4, 12);
            }
            written += u64::try_from(text[start..].chars().count()).expect("a word");
        }
        text.truncate(text.trim_end().len());
        text
    }
}
