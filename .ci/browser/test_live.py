"""What the agent writes while the page is open shows by itself, and disturbs nothing."""
import pytest
from playwright.sync_api import expect
from steps import focused, has, stay, stayed, top

SESSION = "20260701_120000_lengthy"


@pytest.fixture
def live(follow, growing):
    """Opens a page that has begun to hear of changes."""
    def open(address):
        page = follow()
        with page.expect_response("**/api/v1/events") as answered:
            page.goto(address)
        assert answered.value.status == 200
        stay(page)
        return page
    return open, growing[1]


def test_a_new_hit_appears_by_itself_and_is_marked(live):
    visit, archive = live
    page = visit("/?q=zeppelinfund")
    expect(page.locator("#total")).to_have_text("0 hits")
    first = archive.append(SESSION, content="a zeppelinfund was made")
    expect(page.locator(f"#hit-{first}")).to_be_visible()
    expect(page.locator(f"#hit-{first}")).to_have_class("hit said fresh")
    second = archive.append(SESSION, content="hm", reasoning="another zeppelinfund")
    expect(page.locator(f"#hit-{second}")).to_have_class("hit thought fresh")
    expect(page.locator("#total")).to_have_text("2 hits")
    expect(page.locator("#said")).to_have_text("1 new")
    assert stayed(page)


def test_an_open_conversation_grows(live):
    visit, archive = live
    start = archive.append(archive.session("20260702_090000_grows"), "user", "is the growingword there?")
    page = visit(f"/?q=growingword&open={start}")
    place = top(page.locator(f"#m{start}"))
    answer = archive.append("20260702_090000_grows", content="it is there now", reasoning="let me look")
    expect(page.locator(f"#m{answer}")).to_be_visible()
    expect(page.locator(f"#m{answer}")).to_have_class("message assistant fresh")
    assert abs(top(page.locator(f"#m{start}")) - place) <= 3
    assert stayed(page)


def test_the_page_of_a_conversation_grows(live):
    visit, archive = live
    archive.append(archive.session("20260702_090000_page"), "user", "first of a page")
    page = visit("/sessions/20260702_090000_page")
    answer = archive.append("20260702_090000_page", content="second of a page")
    expect(page.locator(f"#m{answer}")).to_have_class("message assistant fresh")
    page.goto("/sessions")
    archive.append(archive.session("20260702_100000_listed", "A conversation just begun"), "user", "hello")
    expect(page.locator("#main .hit").first).to_contain_text("A conversation just begun")


def test_what_is_unfolded_focused_and_scrolled_to_stays(live):
    visit, archive = live
    page = visit("/?q=lock&explain=true&sort=oldest")
    page.locator("#weights > summary").click()
    last = page.locator("#main .hit").nth(15)
    id = last.get_attribute("id")
    last.locator(".explain > summary").click()
    last.locator("a.open").focus()
    place = top(last)
    count = page.locator("#total").text_content()
    archive.append(SESSION, content="the lock again")
    expect(page.locator("#total")).not_to_have_text(count)
    assert focused(page) == f"#{id}"
    expect(page.locator(f"#why-{id}")).to_have_attribute("open", "")
    expect(page.locator("#weights")).to_have_attribute("open", "")
    assert abs(top(page.locator(f"#{id}")) - place) <= 3
    assert stayed(page)


def test_a_hit_above_does_not_move_what_is_read(live):
    visit, archive = live
    page = visit("/?q=lock&sort=newest")
    hit = page.locator("#main .hit").nth(10)
    id = hit.get_attribute("id")
    hit.locator("a.open").focus()
    hit.scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 200)")
    place = top(hit)
    new = archive.append(SESSION, content="the newest lock of all")
    expect(page.locator(f"#hit-{new}")).to_be_attached()
    assert abs(top(page.locator(f"#{id}")) - place) <= 3


def test_what_is_being_typed_is_not_taken_away(live):
    visit, archive = live
    page = visit("/?q=lock")
    bound = page.locator("input[name='since']")
    bound.press_sequentially("2026-0")
    count = page.locator("#total").text_content()
    archive.append(SESSION, content="the lock again")
    expect(page.locator("#total")).not_to_have_text(count)
    expect(bound).to_be_focused()
    expect(bound).to_have_value("2026-0")
    bound.press_sequentially("1")
    bound.press("Enter")
    has(page, q="lock", since="2026-01")


def test_a_title_given_later_shows(live):
    visit, archive = live
    archive.append(archive.session("20260702_110000_titled"), content="titledlater words")
    page = visit("/?q=titledlater")
    expect(page.locator("#main h2")).to_have_text("Untitled conversation")
    archive.database.execute("UPDATE sessions SET title = 'Named at last' WHERE id = '20260702_110000_titled'")
    expect(page.locator("#main h2")).to_have_text("Named at last")


def test_a_message_that_is_rewound_goes(live):
    visit, archive = live
    gone = archive.append(SESSION, content="rewoundword that goes")
    page = visit("/?q=rewoundword")
    expect(page.locator(f"#hit-{gone}")).to_be_visible()
    archive.database.execute("UPDATE messages SET active = 0 WHERE id = ?", (gone,))
    expect(page.locator(f"#hit-{gone}")).to_have_count(0)


def test_a_selection_outlives_what_changes_nothing_here(live):
    visit, archive = live
    page = visit("/?q=时区&open=935")
    page.locator("#m935 .text").first.evaluate("(on) => getSelection().selectAllChildren(on)")
    said = page.evaluate("getSelection().toString()")
    rows = page.locator("#freshness").text_content()
    archive.append(SESSION, content="nothing that is asked for")
    expect(page.locator("#freshness")).not_to_have_text(rows)
    assert said and page.evaluate("getSelection().toString()") == said
