"""Without a script every page is whole: forms and links do it all."""
import re

from playwright.sync_api import expect
from steps import has, hits, in_sight, messages, total


def test_search_by_the_form(visit):
    page = visit(script=False)
    expect(page.locator("h1")).to_contain_text("said, thought and did")
    page.locator("#q").fill("deploy lock")
    page.get_by_role("button", name="Search", exact=True).click()
    has(page, q="deploy lock")
    assert total(page) > 0 and page.locator("#main .hit mark").count() > 0
    expect(page.locator("#help-button")).to_be_hidden()


def test_filters_and_sliders_are_applied_by_a_button(visit, site):
    page = visit("/?q=lock", script=False)
    page.locator("#filters input[value='thought']").check()
    page.locator("#filters input[name='role'][value='assistant']").check()
    page.locator("input[name='since']").fill("2026-02-01")
    page.locator("#weights > summary").click()
    slider = page.locator("input[name='boost.reasoning']")
    slider.press("End")
    page.locator("#filters button", has_text="Apply").click()
    page.wait_for_url("**boost.reasoning=5*")
    has(page, q="lock", role="assistant", since="2026-02-01", **{"in": "thought"})
    expect(page.locator("#filters input[value='thought']")).to_be_checked()
    expect(slider).to_have_value("5")
    answer = site.asked("/api/v1/search?q=lock&in=thought&role=assistant&since=2026-02-01&boost=reasoning%3D5&limit=20")
    assert hits(page) == [f"hit-{hit['message_id']}" for hit in answer["results"]]
    page.get_by_role("link", name="newest").click()
    page.wait_for_url("**sort=newest*")
    assert total(page) == answer["total"]["value"]


def test_on_a_phone_filters_unfold(visit):
    page = visit("/?q=lock", script=False, size={"width": 390, "height": 844})
    expect(page.locator("#filters input[value='thought']")).to_be_hidden()
    page.locator(".filters > summary").click()
    page.locator("#filters input[value='thought']").check()
    page.locator("#filters button", has_text="Apply").click()
    has(page, **{"in": "thought"})


def test_open_read_on_and_close(visit):
    page = visit("/?q=deploy+lock", script=False)
    hit = page.locator("#main .hit.thought").first
    id = hit.get_attribute("id").removeprefix("hit-")
    hit.locator("a.open").click()
    has(page, open=id)
    expect(page.locator(f"#thought-{id}")).to_have_attribute("open", "")
    assert page.locator(f"#thought-{id} mark").count() > 0
    shown = messages(page)
    page.locator("#reader a.further").first.click()
    page.wait_for_url(f"**#m{id}")
    assert set(shown) < set(messages(page))
    in_sight(page.locator(f"#m{id}"))
    page.locator(f"#thought-{id} summary").click()
    expect(page.locator(f"#thought-{id}")).not_to_have_attribute("open", "")
    page.get_by_role("link", name="The whole conversation").click()
    page.wait_for_url(f"**/sessions/*#m{id}")
    in_sight(page.locator(f"#m{id}"))
    page.go_back()
    page.get_by_label("Close the conversation").click()
    has(page, open=None)


def test_pages_conversations_and_the_status(visit):
    page = visit("/?q=consumer", script=False)
    first = hits(page)
    page.locator(".pager [rel=next]").click()
    has(page, offset=20)
    assert not set(first) & set(hits(page))
    page.get_by_role("link", name="Conversations").click()
    page.wait_for_url("**/sessions")
    expect(page.get_by_role("link", name="Conversations")).to_have_attribute("aria-current", "page")
    page.locator("#main .hit a.open").first.click()
    page.wait_for_url("**/sessions/*")
    assert page.locator(".message").count() > 0
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", page.locator("time").first.text_content())
    page.locator("form.inside input[type=search]").fill("lengthy")
    page.locator("form.inside button").click()
    page.wait_for_url("**session=*")
    page.get_by_role("link", name="Status").click()
    expect(page.locator("h1")).to_have_text("Status")
