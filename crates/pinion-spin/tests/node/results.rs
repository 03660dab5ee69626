//! Results: what handlers leave in memory, send and write to the host equals a plain computation.

use pinion_spin::{Frame, PacketRecord};

use crate::harness::{
    HOST, Random, Recorder, build, context, finish, frame, image, machine, memory, messages, nic,
    scratchpad, words,
};

/// Runs random packets, of which random parts are copied to L1, through one payload handler.
fn run(test: &str, handler: &str) -> (pinion_spin::Nic, Recorder, Vec<Frame>) {
    let mut random = Random::seeded(test);
    let mut nic = nic(machine(&[]), "words", ["", handler, ""]);
    let mut frames = messages(&mut random, 30, 20, &[4, 63, 64, 65, 500, 1024, 2046, 2048], 30);
    for frame in &mut frames {
        let known = frame.classification.as_mut().expect("known");
        if random.chance(30) {
            known.l1_bytes = random.below(u64::from(known.l1_bytes) + 1) as u32;
        }
    }
    let heard = finish(&mut nic, frames.clone());
    assert_eq!(heard.packets.len(), frames.len());
    (nic, heard, frames)
}

/// The words of each packet that a cluster's handlers saw.
fn seen<'a>(
    cluster: u32,
    heard: &'a Recorder,
    frames: &'a [Frame],
) -> impl Iterator<Item = Vec<u32>> + 'a {
    let here = move |record: &&PacketRecord| record.hpu.expect("it ran").0 == cluster;
    heard.packets.iter().filter(here).map(|record| {
        let frame = &frames[record.tag as usize];
        let l1_bytes = frame.classification.expect("known").l1_bytes as usize;
        words(&frame.bytes[..l1_bytes])
    })
}

#[test]
fn aggregate_adds_all_words() {
    let (nic, heard, frames) = run("aggregate_adds_all_words", "aggregate");
    for cluster in 0..4 {
        let add = |sum: u32, word: u32| sum.wrapping_add(word);
        let expected = seen(cluster, &heard, &frames).flatten().fold(0, add);
        assert_ne!(expected, 0, "every cluster worked");
        assert_eq!(words(&memory(&nic, scratchpad(cluster), 4)), [expected]);
    }
}

#[test]
fn reduce_adds_word_by_word() {
    let (nic, heard, frames) = run("reduce_adds_word_by_word", "reduce");
    for cluster in 0..4 {
        let mut expected = vec![0u32; 512];
        for packet in seen(cluster, &heard, &frames) {
            for (sum, word) in expected.iter_mut().zip(packet) {
                *sum = sum.wrapping_add(word);
            }
        }
        assert_eq!(words(&memory(&nic, scratchpad(cluster), 2048)), expected);
    }
}

#[test]
fn histogram_counts_words() {
    let (nic, heard, frames) = run("histogram_counts_words", "histogram");
    for cluster in 0..4 {
        let mut expected = vec![0u32; 1024];
        for word in seen(cluster, &heard, &frames).flatten() {
            expected[word as usize % 1024] += 1;
        }
        assert_eq!(words(&memory(&nic, scratchpad(cluster), 4096)), expected);
    }
}

#[test]
fn checksum_is_the_internet_checksum() {
    let mut random = Random::seeded("checksum_is_the_internet_checksum");
    let mut nic = nic(machine(&[]), "words", ["", "checksum", ""]);
    for message in 0..20 {
        let size = 2 * (1 + random.below(700) as usize);
        let bytes = random.bytes(size);
        let halves =
            bytes.chunks_exact(2).map(|half| u32::from(u16::from_le_bytes([half[0], half[1]])));
        let mut sum: u32 = halves.sum();
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        let arrival_ns = nic.now().ps() / 1000 + 1;
        let mut once = Some(frame(arrival_ns, message, true, bytes));
        let mut next =
            || once.take().map_or(pinion_spin::Offer::Nothing, pinion_spin::Offer::Frame);
        let outcome = nic.run(pinion_sim::Time::MAX, &mut next, &mut pinion_spin::listener::Deaf);
        assert_eq!(outcome, pinion_spin::Outcome::Idle);
        let found = words(&memory(&nic, scratchpad(message % 4) + 4092, 4));
        assert_eq!(found, [!sum & 0xffff]);
    }
}

