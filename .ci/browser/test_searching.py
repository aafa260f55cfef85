"""Search by typing, by Enter and by address; what a hit shows; answers that hold nothing."""
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from steps import colour, has, hits, settled, stay, stayed, total

ORIGINS = ["said", "thought", "did", "saw", "titled"]


def test_typing_finds_without_a_reload(visit):
    page = visit()
    stay(page)
    page.locator("#q").press_sequentially("deploy lock", delay=20)
    has(page, q="deploy lock")
    expect(page.locator("#main .hit").first).to_be_visible()
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator("#q")).to_have_value("deploy lock")
    expect(page).to_have_title(re.compile("^deploy lock"))
    assert stayed(page)


def test_what_is_typed_on_replaces_the_hits_and_makes_no_history(visit):
    page = visit("/?q=lock")
    before = page.evaluate("history.length")
    page.locator("#q").press("End")
    page.locator("#q").press_sequentially(" order", delay=20)
    has(page, q="lock order")
    assert page.evaluate("history.length") == before
    assert page.locator("#main .hit").count() > 0


def test_enter_searches_at_once_and_going_back_leads_to_the_page_before(visit):
    page = visit()
    page.locator("#q").fill("deploy lock")
    page.locator("#q").press("Enter")
    has(page, q="deploy lock")
    expect(page.locator("#main .hit").first).to_be_visible()
    page.go_back()
    has(page, q=None)
    expect(page.locator("h1")).to_contain_text("said, thought and did")


def test_enter_after_the_hits_have_come_makes_no_second_entry_of_history(visit):
    page = visit()
    page.locator("#q").press_sequentially("deploy", delay=20)
    has(page, q="deploy")
    expect(page.locator("#main .hit").first).to_be_visible()
    page.locator("#q").press("Enter")
    settled(page)
    page.go_back()
    has(page, q=None)
    expect(page.locator("h1")).to_contain_text("said, thought and did")


def test_an_address_finds_what_the_api_finds(visit, site):
    page = visit("/?q=deploy+lock")
    answer = site.asked("/api/v1/search?q=deploy+lock&limit=20")
    expect(page.locator("#q")).to_have_value("deploy lock")
    assert total(page) == answer["total"]["value"]
    assert hits(page) == [f"hit-{hit['message_id']}" for hit in answer["results"]]
    for hit in answer["results"]:
        shown = page.locator(f"#hit-{hit['message_id']}")
        expect(shown.locator(".origin")).to_have_text(hit["origin"])
        assert shown.locator(".snippet").text_content() == hit["snippet"]


def test_every_origin_has_a_colour_of_its_own_and_says_its_name(visit):
    seen = {}
    for origin in ORIGINS:
        page = visit(f"/?q=consumer&in={origin}")
        hit = page.locator("#main .hit").first
        expect(hit.locator(".origin")).to_have_text(origin)
        seen[origin] = colour(hit, "borderLeftColor")
        assert colour(hit.locator(".origin"), "color") == seen[origin]
        assert colour(hit, "borderTopColor") != seen[origin]
    assert len(set(seen.values())) == len(ORIGINS), seen


def test_snippets_mark_the_words_that_were_found(visit):
    page = visit("/?q=deploy+lock")
    marks = page.locator("#main .snippet mark")
    for text in marks.all_text_contents():
        assert re.match("deploy|lock", text, re.I), text
    for snippet in page.locator("#main .hit .snippet").all():
        assert snippet.locator("mark").count() > 0, snippet.text_content()
    assert colour(marks.first, "backgroundColor") not in (colour(page.locator(".hit").first, "backgroundColor"), "rgba(0, 0, 0, 0)")


def test_words_known_nowhere_lead_to_words_near_them(visit):
    page = visit("/?q=deplyo+lokc")
    assert total(page) == 0 and hits(page) == []
    page.locator(".suggestions li", has_text="deplyo").locator("a").click()
    has(page, q="deploy lokc")
    expect(page.locator("#q")).to_have_value("deploy lokc")
    assert total(page) > 0
    page.goto("/?q=deplyo")
    page.get_by_role("link", name="deploy", exact=True).click()
    has(page, q="deploy")
    assert total(page) > 0


def test_filters_that_left_everything_out_can_be_taken_back(visit):
    page = visit("/?q=lock&source=cron")
    assert total(page) == 0
    page.locator(".suggestions a", has_text="Without the filter source").click()
    has(page, q="lock", source=None)
    assert total(page) > 0
    page.goto("/?q=lock&in=titled")
    page.locator(".suggestions a", has_text="where it was thought").click()
    has(page, q="lock", **{"in": "thought"})
    assert total(page) > 0 and page.locator(".hit:not(.thought)").count() == 0


def test_nothing_found_says_so_once(visit):
    page = visit("/?q=quokkavile")
    assert total(page) == 0
    assert page.locator("main").text_content().count("stands nowhere in what was searched") == 1
    assert page.locator(".suggestions").evaluate_all("all => all.every((list) => list.children.length > 0)")


@pytest.mark.parametrize(("address", "says"), [
    ("/?q=x&limit=banana", "limit"),
    ("/?q=x&in=dreamt", "in"),
    ("/?q=x&open=seven", "open"),
    ("/sessions?offset=-1", "offset"),
])
def test_what_cannot_be_read_is_a_page_with_the_reason(visit, address, says):
    visit.expect_fault("status of 400")
    page = visit()
    answer = page.goto(address)
    assert answer.status == 400
    assert answer.header_value("content-type") == "text/html; charset=utf-8"
    expect(page.locator("h1")).to_have_text("Bad Request")
    expect(page.locator("main .weak")).to_contain_text(f"parameter {says}")
    page.get_by_role("link", name="Afterthought", exact=True).click()
    expect(page.locator("h1")).to_contain_text("said, thought and did")


@pytest.mark.parametrize("address", ["/messages/999999999", "/sessions/nobody-knows-this", "/nowhere"])
def test_what_is_not_there_is_a_page_with_the_reason(visit, address):
    visit.expect_fault("status of 404")
    page = visit()
    answer = page.goto(address)
    assert answer.status == 404
    assert answer.header_value("content-type") == "text/html; charset=utf-8"
    expect(page.locator("main .weak")).to_be_visible()


def test_a_hit_that_is_gone_is_said_beside_the_hits(visit):
    page = visit("/?q=lock&open=999999999")
    expect(page.locator("#reader .weak")).to_be_visible()
    assert total(page) > 0
    page.locator("#reader").get_by_role("link", name="Close", exact=True).click()
    has(page, open=None, q="lock")


def test_the_help_of_the_box_and_odd_queries_are_never_errors(visit):
    page = visit()
    for query in ['"open quote', "((((", "+-*", "a AND", "title:", "~", "%", "\\", "C++", "#4821", "x" * 3000]:
        answer = page.goto(f"/?q={quote(query)}")
        assert answer.status == 200, query
        assert page.locator("#q").input_value() == query
