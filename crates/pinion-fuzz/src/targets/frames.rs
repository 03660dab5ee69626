//! Frames as they come from a wire.

use pinion_net::frame::lnic::{HOMA_PROTOCOL, Header, NDP_PROTOCOL};
use pinion_net::frame::{SlmpHeader, parse, parse_ip, verify_checksums};
use pinion_spin::matching::{ContextMatch, Limits, MatchingEngine, MessageId, Ruleset};

use super::{Target, said};

pub const FRAMES: Target = Target::bytes("frames", frames, 20_000);

fn frames(input: &[u8]) -> String {
    let mut answers = vec![
        said(parse(input)),
        said(parse_ip(input)),
        said(verify_checksums(input)),
        said(Header::parse(input, NDP_PROTOCOL).map_err(|error| format!("{error:?}"))),
        said(Header::parse(input, HOMA_PROTOCOL).map_err(|error| format!("{error:?}"))),
    ];
    answers.push(SlmpHeader::split(input).is_some().to_string());
    answers.push(format!("{:?}", std::mem::discriminant(&matched(input))));
    answers.concat()
}

fn matched(input: &[u8]) -> pinion_spin::matching::Verdict {
    let entry = ContextMatch { ruleset: Ruleset::none(), message: MessageId::SLMP, enabled: true };
    let engine = MatchingEngine::new(vec![entry], Limits::default());
    let mut engine = engine.unwrap_or_else(|error| panic!("{error}"));
    // Where nothing matches it says which rule came nearest.
    let _ = engine.nearest(input);
    engine.classify(input)
}
