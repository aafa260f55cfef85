//! Reads the demo's scripts. One line is one part of a message, its first character says which:
//!
//! `#` starts a scene, `>` a person, `<` the agent, `?` reasoning that stands alone, `~`
//! reasoning with the next answer, `$` a tool call (in the row of the answer before it, if there
//! is one), `|` the tool's output, `=` a photo. A line that starts with a space goes on.

/// One scene: a whole session, or an exchange that can happen in any.
pub(super) struct Scene {
    /// The fields of its `#` line.
    pub(super) head: Vec<&'static str>,
    pub(super) lines: Vec<Line>,
}

pub(super) struct Line {
    pub(super) mark: char,
    pub(super) text: String,
}

impl Scene {
    pub(super) fn read_all(script: &'static str) -> Vec<Scene> {
        let mut scenes: Vec<Scene> = Vec::new();
        for line in script.lines().filter(|line| !line.is_empty()) {
            let (mark, text) = line.split_at(1);
            if mark == "#" {
                let head = text.split('|').map(str::trim).collect();
                scenes.push(Scene { head, lines: Vec::new() });
                continue;
            }
            let scene = scenes.last_mut().expect("a script begins with a scene");
            scene.push(mark, text.strip_prefix(' ').unwrap_or(text));
        }
        scenes
    }

    /// Returns a field of the `#` line; empty if it is missing or a dash.
    pub(super) fn field(&self, index: usize) -> &'static str {
        self.head.get(index).copied().filter(|field| *field != "-").unwrap_or_default()
    }

    fn push(&mut self, mark: &str, text: &str) {
        match (mark.chars().next(), self.lines.last_mut()) {
            (Some(' '), Some(last)) => {
                last.text.push('\n');
                last.text.push_str(text);
            }
            (Some(mark), _) => self.lines.push(Line { mark, text: text.to_owned() }),
            (None, _) => unreachable!("empty lines were left out"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_on_after_a_space() {
        let scenes = Scene::read_all("# a | -\n> one\n  two\n    three\n\n# b\n? x");
        assert_eq!((scenes[0].field(0), scenes[0].field(1), scenes[0].field(9)), ("a", "", ""));
        assert_eq!(scenes[0].lines[0].text, "one\ntwo\n  three");
        assert_eq!((scenes[1].lines[0].mark, scenes.len()), ('?', 2));
    }
}
