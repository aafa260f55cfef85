//! The address of a page: it holds the whole of what is shown, so that it can be kept, sent and gone back to.

use std::fmt::Display;

use axum::http::Uri;
use form_urlencoded::Serializer;

/// What the page adds to the parameters of a search: the message that is open beside the hits, and how much
/// of its conversation.
pub(super) const OPEN: &str = "open";
pub(super) const BEFORE: &str = "before";
pub(super) const AFTER: &str = "after";
/// Before the name of a number of the ranking, as a slider gives it: `boost.reasoning=2` is `boost=reasoning=2`.
const BOOST: &str = "boost.";

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Address {
    path: String,
    pairs: Vec<(String, String)>,
}

impl Address {
    /// Takes an address without what it leaves empty.
    pub(super) fn of(uri: &Uri) -> Self {
        let given = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned();
        let pairs =
            given.filter(|(name, value)| !value.is_empty() || name == "explain").map(unslid).collect();
        Self { path: uri.path().to_owned(), pairs }
    }

    /// Leads to the hits of a query.
    pub(super) fn search(query: &str) -> Self {
        Self { path: "/".to_owned(), pairs: vec![("q".to_owned(), query.to_owned())] }
    }

    pub(super) fn get<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// Returns every value of a parameter; those with commas stand for several.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let given = self.pairs.iter().filter(move |(known, _)| known == name);
        given.flat_map(|(_, value)| value.split(',')).filter(|value| !value.is_empty())
    }

    /// Returns the text of a parameter as it stands, commas and all.
    pub(super) fn text(&self, name: &str) -> &str {
        self.pairs.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Tells whether a parameter has this among its values.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.all(name).any(|given| given == value)
    }

    /// Returns a number that a slider was set to.
    pub(super) fn boost(&self, number: &str) -> Option<f32> {
        let set = self.all("boost").filter_map(|boost| boost.split_once('='));
        set.filter(|(name, _)| *name == number).last()?.1.parse().ok()
    }

    /// Puts a value in place of those that a parameter has.
    pub(super) fn with(&self, name: &str, value: impl Display) -> Self {
        let mut address = self.without(&[name]);
        address.pairs.push((name.to_owned(), value.to_string()));
        address
    }

    pub(super) fn without(&self, names: &[&str]) -> Self {
        let pairs = self.pairs.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        Self { path: self.path.clone(), pairs: pairs.cloned().collect() }
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Writes the parameters as a query of the API: those of the page alone are left out.
    pub(super) fn query(&self) -> String {
        written(self.without(&[OPEN, BEFORE, AFTER]).pairs())
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)?;
        if self.pairs.is_empty() {
            return Ok(());
        }
        write!(f, "?{}", written(self.pairs()))
    }
}

fn unslid((name, value): (String, String)) -> (String, String) {
    match name.strip_prefix(BOOST) {
        Some(number) => ("boost".to_owned(), format!("{number}={value}")),
        None => (name, value),
    }
}

fn written<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Writes the address of something by its id.
pub(super) fn by_id(folder: &str, id: &str) -> String {
    let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
    // A blank is a plus sign only in queries.
    format!("/{folder}/{}", id.replace('+', "%20"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> Address {
        Address::of(&address.parse().expect("an address"))
    }

    #[test]
    fn what_is_empty_is_left_out_and_sliders_are_boosts() {
        let address = of("/?q=lock+order&since=&boost.reasoning=2&in=said,thought&explain=&open=7");
        assert_eq!(
            address.to_string(),
            "/?q=lock+order&boost=reasoning%3D2&in=said%2Cthought&explain=&open=7"
        );
        assert_eq!(address.query(), "q=lock+order&boost=reasoning%3D2&in=said%2Cthought&explain=");
        assert_eq!(address.boost("reasoning"), Some(2.0));
        assert_eq!(address.boost("content"), None);
        assert!(address.has("in", "thought") && !address.has("in", "did"));
    }

    #[test]
    fn values_are_put_in_place_of_others() {
        let address = of("/?q=a,b&in=said");
        assert_eq!(address.text("q"), "a,b");
        assert_eq!(address.with("open", 7).with("open", 8).to_string(), "/?q=a%2Cb&in=said&open=8");
        assert_eq!(address.without(&["q"]).to_string(), "/?in=said");
        assert_eq!(address.without(&["q", "in"]).to_string(), "/");
    }

    #[test]
    fn ids_are_one_segment_of_a_path() {
        assert_eq!(by_id("sessions", "a/b c?d+é"), "/sessions/a%2Fb%20c%3Fd%2B%C3%A9");
    }
}
