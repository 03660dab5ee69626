//! Where messages stand as their packets and handlers come, and what names and ends them in text.

use pinion_spin::matching::{EndOfMessage, FlowFields, Layout, MatchError, MessageId, Rule};
use pinion_spin::{HandlerKind, MessageState};

fn send(message: &mut MessageState, is_end: bool) -> (HandlerKind, bool) {
    let (kind, leaves) = message.send();
    if leaves {
        message.left(is_end);
    }
    (kind, leaves)
}

#[test]
fn packets_behind_the_one_that_ends_a_message_are_its_own_too() {
    let mut message = MessageState::default();
    message.begin(false, true);
    message.queue(true);
    message.queue(false);
    assert_eq!(send(&mut message, true), (HandlerKind::Payload, true));
    // The last one stays for the completion handler.
    assert_eq!(send(&mut message, false), (HandlerKind::Payload, false));
    assert!(!message.has_task() && !message.ended(HandlerKind::Payload));
    assert!(!message.ended(HandlerKind::Payload) && message.has_task());
    assert_eq!(send(&mut message, false), (HandlerKind::Completion, true));
    assert!(message.ended(HandlerKind::Completion) && message.release() && message.is_free());
}

#[test]
fn a_packet_that_came_early_begins_the_next_message() {
    let mut message = MessageState::default();
    message.begin(true, false);
    message.queue(true);
    assert_eq!(send(&mut message, true), (HandlerKind::Header, false));
    assert!(!message.ended(HandlerKind::Header));
    assert_eq!(send(&mut message, true), (HandlerKind::Payload, true));
    message.queue(false);
    assert!(message.ended(HandlerKind::Payload) && !message.release());
    assert_eq!(send(&mut message, false), (HandlerKind::Header, false));
    assert!(message.describe().ends_with("1 queued, 1 running, end of message not seen"));
}

#[test]
fn definitions_read_as_documented() {
    let field = |offset_bytes, mask, shift| MessageId::Field { offset_bytes, mask, shift };
    for (text, expected) in [
        ("packet", MessageId::PerPacket),
        (" flow ", MessageId::Flow(FlowFields::ALL)),
        ("context", MessageId::Flow(FlowFields::NONE)),
        ("field:offset=44", field(44, u32::MAX, 0)),
        ("field: offset=12, mask=0xff00, shift=8", field(12, 0xff00, 8)),
        ("slmp", field(44, u32::MAX, 0)),
    ] {
        assert_eq!(MessageId::parse(text), Ok(expected), "{text}");
    }
    let some = FlowFields { src: true, dport: true, ..FlowFields::NONE };
    assert_eq!(MessageId::parse("flow:src, dport"), Ok(MessageId::Flow(some)));
}

#[test]
fn what_defines_no_message_is_refused_with_the_forms() {
    for text in [
        "",
        "packets",
        "packet:x",
        "flow:mac",
        "field:",
        "field:mask=1",
        "field:offset=-1",
        "field:offset=1,shift=32",
        "field:offset=+1",
        "field:offset=0x",
    ] {
        let error = MessageId::parse(text).unwrap_err().to_string();
        assert!(error.contains("flow:src,sport"), "{text}: {error}");
    }
}

#[test]
fn ends_read_as_documented() {
    let parse = |text| EndOfMessage::parse(text, Layout::Ethernet);
    assert_eq!(parse("always"), Ok(EndOfMessage::Always));
    assert_eq!(parse("never"), Ok(EndOfMessage::Never));
    assert_eq!(parse("packets=8"), Ok(EndOfMessage::Packets(8)));
    let eom = Rule::exact(10, 0x8000, 0x8000);
    assert_eq!(parse("slmp.eom"), Ok(EndOfMessage::Rule(eom)));
    assert!(matches!(parse("packets=0"), Err(MatchError::NoPackets { .. })));
    assert!(matches!(parse("packets=x"), Err(MatchError::BadValue { .. })));
    assert!(matches!(parse("udp"), Err(MatchError::EndNeedsSingle { needed: 2, .. })));
}
