"""Reading on around a hit, a message by itself, and whole conversations."""
import re
from datetime import datetime

from playwright.sync_api import expect
from steps import has, hits, in_sight, messages, parameters, settled, stay, stayed, top

OPEN = ".message[aria-current]"


def open_hit(page, kind="thought"):
    hit = page.locator(f"#main .hit.{kind}").first
    id = hit.get_attribute("id").removeprefix("hit-")
    hit.locator("a.open").click()
    has(page, open=id)
    return id


def test_a_hit_opens_beside_the_hits_unfolded_and_marked(visit):
    page = visit("/?q=deploy+lock")
    before = hits(page)
    stay(page)
    id = open_hit(page)
    expect(page.locator(OPEN)).to_have_id(f"m{id}")
    in_sight(page.locator(OPEN))
    assert hits(page) == before and stayed(page)
    in_sight(page.locator(f"#hit-{id}"))
    expect(page.locator(f"#hit-{id}")).to_have_attribute("aria-current", "true")
    expect(page.locator(f"#thought-{id}")).to_have_attribute("open", "")
    marks = page.locator(f"#thought-{id} .text mark").all_text_contents()
    assert marks and all(re.match("deploy|lock", mark, re.I) for mark in marks), marks
    box, aside = page.locator("#main").bounding_box(), page.locator("#reader").bounding_box()
    assert aside["x"] >= box["x"] + box["width"], "beside, not below"


def test_what_was_not_found_in_the_thought_leaves_it_folded(visit):
    page = visit("/?q=deploy+lock&in=said&role=assistant")
    id = open_hit(page, "said")
    page.locator(OPEN).wait_for()
    folded = page.locator(f"#thought-{id}")
    if folded.count() == 0:
        with_both = page.locator("#reader details.thought").first
        expect(with_both).not_to_have_attribute("open", "")
    else:
        expect(folded).not_to_have_attribute("open", "")


def test_a_click_anywhere_on_a_card_opens_it(visit):
    page = visit("/?q=deploy+lock")
    card = page.locator("#main .hit.thought").first
    place = card.locator(".snippet").bounding_box()
    page.mouse.click(place["x"] + 30, place["y"] + place["height"] / 2)
    has(page, open=card.get_attribute("id").removeprefix("hit-"))


def test_reading_on_and_back_leaves_the_message_where_it_is(visit):
    page = visit("/?q=deploy+lock")
    open_hit(page)
    for name in ["earlier", "Read on", "earlier", "Read on"]:
        link = page.locator("#reader a.further", has_text=name)
        if link.count() == 0:
            continue
        link.scroll_into_view_if_needed()
        shown, place = messages(page), top(page.locator(OPEN))
        link.click()
        page.wait_for_function("(count) => document.querySelectorAll('#reader .message').length > count", arg=len(shown))
        more = messages(page)
        assert set(shown) < set(more)
        assert more[-len(shown):] == shown if name == "earlier" else more[:len(shown)] == shown
        assert abs(top(page.locator(OPEN)) - place) <= 3, name
    assert int(parameters(page).get("before", ["3"])[0]) > 3 or int(parameters(page).get("after", ["3"])[0]) > 3


def test_reading_on_is_the_order_of_the_archive_to_its_ends(visit, ids, site):
    page = visit(f"/?q=lengthy&open={ids['long middle']}&before=20&after=20")
    numbers = [int(text.rsplit(" ", 1)[1]) for text in page.locator("#reader .message .said .text").all_text_contents()]
    assert numbers == list(range(1480, 1521))
    first = site.asked(f"/api/v1/messages/{ids['long middle'] - 1500}?before=0&after=0")
    assert first["messages"][0]["content"].endswith("number 0")
    page.goto(f"/?q=lengthy&open={ids['long middle'] - 1500}")
    assert page.locator("#reader a.further", has_text="earlier").count() == 0
    assert page.locator("#reader a.further", has_text="Read on").count() == 1
    page.goto(f"/?q=lengthy&open={ids['long middle'] + 1499}")
    assert page.locator("#reader a.further", has_text="Read on").count() == 0


def test_thoughts_fold_and_unfold_and_stay_so_when_more_is_read(visit):
    page = visit("/?q=deploy+lock")
    id = open_hit(page)
    thought = page.locator(f"#thought-{id}")
    thought.locator("summary").click()
    expect(thought.locator(".text")).to_be_hidden()
    other = page.locator(f"#reader details.part:not(#thought-{id})").first
    other.locator("summary").click()
    other_id = other.get_attribute("id")
    count = page.locator("#reader .message").count()
    page.locator("#reader a.further").first.click()
    page.wait_for_function("(count) => document.querySelectorAll('#reader .message').length > count", arg=count)
    expect(thought.locator(".text")).to_be_hidden()
    expect(page.locator(f"#{other_id}")).to_have_attribute("open", "")
    thought.locator("summary").click()
    expect(thought.locator(".text")).to_be_visible()


