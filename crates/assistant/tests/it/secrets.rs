//! API keys and withheld files appear in no request, no transcript and no file.

use std::ffi::OsString;

use cellist_assistant::{Account, TranscriptEntry};
use cellist_settings::{Chat, ChatProvider};
use serde_json::json;
use testkit::Said;

use crate::test_bed::{TestBed, results};

const KEY: &str = "sk-hush-hush-hush-0123456789";

#[tokio::test]
async fn no_key_and_no_excluded_file_reaches_a_model_or_a_client() {
    let script = [
        Said::call("read", json!({ "path": ".env" }))
            .and_call("read", json!({ "path": "link.txt" }))
            .and_call("read", json!({ "path": "sub/../.env:1-2" }))
            .and_call("edit", json!({ "path": ".env", "old": "x", "new": "y" }))
            .and_call("read", json!({ "path": "patients.csv" }))
            .and_call("read", json!({ "path": "leak.txt" }))
            .and_call("read", json!({ "path": "plain.txt" })),
        Said::text(&["Hm."]),
    ];
    let mut bed = TestBed::new(&["x = 1"], script);
    let desk = bed.scratch.path().join("desk");
    std::fs::create_dir(desk.join("sub")).unwrap();
    for (name, text) in [
        (".env", "PASSWORD=very-secret-word"),
        ("patients.csv", "name\nvery-secret-word"),
        ("plain.txt", "nothing special"),
        ("leak.txt", KEY),
        ("secrets.ipynb", "{\"cells\": [\"very-secret-word\"]}"),
    ] {
        std::fs::write(desk.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink(desk.join(".env"), desk.join("link.txt")).unwrap();
    let chat = Chat {
        provider: ChatProvider::Gemini,
        model: Some("scripted".to_owned()),
        base_url: Some(bed.models.url()),
        ..Chat::default()
    };
    // The key is set for cellist itself, so any address may get it.
    let mut ask = bed.message("what is in @secrets.ipynb and @gone.ipynb?");
    ask.account = account(&chat, bed.scratch.path());
    ask.caller.excluded = vec!["patients.*".to_owned()];
    let (told, _) = bed.answer(ask).await;
    let TranscriptEntry::Asked { notes, .. } = &told[0] else { panic!("{told:?}") };
    assert!(
        notes[0].contains("secrets.ipynb is kept from models") && notes[1].contains("does not exist"),
        "{notes:?}"
    );
    let results = results(&told);
    for (text, is_failure) in &results[..5] {
        assert!(*is_failure && text.contains("is kept from models"), "{text}");
    }
    assert!(results[6].0.contains("nothing special"), "{results:?}");
    let asked = bed.models.asked();
    assert!(
        asked[0].headers.contains(&("x-goog-api-key".to_owned(), KEY.to_owned())),
        "the header carries the key"
    );
    for request in &asked {
        let body = request.body.to_string();
        assert!(
            !body.contains(KEY) && !body.contains("very-secret-word") && !request.path.contains(KEY),
            "{body}"
        );
    }
    assert!(asked[1].body.to_string().contains("[API key removed]"));
    let heard = format!("{:?}", bed.chat.update_since(0));
    assert!(!heard.contains("very-secret-word"), "{heard}");
    assert!(!std::fs::read_to_string(&bed.notebook).unwrap().contains(KEY));
    bed.close().await;
}

#[tokio::test]
async fn a_key_that_a_provider_echoes_is_removed() {
    let words = format!("the key {KEY} is not known");
    let script = [Said::refusal(400, &words), Said::text(&["You gave me ", &format!("{KEY}.")])];
    let mut bed = TestBed::new(&["x = 1"], script);
    let chat = Chat {
        provider: ChatProvider::OpenAi,
        model: Some("scripted".to_owned()),
        base_url: Some(bed.models.url() + "/v1"),
        ..Chat::default()
    };
    for _ in 0..2 {
        let mut ask = bed.message("hello");
        ask.account = account(&chat, bed.scratch.path());
        bed.answer(ask).await;
    }
    let heard = format!("{:?}", bed.chat.update_since(0));
    assert!(!heard.contains(KEY) && heard.matches("[API key removed]").count() == 2, "{heard}");
    bed.close().await;
}

#[tokio::test]
async fn an_excluded_notebook_is_not_sent_even_when_it_is_active() {
    let script = [Said::call("get_notebook_cells", json!({})), Said::text(&["Hm."])];
    let mut bed = TestBed::new(&["word = 'very-secret-word'"], script);
    let mut ask = bed.message("what is in it?");
    ask.caller.excluded = vec!["nb.ipynb".to_owned()];
    ask.outputs = vec!["a".to_owned()];
    let (told, _) = bed.answer(ask).await;
    let TranscriptEntry::Asked { notes, notebook_mode, .. } = &told[0] else { panic!("{told:?}") };
    assert!(!notebook_mode && notes[0].contains("is kept from models"), "{notes:?}");
    assert!(results(&told)[0].1, "{told:?}");
    for request in bed.models.asked() {
        assert!(!request.body.to_string().contains("very-secret-word"), "{}", request.body);
    }
    bed.close().await;
}

/// An account with the key from the user's configuration file.
fn account(chat: &Chat, folder: &std::path::Path) -> Account {
    use cellist_settings::{Home, Sources, resolve};
    let home = Home::at(folder.join("home"));
    std::fs::create_dir_all(home.path()).unwrap();
    std::fs::write(home.path().join("config.toml"), format!("[chat]\napi_key = \"{KEY}\"\n")).unwrap();
    let variables = [(OsString::from("HOME"), folder.as_os_str().to_owned())].into_iter().collect();
    let sources = Sources { home: &home, folder: None, variables: &variables, flags: &[] };
    let api_key = resolve(&sources).unwrap().settings.chat.api_key;
    Account::find(&Chat { api_key, ..chat.clone() }, &variables).unwrap()
}
