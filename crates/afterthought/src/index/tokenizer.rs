//! Gives our analysis to tantivy.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::text::{Analyzer, Tokens};

/// The name under which the analysis is registered.
pub(super) const TOKENIZER: &str = "agent-text";

/// Our analysis as a tantivy tokenizer.
#[derive(Clone, Default)]
pub(super) struct AgentTokenizer {
    analyzer: Analyzer,
    token: Token,
}

/// The stream over one text.
pub(super) struct AgentTokenStream<'a> {
    tokens: Tokens<'a>,
    token: &'a mut Token,
}

impl Tokenizer for AgentTokenizer {
    type TokenStream<'a> = AgentTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> AgentTokenStream<'a> {
        AgentTokenStream { tokens: self.analyzer.tokens(text), token: &mut self.token }
    }
}

impl TokenStream for AgentTokenStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(token) = self.tokens.advance() else { return false };
        self.token.text.clear();
        self.token.text.push_str(token.text);
        self.token.offset_from = token.from;
        self.token.offset_to = token.to;
        self.token.position = token.position;
        self.token.position_length = token.span;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