def test_closing_leaves_the_hits(visit):
    page = visit("/?q=deploy+lock")
    before = hits(page)
    open_hit(page)
    page.get_by_label("Close the conversation").click()
    has(page, open=None)
    assert hits(page) == before
    expect(page.locator("#reader")).to_be_hidden()


def test_the_whole_conversation_opens_at_the_message(visit):
    page = visit("/?q=deploy+lock")
    id = open_hit(page)
    page.get_by_role("link", name="The whole conversation").click()
    page.wait_for_url(f"**/sessions/*#m{id}")
    in_sight(page.locator(f"#m{id}"))
    assert page.locator(".message").count() > 7


def test_the_whole_conversation_of_three_thousand_opens_at_the_message(visit, ids):
    page = visit(f"/?q=lengthy&open={ids['long middle']}")
    page.get_by_role("link", name="The whole conversation").click()
    page.wait_for_url(f"**/sessions/*?from=1500#m{ids['long middle']}")
    in_sight(page.locator(f"#m{ids['long middle']}"))


def test_only_hits_of_the_open_conversation(visit):
    page = visit("/?q=lock")
    open_hit(page)
    page.get_by_role("link", name="Only hits in this conversation").click()
    page.wait_for_url("**session=*")
    titles = set(page.locator("#main .hit h2").all_text_contents())
    assert len(titles) == 1


def test_a_message_has_a_page(visit, ids):
    page = visit("/?q=deploy+lock")
    id = open_hit(page)
    page.locator(f"#m{id}").get_by_role("link", name=f"Message {id}").click()
    page.wait_for_url(f"**/messages/{id}")
    expect(page.locator(OPEN)).to_have_id(f"m{id}")
    in_sight(page.locator(OPEN))
    expect(page.locator(f"#thought-{id}")).to_have_attribute("open", "")
    page.goto(f"/messages/{ids['long middle']}")
    place = top(page.locator(OPEN))
    page.locator("a.further", has_text="earlier").click()
    page.wait_for_url("**before=13*")
    settled(page)
    assert abs(top(page.locator(OPEN)) - place) <= 3


def test_conversations_are_listed_the_latest_first_by_pages(visit):
    page = visit("/sessions")
    expect(page.get_by_role("link", name="Conversations")).to_have_attribute("aria-current", "page")
    seen = page.locator("#main .hit").count()
    dates = page.locator("#main .hit time").evaluate_all("all => all.map((time) => time.dateTime)")
    # Their texts do not sort as times do: trailing zeros of a second are left out.
    assert dates == sorted(dates, key=datetime.fromisoformat, reverse=True)
    first = page.locator("#main .hit").first.get_attribute("id")
    page.locator(".pager [rel=next]").click()
    has(page, offset=seen)
    assert page.locator("#main .hit").first.get_attribute("id") != first
    page.locator(".pager [rel=prev]").click()
    has(page, offset=None)
    assert page.locator("#main .hit").first.get_attribute("id") == first


def test_a_conversation_is_read_by_pages_and_searched_inside(visit):
    page = visit("/sessions/20260701_120000_lengthy")
    expect(page.locator("#main")).to_contain_text("3,000 messages")
    assert page.locator(".message").count() == 50
    page.locator(".pager [rel=next]").click()
    has(page, **{"from": 50})
    expect(page.locator(".message .said .text").first).to_have_text("lengthy message number 50")
    assert page.evaluate("scrollY") == 0
    page.locator(".pager [rel=prev]").click()
    has(page, **{"from": None})
    inside = page.locator("form.inside input[type=search]")
    inside.fill("number 2024")
    inside.press("Enter")
    has(page, session="20260701_120000_lengthy", q="number 2024")
    expect(page.locator("#main .hit").first).to_contain_text("lengthy message number 2024")


def test_the_current_page_is_named_after_going_there_by_script(visit):
    page = visit("/")
    for name in ["Status", "Conversations"]:
        page.get_by_role("link", name=name).click()
        expect(page.locator("h1")).to_contain_text(name.lower() if name == "Conversations" else name)
        expect(page.locator(".top nav [aria-current=page]")).to_have_text(name)


def test_the_status_audits_the_archive_when_asked(visit):
    page = visit("/status")
    page.get_by_role("link", name="Audit the archive").or_(page.get_by_role("link", name="Audit anew")).click()
    expect(page.get_by_role("link", name="Audit anew")).to_be_visible()
    expect(page.locator("main")).to_contain_text("Messages with reasoning")
    word = page.locator("section[aria-labelledby=audit] a.choice").first
    word.click()
    page.wait_for_url("**/?q=*")
    assert page.locator("#main .hit").count() == page.locator("#main .hit.thought").count() > 0


def test_the_status_shows_how_true_the_index_is(visit, site):
    page = visit("/status")
    status = site.asked("/api/v1/status")
    expect(page.locator("h1")).to_have_text("Status")
    expect(page.locator("main")).to_contain_text(f"{status['index']['rows']:,} messages, every one searched")
    for origin in ["said", "thought", "did", "saw"]:
        expect(page.locator("tr", has_text=origin)).to_contain_text(f"{status['rows_by_origin'][origin]:,}")
