//! Which sessions belong to a workspace: by the git checkout, else by the working folder. Compares
//! names as they are recorded and never looks at the folders themselves.

use std::path::{Component, Path};

/// Ends a workspace that stands for a folder and all that is inside.
const INSIDE: &str = "/**";

/// Returns a workspace as archives name it: a folder by its absolute path, a git remote as it
/// stands, `folder/**` for the folder and all inside. Fails with the reason, where there is no such
/// folder to climb out of.
pub fn workspace_path(workspace: &str) -> Result<String, String> {
    if workspace.trim().is_empty() {
        return Err("name a folder or a git remote".to_owned());
    }
    if remote(workspace).is_some() {
        return Ok(workspace.to_owned());
    }
    let (folder, inside) = match workspace.strip_suffix(INSIDE) {
        Some("") => ("/", INSIDE),
        Some(folder) => (folder, INSIDE),
        None => (workspace, ""),
    };
    let climbs = Path::new(folder).components().any(|part| part == Component::ParentDir);
    let path = if climbs { std::fs::canonicalize(folder) } else { std::path::absolute(folder) };
    path.map(|path| path.display().to_string() + inside).map_err(|error| error.to_string())
}

/// A workspace to compare sessions with.
pub(super) struct Workspace {
    name: String,
    /// Folders inside count too.
    inside: bool,
}

impl Workspace {
    pub(super) fn of(workspace: &str) -> Self {
        match workspace.strip_suffix(INSIDE).filter(|_| remote(workspace).is_none()) {
            Some(folder) => Self { name: normal(folder), inside: true },
            None => Self { name: normal(workspace), inside: false },
        }
    }

    /// Tells whether a session belongs to the workspace. Its checkout decides where there is one: a
    /// session that worked in a folder below it belongs to the checkout, and to nothing else.
    pub(super) fn holds(&self, git_root: Option<&str>, cwd: Option<&str>) -> bool {
        if self.inside {
            return [git_root, cwd]
                .into_iter()
                .flatten()
                .any(|folder| is_inside(&normal(folder), &self.name));
        }
        git_root.or(cwd).is_some_and(|place| normal(place) == self.name)
    }
}

/// Returns the one form of all names of a place.
pub(super) fn normal(place: &str) -> String {
    let place = place.trim();
    if let Some(remote) = remote(place) {
        return remote;
    }
    let folder = place.trim_end_matches('/');
    folder.strip_suffix("/.git").unwrap_or(folder).trim_end_matches('/').to_owned()
}

/// Returns a place in a form that people know and that can be asked for again.
pub(super) fn shown(place: &str) -> String {
    match (remote(place.trim()), normal(place)) {
        (Some(remote), _) => format!("https://{remote}"),
        (None, folder) if folder.is_empty() => "/".to_owned(),
        (None, folder) => folder,
    }
}

/// Returns `host/path` of a git remote; `None` of what is none. Scheme, user and port are left out:
/// they say how to get there, not what is there.
fn remote(place: &str) -> Option<String> {
    let (host, path) = match place.split_once("://") {
        Some(("file", _)) | None => scp(place)?,
        Some((_, rest)) => rest.split_once('/')?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    (!host.is_empty() && !path.is_empty()).then(|| format!("{}/{path}", host.to_ascii_lowercase()))
}

/// Cuts `user@host:path`. Without a user it could as well be a folder.
fn scp(place: &str) -> Option<(&str, &str)> {
    let (host, path) = place.split_once(':')?;
    (host.contains('@') && !host.contains('/')).then_some((host, path))
}

fn is_inside(folder: &str, outer: &str) -> bool {
    folder.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_has_many_names() {
        for name in [
            "git@GitHub.com:a/b.git",
            "https://github.com/a/b",
            "ssh://git@github.com:22/a/b.git/",
            "https://u:p@github.com/a/b/",
        ] {
            assert_eq!(normal(name), "github.com/a/b", "{name}");
        }
        for name in ["/src/app", "/src/app/", "/src/app//", "/src/app/.git", " /src/app/.git/ "] {
            assert_eq!(normal(name), "/src/app", "{name}");
        }
        assert_ne!(normal("https://github.com/A/b"), normal("https://github.com/a/b"));
        for name in ["/src/a@b:c", "C:/src", "file:///src/app"] {
            assert_eq!(remote(name), None, "{name}");
        }
    }

    #[test]
    fn a_checkout_decides_before_the_folder() {
        let check = |workspace, git_root, cwd| Workspace::of(workspace).holds(git_root, cwd);
        assert!(check("/src/app/", Some("/src/app"), Some("/src/app/web")));
        assert!(!check("/src/app/web", Some("/src/app"), Some("/src/app/web")));
        assert!(check("/src/app", None, Some("/src/app/")));
        assert!(!check("/src/app", None, Some("/src/app/web")));
        assert!(!check("/src/app", None, None));
        assert!(check("/src/app/**", None, Some("/src/app/web")));
        assert!(check("/src/app/**", Some("/src/app/web"), None));
        assert!(!check("/src/app/**", None, Some("/src/application")));
        assert!(check("/**", None, Some("/src")));
    }
}
