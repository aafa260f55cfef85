"""The address holds all that is shown: it can be sent, gone back to and loaded anew."""
from playwright.sync_api import expect
from steps import has, hits, in_sight, messages, settled

WHOLE = (
    "/?q=lock&in=thought&in=said&role=assistant&sort=newest&since=2026-02-01&until=2026-06-01"
    "&boost.reasoning=2.5&weights=said&group=session&explain=true"
)


def state(page):
    """Describes all that a person sees of a search, but for how long it took."""
    return {
        "hits": hits(page),
        "messages": messages(page),
        "open": page.locator("[aria-current]").evaluate_all("all => all.map((on) => on.id || on.textContent)"),
        "fields": page.locator("#query input, [form=query]:not(button)").evaluate_all(
            "all => all.map((field) => [field.name, field.type === 'checkbox' ? field.checked : field.value])"
        ),
        "scores": page.locator(".explain > summary").all_text_contents(),
        "total": page.locator("#total").text_content(),
        "unfolded": page.locator("#reader details[open]").evaluate_all("all => all.map((on) => on.id)"),
    }


def test_the_address_of_a_whole_state_opens_the_same_elsewhere(visit):
    page = visit(WHOLE)
    page.locator("#main .hit a.open").nth(1).click()
    page.wait_for_url("**open=*")
    page.locator("#reader a.further").first.click()
    page.wait_for_url(lambda url: "before=13" in url or "after=13" in url)
    settled(page)
    seen = state(page)
    assert seen["hits"] and len(seen["messages"]) > 4
    other = visit(page.url)
    assert state(other) == seen
    in_sight(other.locator(".message[aria-current]"))
    page.reload()
    assert state(page) == seen


def test_back_and_forward_restore_each_step(visit):
    page = visit()
    seen = []

    def step(act, wanted):
        act()
        page.wait_for_url(wanted)
        settled(page)
        seen.append((page.url, state(page)))

    step(lambda: page.goto("/?q=deploy+lock"), "**q=deploy*")
    step(lambda: page.locator("#filters input[value='thought']").click(), "**in=thought*")
    step(lambda: page.locator("#main .hit a.open").first.click(), "**open=*")
    step(lambda: page.locator("#main .hit a.open").nth(1).click(), lambda url: "open=" in url and url != seen[-1][0])
    step(lambda: page.get_by_label("Close the conversation").click(), lambda url: "open=" not in url)
    step(lambda: page.get_by_role("link", name="newest").click(), "**sort=newest*")
    step(lambda: page.get_by_role("link", name="Status").click(), "**/status")
    for place in [*reversed(range(len(seen) - 1)), *range(1, len(seen))]:
        back = place < len(seen) - 1 and page.url == seen[place + 1][0]
        page.go_back() if back else page.go_forward()
        page.wait_for_url(seen[place][0])
        page.wait_for_function("(title) => document.getElementById('total')?.textContent === title", arg=seen[place][1]["total"])
        settled(page)
        assert state(page) == seen[place][1], seen[place][0]


def test_going_back_returns_to_where_one_was_on_the_page(visit):
    page = visit("/?q=lock")
    link = page.locator("#main .hit").nth(12).locator("a.open")
    link.scroll_into_view_if_needed()
    place = page.evaluate("scrollY")
    assert place > 0
    # Without the pointer, which would be brought there by scrolling.
    page.get_by_role("link", name="Status").dispatch_event("click")
    expect(page.locator("h1")).to_have_text("Status")
    page.go_back()
    expect(page.locator("#main .hit").first).to_be_visible()
    page.wait_for_function("(place) => Math.abs(scrollY - place) < 40", arg=place)


def test_a_link_opens_in_another_tab_when_asked_so(visit):
    page = visit("/?q=deploy+lock")
    with page.context.expect_page() as opened:
        page.locator("#main .hit a.open").first.click(modifiers=["Control"])
    other = opened.value
    expect(other.locator(".message[aria-current]")).to_be_visible()
    has(page, open=None)


def test_times_are_the_readers_own(visit):
    page = visit("/?q=时区")
    time = page.locator("#main .hit time").first
    assert time.get_attribute("title") == time.get_attribute("datetime")
    assert "17:24" in time.text_content(), "09:24 UTC is 17:24 in Shanghai"
