"""Everything by keyboard: the keys, the order of the focus, and where it is afterwards."""
import pytest
from conftest import DESKTOP, LAPTOP
from playwright.sync_api import expect
from steps import focused, has, hits, in_sight, settled


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_keys_walk_the_hits_open_one_and_come_back(visit):
    page = visit("/?q=deploy+lock")
    ids = hits(page)
    press(page, "j")
    assert focused(page) == f"#{ids[0]}"
    press(page, "j", "j")
    assert focused(page) == f"#{ids[2]}"
    press(page, "k")
    assert focused(page) == f"#{ids[1]}"
    press(page, "Enter")
    has(page, open=ids[1].removeprefix("hit-"))
    expect(page.locator(".message[aria-current]")).to_be_visible()
    assert focused(page) == f"#{ids[1]}", "beside the hits, the focus stays among them"
    press(page, "Escape")
    has(page, open=None)
    settled(page)
    assert focused(page) == f"#{ids[1]}"


def test_walking_goes_from_the_first_hit_to_the_last_and_no_further(visit):
    page = visit("/?q=consumer")
    ids = hits(page)
    press(page, "k")
    assert focused(page) == f"#{ids[0]}"
    for id in ids[1:]:
        press(page, "j")
        assert focused(page) == f"#{id}"
        in_sight(page.locator(f"#{id}"))
    press(page, "j")
    assert focused(page) == f"#{ids[-1]}"


def test_a_hit_that_has_the_focus_is_not_below_the_head(visit):
    page = visit("/?q=consumer", size={"width": 1440, "height": 500})
    press(page, *"jjjjjjjjj", *"kkkkk")
    head = page.locator("header.top").bounding_box()
    hit = page.locator(".hit:focus-within").bounding_box()
    assert hit["y"] >= head["y"] + head["height"] - 1


@pytest.mark.parametrize("close", ["Escape", "button"])
def test_where_hits_and_reader_take_turns_the_focus_follows(visit, close):
    page = visit("/?q=deploy+lock", size=LAPTOP)
    ids = hits(page)
    press(page, "j", "j", "Enter")
    has(page, open=ids[1].removeprefix("hit-"))
    expect(page.locator("#main")).to_be_hidden()
    settled(page)
    assert focused(page) != "body", "the hit is out of sight: the focus belongs into the reader"
    if close == "Escape":
        press(page, "Escape")
    else:
        page.get_by_label("Close the conversation").press("Enter")
    has(page, open=None)
    settled(page)
    assert focused(page) == f"#{ids[1]}"
    in_sight(page.locator(f"#{ids[1]}"))


def test_closing_by_the_button_returns_to_the_hit(visit):
    page = visit("/?q=deploy+lock")
    ids = hits(page)
    press(page, "j", "Enter")
    has(page, open=ids[0].removeprefix("hit-"))
    page.get_by_label("Close the conversation").focus()
    press(page, "Enter")
    has(page, open=None)
    settled(page)
    assert focused(page) == f"#{ids[0]}"


def test_the_slash_leads_to_the_box_and_escape_out_of_it_keeping_what_was_typed(visit):
    page = visit("/?q=deploy+lock")
    press(page, "/")
    expect(page.locator("#q")).to_be_focused()
    assert page.evaluate("getSelection().toString()") == "deploy lock"
    press(page, "End", "Escape")
    expect(page.locator("#q")).not_to_be_focused()
    expect(page.locator("#q")).to_have_value("deploy lock")
    press(page, "j")
    assert focused(page) == f"#{hits(page)[0]}"
    has(page, q="deploy lock")
    expect(page.locator("#q")).to_have_value("deploy lock")


def test_typing_in_the_box_triggers_no_keys(visit):
    page = visit("/?q=consumer")
    page.locator("#q").fill("")
    page.keyboard.type("j/k?np")
    expect(page.locator("#q")).to_have_value("j/k?np")
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator("#keys")).to_be_hidden()
    has(page, q="j/k?np", offset=None)
    page.goto("/?q=consumer")
    page.locator("input[name=since]").focus()
    page.keyboard.type("nj?p")
    expect(page.locator("input[name=since]")).to_have_value("nj?p")
    expect(page.locator("#keys")).to_be_hidden()


def test_the_arrow_leads_from_the_box_to_the_hits(visit):
    page = visit("/?q=consumer")
    page.locator("#q").focus()
    press(page, "ArrowDown")
    assert focused(page) == f"#{hits(page)[0]}"


def test_pages_are_turned(visit):
    page = visit("/?q=consumer")
    first = hits(page)
    press(page, "n")
    has(page, offset=20)
    settled(page)
    assert hits(page) != first
    press(page, "j")
    assert focused(page) == f"#{hits(page)[0]}"
    press(page, "p")
    has(page, offset=None)
    settled(page)
    assert hits(page) == first


def test_the_list_of_keys_shows_and_goes(visit):
    page = visit("/?q=consumer")
    press(page, "j")
    before = focused(page)
    press(page, "?")
    expect(page.get_by_role("dialog")).to_be_visible()
    for key in ["/", "j", "k", "enter", "esc", "n", "p", "?"]:
        assert page.locator("#keys kbd", has_text=key).count() > 0, key
    press(page, "j")
    expect(page.get_by_role("dialog")).to_be_visible()
    press(page, "Escape")
    expect(page.locator("#keys")).to_be_hidden()
    assert focused(page) == before
    page.get_by_role("button", name="Keys").click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.locator("#keys")).to_be_hidden()


def test_the_first_tab_skips_to_the_results(visit):
    page = visit("/?q=consumer")
    press(page, "Tab")
    skip = page.locator("a.skip")
    expect(skip).to_be_focused()
    in_sight(skip)
    press(page, "Enter")
    expect(page.locator("#main")).to_be_focused()
    press(page, "Tab")
    assert page.evaluate("document.activeElement.closest('#main') !== null")


def test_tab_goes_through_all_in_the_order_of_the_page_and_shows_where_it_is(visit):
    page = visit("/?q=%22lock+file%22&explain=true", size=DESKTOP)
    page.locator("#main .hit.thought a.open").first.click()
    page.wait_for_url("**open=*")
    page.locator("#q").focus()
    page.evaluate("window.passed = []; document.activeElement.blur()")
    expected = page.evaluate(
        "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, [tabindex=\"0\"]')]"
        ".filter((on) => on.checkVisibility({ visibilityProperty: true })).length"
    )
    seen = []
    page.keyboard.press("Tab")
    for _ in range(expected + 20):
        place = page.evaluate(
            "(() => { const on = document.activeElement; if (on === document.body || window.passed.includes(on)) return null;"
            " window.passed.push(on); const style = getComputedStyle(on), after = getComputedStyle(on, '::after');"
            " const follows = window.passed.length < 2 || !!(window.passed.at(-2).compareDocumentPosition(on) & 4);"
            " const shows = style.outlineStyle !== 'none' || after.outlineStyle !== 'none' || on.matches('.months a');"
            " return { follows, shows, html: on.outerHTML.slice(0, 120) }; })()"
        )
        if place is None:
            break
        seen.append(place)
        page.keyboard.press("Tab")
    assert len(seen) >= expected - 3, (len(seen), expected)
    wrong = [place["html"] for place in seen[1:] if not (place["follows"] and place["shows"])]
    assert not wrong, wrong


def test_messages_are_walked_on_the_page_of_a_conversation(visit):
    page = visit("/sessions/20260701_120000_lengthy")
    press(page, "j", "j")
    assert focused(page) == f"#{page.locator('.message').nth(1).get_attribute('id')}"
    press(page, "n")
    has(page, **{"from": 50})