/// A lock in L1 around plain increments: atomics exclude each other.
#[test]
fn lock_excludes() {
    let mut random = Random::seeded("lock_excludes");
    let mut nic = nic(machine(&[]), "table", ["", "lock", ""]);
    let heard = finish(&mut nic, messages(&mut random, 20, 10, &[64], 2));
    for cluster in 0..4 {
        let ran = heard.packets.iter().filter(|p| p.hpu.expect("it ran").0 == cluster).count();
        assert_eq!(words(&memory(&nic, scratchpad(cluster) + 1024, 8)), [0, 8 * ran as u32]);
    }
}

#[test]
fn pingpong_sends_every_packet_back() {
    let mut random = Random::seeded("pingpong_sends_every_packet_back");
    let mut nic = nic(machine(&[]), "move", ["", "pingpong_l1", ""]);
    let frames = messages(&mut random, 20, 10, &[64, 100, 1024, 2048], 10);
    let heard = finish(&mut nic, frames.clone());
    assert_eq!(heard.departed.len(), frames.len());
    for (sent, packet) in &heard.departed {
        let record = heard.packets.iter().find(|record| record.packet == *packet);
        let record = record.expect("its packet");
        let mut expected = frames[record.tag as usize].bytes.clone();
        expected[12..20].rotate_left(4);
        assert_eq!(*sent, expected);
        assert!(record.departure.is_some());
    }
    assert_eq!(nic.totals().packets_out, frames.len() as u64);
    assert_eq!(nic.totals().bytes_out, nic.totals().bytes_in);
}

#[test]
fn packets_reach_the_host_unchanged() {
    for handler in ["to_host_l1", "to_host_l2", "to_host_wait"] {
        let mut random = Random::seeded("packets_reach_the_host_unchanged");
        let mut nic = nic(machine(&[]), "move", ["", handler, ""]);
        let frames = messages(&mut random, 20, 10, &[1, 64, 100, 1024, 2048], 10);
        let heard = finish(&mut nic, frames.clone());
        assert_eq!(heard.host_writes.len(), frames.len());
        for (address, data, packet) in &heard.host_writes {
            let record = heard.packets.iter().find(|record| record.packet == *packet);
            let tag = record.expect("its packet").tag;
            assert_eq!((*address, data), (HOST, &frames[tag as usize].bytes), "{handler}");
        }
        let (_, last, _) = heard.host_writes.last().expect("written");
        let mut found = vec![0; last.len()];
        nic.read_host(HOST, &mut found);
        assert_eq!(found, *last);
    }
}

#[test]
fn strides_reach_the_host() {
    let mut random = Random::seeded("strides_reach_the_host");
    let bytes = random.bytes(2000);
    let mut nic = nic(machine(&[]), "move", ["", "strided", ""]);
    finish(&mut nic, vec![frame(0, 0, true, bytes.clone())]);
    for (index, block) in bytes.chunks(256).enumerate() {
        let mut found = vec![0; 512];
        nic.read_host(HOST + 512 * index as u64, &mut found);
        assert_eq!(found[..block.len()], *block);
        assert!(found[block.len()..].iter().all(|&byte| byte == 0));
    }
}

/// The cluster's DMA engine brings handler memory, as its image says, to L1.
#[test]
fn dma_copies_handler_memory() {
    let mut random = Random::seeded("dma_copies_handler_memory");
    let image = image("move");
    let content = random.bytes(8 * 256);
    let mut context = context(&image, ["", "local_dma", ""]);
    context.handler_memory_image.clone_from(&content);
    let mut nic = build(machine(&[]), &image, vec![context]);
    let heard = finish(&mut nic, messages(&mut random, 20, 10, &[64], 0));
    for record in &heard.packets {
        let (cluster, hpu) = record.hpu.expect("it ran");
        let offset = 256 * hpu;
        let expected = &content[offset as usize..][..256];
        assert_eq!(memory(&nic, scratchpad(cluster) + offset, 256), expected);
    }
}
