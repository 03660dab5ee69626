//! Who waits for whom: a node that does not go on comes in; lines for people go out.

use pinion_isa::elf::Image;
use pinion_nanopu::core::Activity;
use pinion_nanopu::node::Node;

/// Bounds the messages that are listed.
const LISTED: usize = 8;

/// Names a place in a program: function and offset, where known.
pub fn place(image: &Image, pc: u64) -> Option<String> {
    let symbol = image.symbol_at(pc)?;
    Some(match pc.saturating_sub(symbol.address) {
        0 => symbol.name.clone(),
        offset => format!("{}+{offset:#x}", symbol.name),
    })
}

/// Describes a pc with its place.
pub fn at(image: &Image, pc: u64) -> String {
    match place(image, pc) {
        Some(place) => format!("pc {pc:#x} ({place})"),
        None => format!("pc {pc:#x}"),
    }
}

/// Describes what each hart does and what waits where.
pub fn describe(node: &Node, image: &Image, contexts: u16) -> String {
    let mut lines: Vec<String> =
        (0..node.harts()).map(|hart| describe_hart(node, image, hart, contexts)).collect();
    let books = node.receive().accounting();
    if books.resident_packets > 0 {
        lines.push(format!(
            "receive side: {} packets of messages that are incomplete, or that no hart has room for",
            books.resident_packets
        ));
    }
    lines.extend(node.describe_hardware());
    let messages: Vec<_> = node.transmit().resident().collect();
    for message in messages.iter().take(LISTED) {
        let to = std::net::Ipv4Addr::from(message.dst_ip);
        let what = match message.words_missing {
            0 => format!(
                "{} of {} packets acknowledged by {to}",
                message.packets_delivered, message.packets
            ),
            missing => format!("the program never wrote its last {missing} words"),
        };
        lines.push(format!(
            "transmit side: message {} of hart {}, context {}, {} B to {to}: {what}",
            message.tx_msg_id, message.hart, message.context, message.msg_len
        ));
    }
    if messages.len() > LISTED {
        lines.push(format!("transmit side: {} messages more", messages.len() - LISTED));
    }
    lines.join("\n")
}

fn describe_hart(node: &Node, image: &Image, hart: usize, contexts: u16) -> String {
    let (core, interface) = (node.core(hart), node.interface(hart));
    let does = match core.activity {
        Activity::Running => "runs",
        Activity::Polling { .. } => "polls for a message",
        Activity::Waiting { .. } => "waits for an interrupt",
        Activity::Stopped => "has stopped",
    };
    let place = at(image, core.hart.pc);
    let mut line = format!("hart {hart} {does} in context {} at {place}", interface.context());
    for context in 0..contexts {
        let words = interface.unread_words(context);
        let begun = node.receive().outstanding(hart as u8, context);
        if words > 0 || begun > 0 {
            line.push_str(&format!(
                "; context {context}: {begun} messages not done, {words} words not read"
            ));
        }
    }
    line
}
