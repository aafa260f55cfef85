//! Five searches the demo can answer and the agent's own search cannot. Data only.

/// A search and where its answer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// What a person would type.
    pub query: &'static str,
    /// Why the agent's own search returns nothing, in one sentence.
    pub about: &'static str,
    /// The session with the answer.
    pub session: &'static str,
    /// A piece of the answer as it stands decoded in its row.
    pub answer: &'static str,
}

/// The searches, in the order a demo would show them.
pub const QUESTIONS: &[Question] = &[
    Question {
        query: "why did the deploy fail",
        about: "Only a thought names the cause, and no message holds all five words in these forms.",
        session: "20260108_091400_ae91ce",
        answer: "the gate compares the digest of the lock file",
    },
    Question {
        query: "relay port 7409",
        about: "The number was found, thought about and never said.",
        session: "20260224_110500_ba698a",
        answer: "still listens on port 7409",
    },
    Question {
        query: "retry budget exhausted",
        about: "One identifier in camelCase is one word to the agent's index.",
        session: "20260203_103100_b2ad63",
        answer: "retryBudgetExhausted",
    },
    Question {
        query: "对账脚本",
        about: "A tool call's arguments are stored as escapes of escapes, so no scan sees them.",
        session: "20260127_100600_221fdc",
        answer: "对账脚本 --月份 2026-01",
    },
    Question {
        query: "时区",
        about: "The root cause stands in the reasoning alone, inside an unbroken run of Han.",
        session: "20260217_092000_4f9a2e",
        answer: "容器里的时区没有设置",
    },
];
