"""What the ranking is set to by sliders and sets, and how it accounts for a score."""
import re

import pytest
from playwright.sync_api import expect
from steps import has, hits, settled


def scores(page):
    return [float(text.split()[1]) for text in page.locator(".explain > summary").all_text_contents()]


def unfold(page):
    page.locator("#weights > summary").click()


def test_a_slider_stands_in_the_address_and_changes_the_scores(visit):
    page = visit("/?q=lock&explain=true")
    order, plain = hits(page), scores(page)
    unfold(page)
    slider = page.locator("input[name='boost.reasoning']")
    slider.focus()
    page.keyboard.press("End")
    has(page, boost_reasoning=5)
    settled(page)
    expect(slider).to_be_focused()
    expect(page.locator("label.slider", has=slider).locator("output")).to_have_text("5.00")
    assert scores(page) != plain and hits(page) != order
    assert page.locator("#main .hit").first.get_attribute("class") == "hit thought"
    page.keyboard.press("Home")
    has(page, boost_reasoning=0)
    settled(page)
    assert page.locator("#main .hit.thought").count() < 3


def test_a_slider_put_back_leaves_the_address(visit):
    page = visit("/?q=lock&boost.reasoning=1.05")
    unfold(page)
    page.locator("input[name='boost.reasoning']").focus()
    page.keyboard.press("ArrowLeft")
    has(page, boost_reasoning=None, boost=None)


def test_what_the_slider_says_is_what_the_api_ranks_by(visit, site):
    page = visit("/?q=lock&boost.reasoning=3&boost.content=0.5")
    answer = site.asked("/api/v1/search?q=lock&boost=reasoning%3D3,content%3D0.5&limit=20")
    assert hits(page) == [f"hit-{hit['message_id']}" for hit in answer["results"]]


def test_sets_of_weights_are_links(visit):
    page = visit("/?q=consumer&explain=true")
    plain = scores(page)
    unfold(page)
    links = page.get_by_role("group", name="Sets of weights")
    links.get_by_role("link", name="thought").click()
    has(page, weights="thought")
    expect(links.get_by_role("link", name="thought")).to_have_attribute("aria-current", "true")
    expect(page.locator("#weights")).to_have_attribute("open", "")
    assert scores(page) != plain
    expect(page.locator("input[name='boost.reasoning']")).not_to_have_value("1")
    page.locator("input[name='boost.content']").focus()
    page.keyboard.press("End")
    has(page, weights="thought", boost_content=5)
    links.get_by_role("link", name="balanced").click()
    has(page, weights=None, boost_content=None, boost=None)
    settled(page)
    assert scores(page) == plain


TREE = """root => {
  const read = (item) => {
    const below = [...item.querySelectorAll(':scope > ul > li')].map(read);
    const said = [...item.childNodes].filter((part) => part.nodeName !== 'UL').map((part) => part.textContent).join('');
    return { number: Number(item.querySelector(':scope > b').textContent), said, below };
  };
  return read(root);
}"""


def add_up(tree):
    """Checks a tree of numbers, each rounded to three places, and returns how many it has."""
    below = [part["number"] for part in tree["below"]]
    if "is the sum of" in tree["said"]:
        assert abs(tree["number"] - sum(below)) <= 0.0005 * (len(below) + 1) + 1e-9, tree
    elif "is the best of" in tree["said"]:
        assert abs(tree["number"] - max(below)) <= 1e-9, tree
    else:
        assert not below, tree
    return 1 + sum(add_up(part) for part in tree["below"])


@pytest.mark.parametrize("query", ["deploy+lock", "consumer", "%22lock+file%22", "时区", "lock*", "deploy+lock&weights=thought&boost.phrase=3"])
def test_scores_are_shown_as_trees_that_add_up(visit, query):
    page = visit(f"/?q={query}&explain=true")
    numbers = 0
    for hit in page.locator("#main .hit").all():
        tree = hit.locator(".explain > ul > li").evaluate(TREE)
        said = float(re.search(r"[\d.]+", hit.locator(".explain > summary").text_content())[0])
        assert abs(said - tree["number"]) <= 0.0055, (said, tree)
        numbers += add_up(tree)
    assert numbers > page.locator("#main .hit").count(), "trees must have branches"


def test_a_tree_unfolds_on_its_hit_without_opening_it(visit):
    page = visit("/?q=deploy+lock")
    page.get_by_label("how scores come about").check()
    has(page, explain="true")
    first = page.locator("#main .hit .explain").first
    expect(first.locator("ul").first).to_be_hidden()
    first.locator("summary").click()
    expect(first.locator("ul").first).to_be_visible()
    has(page, open=None)
