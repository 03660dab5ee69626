//! What a line of text says of an event of a nanoPU.

use pinion_nanopu::event::Event;
use pinion_sim::digits::push_number_left;

/// Gives the hart that an event is of, if it is of one.
pub fn hart_of(event: Event) -> Option<u8> {
    match event {
        Event::GlobalReceiveOut { hart, .. }
        | Event::ReceiveWord { hart, .. }
        | Event::ReceivePop { hart }
        | Event::TransmitWord { hart }
        | Event::PacketizeIn { hart }
        | Event::MessageDone { hart }
        | Event::ThreadInterrupt { hart, .. }
        | Event::Trap { hart } => Some(hart),
        _ => None,
    }
}

/// Appends whose doing it is: a hart's, or the NIC's.
pub fn push_who(text: &mut Vec<u8>, hart: Option<u8>) {
    let Some(hart) = hart else { return text.extend_from_slice(b"NIC     ") };
    text.extend_from_slice(b"hart ");
    push_number_left(text, hart.into(), 2);
    text.push(b' ');
}

/// Appends what is said of an event: words with up to two numbers behind parts of them, and what a
/// word is the last of.
pub fn push_event(text: &mut Vec<u8>, event: Event) {
    let plain = |words, whole| ([(words, None), ("", None)], whole);
    let of = |last: bool, whole| if last { whole } else { "" };
    let (parts, whole) = match event {
        Event::IngressIn { last } => plain("a word entered ingress", of(last, "frame")),
        Event::IngressOut { last } => plain("a word left ingress", of(last, "packet")),
        Event::ReassemblyOut { last } => plain("a word left reassembly", of(last, "message")),
        Event::GlobalReceiveOut { hart, last } => {
            let words = "a word left the global receive queues for hart ";
            ([(words, Some(hart.into())), ("", None)], of(last, "message"))
        }
        Event::ReceiveWord { context, last, .. } => {
            let words = "a word entered the receive queue of context ";
            ([(words, Some(context)), ("", None)], of(last, "message"))
        }
        Event::ReceivePop { .. } => plain("x30 read", ""),
        Event::TransmitWord { .. } => plain("x31 written", ""),
        Event::PacketizeIn { hart } => {
            ([("a word of hart ", Some(hart.into())), (" entered packetization", None)], "")
        }
        Event::PacketizeOut { last } => plain("a word left packetization", of(last, "packet")),
        Event::EgressIn { last } => plain("a word entered egress", of(last, "packet")),
        Event::EgressOut { last: false } => plain("the first flit of a frame left", ""),
        Event::EgressOut { last: true } => plain("the last flit of a frame left", ""),
        Event::MessageDone { .. } => plain("done with a message", ""),
        Event::ThreadInterrupt { running, target, .. } => {
            let more = (" should run instead of ", Some(running));
            ([("interrupt: context ", Some(target)), more], "")
        }
        Event::Trap { .. } => plain("trap", ""),
        Event::ControlRequest => plain("a control frame was asked for", ""),
        Event::Delivered => plain("a packet was acknowledged", ""),
        Event::Credit => plain("credit arrived", ""),
        Event::Timeout => plain("a message timed out", ""),
        Event::TimerCancel => plain("a message is delivered", ""),
    };
    let is_nic = matches!(event, Event::GlobalReceiveOut { .. } | Event::PacketizeIn { .. });
    push_who(text, hart_of(event).filter(|_| !is_nic));
    for (words, number) in parts {
        text.extend_from_slice(words.as_bytes());
        if let Some(number) = number {
            push_number_left(text, u64::from(number), 0);
        }
    }
    if !whole.is_empty() {
        text.extend_from_slice(b", last of its ");
        text.extend_from_slice(whole.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_words_numbers_and_what_they_are_the_last_of() {
        let said = |event| {
            let mut text = Vec::new();
            push_event(&mut text, event);
            String::from_utf8(text).unwrap()
        };
        let word = Event::ReceiveWord { hart: 3, context: 12, last: true };
        let words = "hart 3  a word entered the receive queue of context 12, last of its message";
        assert_eq!(said(word), words);
        assert_eq!(
            said(Event::ThreadInterrupt { hart: 10, running: 1, target: 2 }),
            "hart 10 interrupt: context 2 should run instead of 1"
        );
        assert_eq!(
            said(Event::PacketizeIn { hart: 0 }),
            "NIC     a word of hart 0 entered packetization"
        );
        assert_eq!(said(Event::Credit), "NIC     credit arrived");
    }
}
