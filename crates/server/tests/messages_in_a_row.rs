//! What is published in a pipeline comes to every subscriber whole and in its order, however much it is.

mod door;

use door::House;

fn words(words: &[&str]) -> String {
    let mut text = format!("*{}\r\n", words.len());
    for word in words {
        text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    text
}

#[test]
fn each_subscriber_has_its_messages_in_their_order() {
    // Half of the texts fit into one send, the others do not.
    let texts = |round: usize| -> Vec<String> {
        let len = if round.is_multiple_of(2) { 10 } else { 60_000 };
        (0..30).map(|n| format!("{round}.{n}.{}", "x".repeat(len))).collect()
    };
    for threads in ["threads 1", "threads 2"] {
        let house = House::open(&[threads]);
        let (mut speaker, mut of_one, mut of_both, mut of_all) =
            (house.client(), house.client(), house.client(), house.client());
        let confirmed = |word: &str, name: &str, count: usize| {
            words(&[word, name]).replacen('2', "3", 1) + &format!(":{count}\r\n")
        };
        of_one.ask(&words(&["SUBSCRIBE", "a"]), &confirmed("subscribe", "a", 1));
        of_both.send(words(&["SUBSCRIBE", "b", "a"]).as_bytes());
        of_both.expect(&confirmed("subscribe", "b", 1));
        of_both.expect(&confirmed("subscribe", "a", 2));
        of_all.ask(&words(&["PSUBSCRIBE", "*"]), &confirmed("psubscribe", "*", 1));
        for round in 0..6 {
            let texts = texts(round);
            let channel = |n: usize| if n.is_multiple_of(3) { "b" } else { "a" };
            let all = || texts.iter().enumerate().map(|(n, text)| (channel(n), text));
            let pipeline: String = all().map(|(to, text)| words(&["PUBLISH", to, text])).collect();
            speaker.send(pipeline.as_bytes());
            for (from, text) in all() {
                if from == "a" {
                    of_one.expect(&words(&["message", from, text]));
                }
                of_both.expect(&words(&["message", from, text]));
                of_all.expect(&words(&["pmessage", "*", from, text]));
            }
            for (to, _) in all() {
                speaker.expect(if to == "a" { ":3\r\n" } else { ":2\r\n" });
            }
        }
    }
}
