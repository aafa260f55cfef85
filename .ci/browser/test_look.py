"""Light and dark, wide and narrow: colours, sizes, and what axe finds. SCREENS=1 leaves pictures."""
import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import DESKTOP, LAPTOP, PHONE
from playwright.sync_api import expect
from steps import colour, focused, has, in_sight, luminance, settled

SCREENS = Path(__file__).parents[2] / "target" / "screens"
SIZES = {"desktop": DESKTOP, "laptop": LAPTOP, "phone": PHONE}
PAGES = {
    "first": "/",
    "hits": "/?q=deploy+lock&explain=true",
    "narrowed": "/?q=consumer&in=thought&in=said&in=did&in=saw&role=assistant&sort=newest&source=cli&weights=thought",
    "weak": "/?q=deploy+zeppelin+quokkavile",
    "open": "/?q=deploy+lock&open=133",
    "none": "/?q=deplyo+lokc&source=cli",
    "deep": "/?q=consumer&offset=40",
    "grouped": "/?q=consumer&group=session",
    "chinese": "/?q=时区&open=935",
    "conversations": "/sessions",
    "conversation": "/sessions/20260203_103100_b2ad63",
    "message": "/messages/133",
    "status": "/status",
    "error": "/?q=x&limit=banana",
    "wide": "/?q=widesaid",
    "wide-open": "/?q=widesaid&open={wide}",
    "wide-conversation": "/sessions/20260701_110000_longline",
    "hostile": "/?q=hostilethought&open={hostile}",
}

# Axe takes its time; the others differ from these by their texts.
AXED = [
    "first", "hits", "narrowed", "weak", "open", "none", "conversations", "conversation", "message", "status", "error",
]


@pytest.fixture
def shown(visit, ids):
    """Opens a page of the list with everything on it unfolded."""
    def show(name, size="desktop", dark=False, unfold=True):
        if name == "error":
            visit.expect_fault("status of 400")
        page = visit(PAGES[name].format(**ids), size=SIZES[size], dark=dark, touch=size == "phone")
        settled(page)
        if os.environ.get("SCREENS"):
            SCREENS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=SCREENS / f"{name}-{size}-{'dark' if dark else 'light'}.png")
        if unfold:
            page.evaluate("document.querySelectorAll('details').forEach((on) => { on.open = true; })")
        return page
    return show


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", AXED)
def test_axe_finds_nothing_serious(shown, name, dark, size):
    page = shown(name, size, dark)
    found = Axe().run(page).response["violations"]
    grave = [
        (rule["id"], rule["impact"], [(node["target"], node["failureSummary"]) for node in rule["nodes"][:3]])
        for rule in found if rule["impact"] in ("serious", "critical")
    ]
    assert not grave, grave


@pytest.mark.parametrize("size", ["phone", "laptop", "desktop"])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_screen(shown, name, size):
    page = shown(name, size)
    wide = page.evaluate(
        "document.scrollingElement.scrollWidth <= innerWidth ? [] : [...document.body.querySelectorAll('*')]"
        ".filter((on) => on.getBoundingClientRect().right > innerWidth + 1).map((on) => on.outerHTML.slice(0, 100)).slice(0, 5)"
    )
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), wide


@pytest.mark.parametrize("name", ["first", "hits", "open", "conversation", "status"])
def test_the_system_says_light_or_dark(shown, name):
    light, dark = shown(name), shown(name, dark=True)
    for page, is_dark in [(light, False), (dark, True)]:
        paper = luminance(colour(page.locator("html"), "backgroundColor"))
        ink = luminance(colour(page.locator("body"), "color"))
        assert (paper < 0.2 < 0.7 < ink) if is_dark else (ink < 0.2 < 0.9 < paper), (paper, ink)


def test_filters_fold_on_a_phone_and_stand_open_on_a_desk(shown):
    phone = shown("hits", "phone", unfold=False)
    origin = phone.locator("#filters input[value='thought']")
    expect(origin).to_be_hidden()
    phone.locator(".filters > summary").tap()
    expect(origin).to_be_visible()
    origin.tap()
    has(phone, **{"in": "thought"})
    settled(phone)
    expect(origin).to_be_visible()
    expect(origin).to_be_checked()
    desk = shown("hits", unfold=False)
    expect(desk.locator("#filters input[value='thought']")).to_be_visible()
    expect(desk.locator(".filters > summary")).to_be_hidden()


def tapped(shown):
    """Opens a hit on a phone. Returns the page and the hit's id."""
    page = shown("hits", "phone", unfold=False)
    hit = page.locator("#main .hit").nth(7)
    id = hit.get_attribute("id")
    hit.locator("a.open").tap()
    has(page, open=id.removeprefix("hit-"))
    settled(page)
    return page, id


def test_on_a_phone_the_reader_takes_the_page_and_closing_returns_to_the_hit(shown):
    page, id = tapped(shown)
    expect(page.locator("#main")).to_be_hidden()
    expect(page.locator("#filters")).to_be_hidden()
    in_sight(page.locator(".message[aria-current]"))
    page.get_by_label("Close the conversation").tap()
    has(page, open=None)
    settled(page)
    expect(page.locator("#reader")).to_be_hidden()
    in_sight(page.locator(f"#{id}"))
    head = page.locator("header.top").bounding_box()
    assert page.locator(f"#{id}").bounding_box()["y"] >= head["y"] + head["height"] - 1
    assert focused(page) == f"#{id}"


@pytest.mark.parametrize("size", SIZES)
def test_the_way_to_close_is_in_sight_when_a_conversation_opens(shown, size):
    page = shown("hits", size, unfold=False)
    page.locator("#main .hit a.open").first.click()
    page.wait_for_url("**open=*")
    settled(page)
    close = page.get_by_label("Close the conversation")
    in_sight(close)
    place = close.bounding_box()
    middle = [place["x"] + place["width"] / 2, place["y"] + place["height"] / 2]
    assert page.evaluate("([x, y]) => document.elementFromPoint(x, y)?.className", middle) == "close"


def test_going_back_on_a_phone_returns_to_the_hit(shown):
    page, id = tapped(shown)
    page.go_back()
    has(page, open=None)
    settled(page)
    in_sight(page.locator(f"#{id}"))


def test_what_is_tapped_on_a_phone_is_large_enough(shown):
    page = shown("hits", "phone", unfold=False)
    page.locator(".filters > summary").tap()
    small = page.evaluate(
        "[...document.querySelectorAll('button, .orders a, .top nav a, .chip, .pager a, .filters summary, label.choice')]"
        ".filter((on) => on.checkVisibility()).map((on) => [on.textContent.trim(), on.getBoundingClientRect().height])"
        ".filter(([, height]) => height < 24)"
    )
    assert not small, small


@pytest.mark.parametrize("name", PAGES)
def test_each_page_has_one_heading_and_a_title(shown, name):
    page = shown(name, unfold=False)
    assert page.locator("h1").count() == 1
    assert page.title() and page.locator("html").get_attribute("lang")


