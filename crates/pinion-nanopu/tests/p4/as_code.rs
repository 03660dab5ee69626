//! Programs as code do what they do interpreted: the same frames, verdicts and requests, whatever comes.

use std::sync::Arc;

use pinion_nanopu::transport::p4::{Numbers, P4, Pipelines};
use pinion_nanopu::transport::{Address, ControlRequest, DropReason, Outgoing, Refusal, Transport};
use pinion_net::frame::lnic::{Flags, Header};
use pinion_p4_translate::translate;
use pinion_sim::random::Xorshift64;

use crate::Nic;

/// Programs that Pinion comes with, but for those whose frames are no messages of the NIC's.
const PROGRAMS: [&str; 9] =
    ["ndp", "homa", "raw", "udp", "credit", "dctcp", "telemetry", "balancer", "cache"];

/// Frames that go and come.
const ROUNDS: usize = 3000;

/// Makes the transport of programs, interpreted or as code; gives also the protocol of their frames.
fn transport(name: &str, is_code: bool) -> (P4, u8) {
    let programs = Pipelines::shipped(name).unwrap_or_else(|(_, why)| panic!("{name}: {why}"));
    if is_code {
        translate(&programs.ingress.flat, &programs.ingress.asked).unwrap();
        translate(&programs.egress.flat, &programs.egress.asked).unwrap();
    }
    let numbers = Numbers {
        rtt_packets: 3,
        messages: 16,
        acknowledge_again: true,
        overcommitment: 2,
        // Contexts are ports.
        port_base: 0,
        interpreted: true,
        ..Numbers::default()
    };
    let protocol = programs.egress.protocol;
    (P4::new(Arc::new(programs), numbers), protocol)
}

/// Draws a header of a message that others may have sent.
fn header(random: &mut Xorshift64, protocol: u8) -> Header {
    let mut draw = |most: u64| random.draw() % most;
    let flags = [1, 1, 1, 1 | 16, 2, 2 | 8, 4, 4 | 8, 8, 6, 0, 0xff][draw(12) as usize];
    Header {
        protocol,
        flags: Flags(flags),
        src_ip: 0x0a00_0001 + draw(3) as u32,
        dst_ip: 0x0a00_0002,
        src_context: draw(4) as u16,
        dst_context: draw(4) as u16,
        msg_len: [8, 1500, 4096, 9000, 0][draw(5) as usize],
        pkt_offset: [0, 1, 2, 3, 7, 63, 255][draw(7) as usize],
        pull_offset: draw(20) as u16,
        tx_msg_id: draw(12) as u16,
        buf_ptr: draw(99) as u16,
        buf_size_class: draw(3) as u8,
        answers: draw(3) as u16,
        grant_priority: draw(6) as u8,
        ..Header::default()
    }
}

/// Draws what reassembly refuses a packet for, seldom.
fn refusal(random: &mut Xorshift64) -> Option<Refusal> {
    match random.draw() % 24 {
        0 => Some(Refusal::NoBuffer),
        1 => Some(Refusal::Finished),
        2 => Some(Refusal::Quota),
        3 => Some(Refusal::Bad(DropReason::HeaderLies)),
        _ => None,
    }
}

/// Lets a frame arrive; gives all that came of it.
fn arrive(p4: &mut P4, frame: &[u8], asked: &mut Nic) -> String {
    p4.tell_time(asked.controls.len() as u64, 7);
    let parsed = p4.parse(frame).map(|(header, payload)| (header, payload.to_vec()));
    let said = match &parsed {
        Ok((header, payload)) => format!("{:?}", p4.arrive(header, payload, asked)),
        Err(why) => format!("{why:?}"),
    };
    let now = (asked.controls.last(), asked.delivered.last(), asked.credits.last());
    let counts = [asked.controls.len(), asked.delivered.len(), asked.credits.len()];
    format!("{parsed:?} {said} {now:?} {counts:?} {:?}", p4.made())
}

#[test]
fn shipped_programs_do_the_same_as_code() {
    for name in PROGRAMS {
        let mut random = Xorshift64::new(0x10c4);
        let both = [false, true].map(|is_code| transport(name, is_code));
        let protocol = both[0].1;
        let mut both = both.map(|(p4, _)| p4);
        let mut asked = [Nic::default(), Nic::default()];
        let own = Address { ip: 0x0a00_0001, ..Address::default() };
        let mut taken = 0;
        for round in 0..ROUNDS {
            let header = header(&mut random, protocol);
            let refuse = refusal(&mut random);
            let payload = random.bytes(8 + random.clone().draw() as usize % 90);
            let mut arrived = Vec::new();
            for (p4, asked) in both.iter_mut().zip(&mut asked) {
                asked.refuse = refuse;
                let mut frame = Vec::new();
                // One of a message that goes out, one that answers, or what others may send.
                match round % 3 {
                    0 => {
                        let message = Outgoing {
                            tx_msg_id: header.tx_msg_id,
                            dst_ip: header.dst_ip,
                            src_context: header.src_context,
                            dst_context: header.dst_context,
                            msg_len: header.msg_len,
                            granted_priority: Some(header.grant_priority)
                                .filter(|priority| *priority > 2),
                            ..Outgoing::default()
                        };
                        let again = header.answers == 1;
                        let header = p4.data(&message, header.pkt_offset, again, &own);
                        p4.write(&header, &payload, &mut frame);
                    }
                    1 => {
                        let request = ControlRequest {
                            at: 3,
                            answers: header,
                            acknowledge: header.flags.has(Flags::ACK),
                            negative: header.flags.has(Flags::NACK),
                            pull: header.flags.has(Flags::PULL),
                            pull_offset: header.pull_offset,
                            grant_priority: header.grant_priority,
                        };
                        let header = p4.control(&request, header.flags, &own);
                        p4.write(&header, &payload, &mut frame);
                    }
                    _ => frame = Header { protocol, ..header }.frame(&payload),
                }
                let window = p4.window();
                let came = arrive(p4, &frame, asked);
                if round % 97 == 0 {
                    p4.finished(header.buf_size_class.into());
                }
                arrived.push((frame, window, came));
            }
            assert_eq!(arrived[0], arrived[1], "{name}, round {round}: {header:?}");
            taken += usize::from(arrived[0].2.starts_with("Ok"));
        }
        assert!(taken > ROUNDS / 2, "{name}: {taken} were taken");
        assert_eq!(both[0].remarks(), both[1].remarks(), "{name}");
        let counts = [true, false].map(|is_in| both.each_ref().map(|p4| p4.counts(is_in)));
        assert!(counts.iter().all(|[one, other]| one == other), "{name}: {counts:?}");
        let said = format!("{:?}", asked[0]);
        assert_eq!(said, format!("{:?}", asked[1]), "{name}");
    }
}
