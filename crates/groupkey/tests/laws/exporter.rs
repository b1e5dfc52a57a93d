//! Exported keys are as another library computes them: `exporter/vectors.py` made the vectors.

use groupkey::{Epoch, GroupContext, GroupId, Key, Setting, Suite};
use serde_json::Value;

#[test]
fn an_independent_library_exports_the_same() {
    let vectors = include_str!("exporter/vectors.jsonl").lines();
    let mut lengths = Vec::new();
    for vector in vectors.map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let context = GroupContext::of(&[&bytes(&vector["part"])]);
        assert_eq!(context.as_bytes()[..], bytes(&vector["group_context"]));
        let setting = Setting { context, ..Setting::new(GroupId(1), Suite::Standard) };
        let key = Key::from_bytes(bytes(&vector["group_key"]).try_into().unwrap());
        let expected = bytes(&vector["output"]);
        let mut output = vec![0; expected.len()];
        let (epoch, label) = (vector["epoch"].as_u64().unwrap(), vector["label"].as_str().unwrap());
        let context = bytes(&vector["context"]);
        setting.export((Epoch(epoch), &key), label, &context, &mut output).unwrap();
        assert_eq!(output, expected, "{vector}");
        lengths.push(output.len());
    }
    assert_eq!(lengths, [20, 30, 30, 30, 16, 32, 1, 255 * 32]);
}

fn bytes(hex: &Value) -> Vec<u8> {
    let (pairs, _) = hex.as_str().unwrap().as_bytes().as_chunks::<2>();
    let pairs = pairs.iter().map(|pair| str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}
