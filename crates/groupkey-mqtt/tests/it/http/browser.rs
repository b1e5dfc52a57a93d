//! The page in a headless Chromium: an operator opens it, types a wrong token, evicts a member, and
//! logs out.

mod chromium;

use serde_json::Value;

use self::chromium::Browser;
use crate::http::fixture::{HttpFixture, token};

#[tokio::test(flavor = "multi_thread")]
async fn somebody_evicts_a_member_on_the_page() {
    let house = HttpFixture::with(4).await;
    let address = format!("http://{}/", house.address);
    let visit = move || {
        let Some(mut browser) = Browser::open(&address) else { return false };
        come_in(&mut browser);
        evict(&mut browser);
        look_at_it(&mut browser);
        leave(&mut browser);
        try_to_break_out(&mut browser);
        true
    };
    if tokio::task::spawn_blocking(visit).await.unwrap() {
        let members = house.get("/api/v1/groups/1/members").await.json();
        let barred = |member: &&Value| member["barred"] == true;
        let barred: Vec<_> = members["members"].as_array().unwrap().iter().filter(barred).collect();
        assert_eq!(barred.len(), 1);
        assert_eq!(barred[0]["name"], "device-1");
    }
}

fn come_in(browser: &mut Browser) {
    browser.wait("at('door').hidden === false && at('inside').hidden");
    show_token(browser, &"00".repeat(32));
    browser.wait("at('trouble').textContent.includes('not the service')");
    assert_eq!(browser.ask("sessionStorage.length"), 0);
    show_token(browser, &token().to_hex());
    browser.wait("at('members').rows.length === 4 && at('door').hidden");
    assert_eq!(browser.ask("at('epoch').textContent"), "1");
    assert_eq!(browser.ask("at('trouble').textContent"), "");
    assert_eq!(browser.ask("at('alarm').hidden"), true);
    assert_eq!(browser.ask("localStorage.length + document.cookie.length"), 0);
    assert_eq!(browser.ask("at('token').value"), "");
}

fn show_token(browser: &mut Browser, token: &str) {
    browser.ask(&format!("at('token').value = '{token}'; at('door').requestSubmit(); 0"));
}

fn evict(browser: &mut Browser) {
    let row = "[...at('members').rows].find(row => row.cells[0].textContent === 'device-1')";
    let click = format!("{row}.querySelector('button').click(); at('question').textContent");
    assert_eq!(browser.ask(&click), "Evict device-1?");
    browser.ask("at('no').click(); 0");
    assert_eq!(browser.ask("at('ask').open"), false);
    assert_eq!(browser.ask(&format!("{row}.cells[2].textContent")), "member");
    browser.ask(&click);
    browser.ask("at('yes').click(); 0");
    browser.wait(&format!("{row}.cells[2].textContent === 'evicted'"));
    browser.wait("at('epoch').textContent === '2' && at('size').textContent === '3'");
    assert_eq!(browser.ask("at('operations').rows[0].cells[0].textContent"), "evict −1");
    let numbers =
        "[4, 5, 6].every(i => parseFloat(at('operations').rows[0].cells[i].textContent) > 0)";
    assert_eq!(browser.ask(numbers), true);
    browser.wait("parseFloat(at('operations').rows[0].cells[7].textContent) > 0");
}

/// The page fits a phone's width, and follows the dark colour scheme.
fn look_at_it(browser: &mut Browser) {
    let mut grounds = Vec::new();
    for (scheme, width) in [("light", 1200), ("light", 360), ("dark", 360), ("dark", 1200)] {
        browser.see(scheme, width);
        browser.wait(&format!("innerWidth === {width}"));
        let sticks_out = browser.ask("document.documentElement.scrollWidth - innerWidth");
        assert!(sticks_out.as_i64() <= Some(0), "{width}: {sticks_out} pixels stick out");
        let ground = browser.ask("getComputedStyle(document.body).backgroundColor");
        grounds.push(ground.as_str().unwrap().to_owned());
    }
    assert!(grounds[0] == grounds[1] && grounds[2] == grounds[3] && grounds[0] != grounds[2]);
}

fn leave(browser: &mut Browser) {
    // The token survives a reload, and the button removes it.
    browser.reload();
    browser.wait("typeof at === 'function' && at('members').rows.length === 4");
    browser.ask("at('leave').click(); 0");
    browser.wait("at('door').hidden === false && at('members').rows.length === 0");
    assert_eq!(browser.ask("sessionStorage.length"), 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A name with markup is shown as text, and injected scripts do not run.
fn try_to_break_out(browser: &mut Browser) {
    let hostile = "memberRows([{ name: '<img src=x onerror=alert(1)>', number: 1, current: true, barred: false, \
                   epoch: 3, seen_unix_ms: null, behind: true }])[0]";
    let cells = [(2, "behind"), (3, "3"), (4, "–")];
    for (cell, text) in cells {
        assert_eq!(browser.ask(&format!("{hostile}.cells[{cell}].textContent")), text);
    }
    assert_eq!(browser.ask(&format!("{hostile}.querySelectorAll('img').length")), 0);
    let text = browser.ask(&format!("{hostile}.cells[0].textContent"));
    assert_eq!(text, "<img src=x onerror=alert(1)>");
    let markup = "try { document.body.innerHTML = '<b>b</b>'; 'taken' } catch { 'refused' }";
    assert_eq!(browser.ask(markup), "refused");
    let elsewhere = "fetch('http://127.0.0.2:1/').then(() => 'sent', () => 'refused')";
    assert_eq!(browser.ask(elsewhere), "refused");
    let complaints = browser.complaints();
    assert!(complaints.iter().any(|complaint| complaint.contains("connect-src")), "{complaints:?}");
}
