//! What is written about providers and limits is what the code holds.

use engine_llm::limits;
use engine_llm::providers::ROWS;

/// Compares a table of `docs/providers.md` with what it should be.
fn check(name: &str, table: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/providers.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let begin = format!("<!-- {name}: begin -->\n");
    let end = format!("<!-- {name}: end -->");
    let (_, rest) = page.split_once(&begin).expect("the page has the mark");
    let (found, _) = rest.split_once(&end).expect("the page has the mark");
    assert!(
        found.trim() == table.trim(),
        "docs/providers.md is behind the code; between the marks of `{name}` belongs:\n\n{table}"
    );
}

#[test]
fn the_page_holds_every_limit() {
    let rows = limits::table().into_iter();
    let rows = rows.map(|(name, value, meaning)| format!("| {name} | {value} | {meaning} |\n"));
    let head = "| limit | value | meaning |\n| --- | --- | --- |\n";
    check("limits", &format!("{head}{}", rows.collect::<String>()));
}

#[test]
fn the_page_holds_every_provider() {
    let rows = ROWS.iter().map(|row| {
        let names: Vec<String> = std::iter::once(&row.id)
            .chain(row.aliases)
            .map(|name| format!("`{name}`"))
            .collect();
        let key = row
            .key_env
            .map_or("none".to_owned(), |name| format!("`{name}`"));
        format!(
            "| {} | `{}` | `{}` | {key} |\n",
            names.join(", "),
            row.wire.name(),
            row.base_url
        )
    });
    let head = "| names | kind | base URL | key |\n| --- | --- | --- | --- |\n";
    check("providers", &format!("{head}{}", rows.collect::<String>()));
}

#[test]
fn the_page_holds_every_known_model() {
    let rows = ROWS.iter().flat_map(|row| {
        let tokens = |count: u64| match count {
            0 => "unknown".to_owned(),
            count => count.to_string(),
        };
        row.models.iter().map(move |known| {
            let (context, output) = (tokens(known.context), tokens(known.output));
            format!("| `{}/{}` | {context} | {output} |\n", row.id, known.prefix)
        })
    });
    let head = "| names that begin with | context | output |\n| --- | --- | --- |\n";
    check("models", &format!("{head}{}", rows.collect::<String>()));
}
