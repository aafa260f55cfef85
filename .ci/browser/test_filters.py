"""What narrows, orders and groups the hits: each step stands in the address, and can be taken back."""
import re

import pytest
from playwright.sync_api import expect
from steps import has, hits, parameters, settled, stay, stayed, total

TIMES = "#main .hit time"


def tick(page, name, value):
    page.locator(f"#filters input[name='{name}'][value='{value}']").click()


def times(page):
    return page.locator(TIMES).evaluate_all("all => all.map((time) => time.dateTime)")


def test_ticking_an_origin_narrows_and_unticking_restores(visit):
    page = visit("/?q=consumer")
    all_of_them = total(page)
    stay(page)
    tick(page, "in", "thought")
    has(page, **{"in": "thought"})
    narrowed = total(page)
    assert 0 < narrowed < all_of_them
    assert page.locator("#main .hit").count() == page.locator("#main .hit.thought").count() > 0
    tick(page, "in", "did")
    page.wait_for_url(lambda _: parameters(page).get("in") == ["thought", "did"])
    assert narrowed < total(page) < all_of_them
    tick(page, "in", "thought")
    tick(page, "in", "did")
    has(page, **{"in": None})
    assert total(page) == all_of_them
    assert stayed(page)


@pytest.mark.parametrize(("name", "value", "shown"), [
    ("role", "tool", "tool"), ("source", "tui", "tui"), ("tool", "patch", None), ("model", "example-large", None),
])
def test_ticking_a_facet_narrows_to_as_many_hits_as_it_said(visit, site, name, value, shown):
    page = visit("/?q=consumer")
    choice = page.locator("label.choice", has=page.locator(f"input[name='{name}'][value='{value}']"))
    said = int(choice.locator(".count").text_content().replace(",", ""))
    choice.click()
    has(page, **{name: value})
    assert total(page) == said == site.asked(f"/api/v1/search?q=consumer&{name}={value}")["total"]["value"]
    expect(page.locator(f"#filters input[name='{name}'][value='{value}']")).to_be_checked()
    if shown:
        facts = page.locator("#main .hit > .facts:first-child").all_text_contents()
        assert facts and all(shown in fact for fact in facts)


def test_a_choice_that_is_set_stays_to_be_taken_back_when_nothing_is_found(visit):
    page = visit("/?q=quokkavile&role=tool&source=tui&tool=patch&workspace=/home/dev/src/ferry")
    for name in ["role", "source", "tool"]:
        expect(page.locator(f"#filters input[name='{name}']:checked")).to_be_visible()
    expect(page.locator("#workspace")).to_have_value("/home/dev/src/ferry")
    tick(page, "role", "tool")
    has(page, role=None, source="tui")


def test_a_workspace_is_chosen_from_a_list(visit):
    page = visit("/?q=lock")
    all_of_them = total(page)
    page.locator("#workspace").select_option("/home/dev/src/ferry")
    has(page, workspace="/home/dev/src/ferry")
    assert 0 < total(page) < all_of_them
    page.locator("#workspace").select_option("")
    has(page, workspace=None)
    assert total(page) == all_of_them


def test_a_bar_of_the_months_narrows_to_its_month(visit):
    page = visit("/?q=lock")
    bar = page.locator(".months a").nth(1)
    month, count = bar.get_attribute("aria-label").split(": ")
    bar.click()
    page.wait_for_url(lambda url: "since=" in url and "until=" in url)
    assert total(page) == int(count.replace(",", ""))
    assert {time[:7] for time in times(page)} == {month}
    page.get_by_role("link", name="any time").click()
    has(page, since=None, until=None)


def test_every_bar_of_the_months_is_as_high_as_its_count_says(visit):
    page = visit("/?q=lock")
    bars = page.locator(".months a").evaluate_all(
        "all => all.map((bar) => [Number(bar.getAttribute('aria-label').split(': ')[1].replaceAll(',', '')),"
        " Number(bar.querySelector('.bar').getAttribute('height'))])"
    )
    assert sum(count for count, _ in bars) == total(page)
    assert [count for count, _ in sorted(bars)] == [count for count, _ in sorted(bars, key=lambda bar: bar[::-1])]


def test_bounds_are_typed(visit):
    page = visit("/?q=lock")
    box = page.locator("input[name='since']")
    box.fill("2026-03-01")
    box.press("Enter")
    has(page, since="2026-03-01")
    page.locator("input[name='until']").fill("2026-04-01")
    page.locator("input[name='until']").press("Tab")
    has(page, since="2026-03-01", until="2026-04-01")
    seen = times(page)
    assert seen and all("2026-03" <= time < "2026-04" for time in seen)


def test_what_placeholders_show_can_be_typed(visit):
    page = visit("/?q=lock")
    for name in ["since", "until"]:
        for written in page.locator(f"input[name='{name}']").get_attribute("placeholder").split(", "):
            answer = page.request.get(f"/?q=lock&{name}={written}")
            assert answer.status == 200, f"{name}={written}: {answer.text()}"


def test_a_bound_that_cannot_be_read_is_said(visit):
    visit.expect_fault("status of 400")
    page = visit("/?q=lock")
    page.locator("input[name='since']").fill("yesterday")
    page.locator("input[name='since']").press("Enter")
    expect(page.locator("main .weak")).to_contain_text("yesterday")
    page.go_back()
    has(page, since=None)
    expect(page.locator("#main .hit").first).to_be_visible()


def test_what_has_no_field_can_be_taken_back(visit):
    page = visit("/?q=lock&exclude-source=cli&sort=newest")
    some = total(page)
    page.get_by_role("link", name="Take back exclude-source cli").click()
    has(page, **{"exclude-source": None, "sort": "newest"})
    assert total(page) > some


def test_order_by_time_and_back(visit):
    page = visit("/?q=lock")
    best = hits(page)
    for order, turned in [("newest", True), ("oldest", False)]:
        page.get_by_role("link", name=order).click()
        has(page, sort=order)
        expect(page.get_by_role("link", name=order)).to_have_attribute("aria-current", "true")
        seen = times(page)
        assert seen == sorted(seen, reverse=turned) and len(set(seen)) > 1
        assert hits(page) != best
    page.get_by_role("link", name="best", exact=True).click()
    has(page, sort=None)
    assert hits(page) == best


def test_one_hit_of_a_conversation(visit):
    page = visit("/?q=consumer")
    hits_in_all = total(page)
    page.get_by_label("one hit of a conversation").check()
    has(page, group="session")
    heading = page.locator("#total").text_content()
    conversations, with_hits = (int(part.replace(",", "")) for part in re.findall(r"[\d,]+", heading))
    assert conversations < with_hits == hits_in_all
    assert page.locator("#main .hit").count() == min(conversations, 20)
    more = page.get_by_role("link", name=re.compile(r"\d+ more in this conversation")).first
    others = int(more.text_content().split()[0])
    more.click()
    page.wait_for_url(lambda url: "session=" in url and "group=" not in url)
    assert total(page) == others + 1


def test_only_hits_with_every_word(visit):
    page = visit("/?q=deploy+lock")
    any_word = total(page)
    page.get_by_label("only hits with every word").check()
    has(page, match="all")
    assert 0 < total(page) < any_word


def test_pages_of_hits_are_apart_and_together_the_whole(visit, site):
    page = visit("/?q=consumer")
    seen = []
    while True:
        seen += hits(page)
        further = page.locator(".pager [rel=next]")
        if further.count() == 0:
            break
        further.click()
        has(page, offset=len(seen))
        expect(page.locator("ol.hits")).to_have_attribute("start", str(len(seen) + 1))
        assert page.evaluate("scrollY") == 0
    assert len(seen) == len(set(seen)) == total(page)
    page.locator(".pager [rel=prev]").click()
    settled(page)
    assert hits(page) == seen[len(seen) // 20 * 20 - 20:][:20]


def test_narrowing_starts_from_the_first_page_and_keeps_the_order(visit):
    page = visit("/?q=consumer&sort=newest&offset=20")
    tick(page, "role", "assistant")
    has(page, role="assistant", offset=None, sort="newest")
