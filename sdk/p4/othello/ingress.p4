// The first step of a search of Othello's game tree, in the pipeline: which moves there are in the position that
// a message brings. Nothing of it needs a loop: from the mover's discs, rows of the other's are followed in eight
// directions at once, five steps and one more. The core finds the moves behind the position, as another word.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "raw.p4"

#define POSITION_BYTES 24
#define SEARCH_BYTES 32

// Bit 8 * row + column; where a step may arrive without having wrapped around a row's end.
#define NOT_FIRST 0xfefefefefefefefe
#define NOT_LAST 0x7f7f7f7f7f7f7f7f

header position_t {
    bit<64> own;                        // the mover's discs
    bit<64> other;
    bit<64> tag;
}

header moves_t {
    bit<64> squares;
}

struct headers_of_othello {
    eth_t eth;
    ipv4_t ipv4;
    ndp_t ndp;
    position_t position;
    moves_t moves;
}

parser MyParser(packet_in packet,
                out headers_of_othello hdr,
                inout full_ingress_metadata_t meta,
                inout standard_metadata_t smeta) {
    state start {
        packet.extract(hdr.eth);
        transition select(hdr.eth.type) {
            IPV4_TYPE: parse_ipv4;
            default: reject;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (4, 5, RAW_PROTO): parse_message;
            default: reject;
        }
    }

    state parse_message {
        packet.extract(hdr.ndp);
        transition select(hdr.ndp.msg_len) {
            POSITION_BYTES: parse_position;
            default: accept;
        }
    }

    state parse_position {
        packet.extract(hdr.position);
        transition accept;
    }
}

control MyProcessing(inout headers_of_othello hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    apply {
        meta.meta.msg_len = hdr.ndp.msg_len;
        if (hdr.ndp.flags != DATA_MASK) {
            smeta.drop = 1;
        } else if (hdr.position.isValid()) {
            bit<64> own = hdr.position.own;
            bit<64> other = hdr.position.other;
            bit<64> found = 0;

            bit<64> east = (own << 1) & NOT_FIRST & other;
            east = east | ((east << 1) & NOT_FIRST & other);
            east = east | ((east << 1) & NOT_FIRST & other);
            east = east | ((east << 1) & NOT_FIRST & other);
            east = east | ((east << 1) & NOT_FIRST & other);
            east = east | ((east << 1) & NOT_FIRST & other);
            found = found | ((east << 1) & NOT_FIRST);

            bit<64> west = (own >> 1) & NOT_LAST & other;
            west = west | ((west >> 1) & NOT_LAST & other);
            west = west | ((west >> 1) & NOT_LAST & other);
            west = west | ((west >> 1) & NOT_LAST & other);
            west = west | ((west >> 1) & NOT_LAST & other);
            west = west | ((west >> 1) & NOT_LAST & other);
            found = found | ((west >> 1) & NOT_LAST);

            bit<64> south = (own << 8) & other;
            south = south | ((south << 8) & other);
            south = south | ((south << 8) & other);
            south = south | ((south << 8) & other);
            south = south | ((south << 8) & other);
            south = south | ((south << 8) & other);
            found = found | ((south << 8));

            bit<64> north = (own >> 8) & other;
            north = north | ((north >> 8) & other);
            north = north | ((north >> 8) & other);
            north = north | ((north >> 8) & other);
            north = north | ((north >> 8) & other);
            north = north | ((north >> 8) & other);
            found = found | ((north >> 8));

            bit<64> south_east = (own << 9) & NOT_FIRST & other;
            south_east = south_east | ((south_east << 9) & NOT_FIRST & other);
            south_east = south_east | ((south_east << 9) & NOT_FIRST & other);
            south_east = south_east | ((south_east << 9) & NOT_FIRST & other);
            south_east = south_east | ((south_east << 9) & NOT_FIRST & other);
            south_east = south_east | ((south_east << 9) & NOT_FIRST & other);
            found = found | ((south_east << 9) & NOT_FIRST);

            bit<64> north_west = (own >> 9) & NOT_LAST & other;
            north_west = north_west | ((north_west >> 9) & NOT_LAST & other);
            north_west = north_west | ((north_west >> 9) & NOT_LAST & other);
            north_west = north_west | ((north_west >> 9) & NOT_LAST & other);
            north_west = north_west | ((north_west >> 9) & NOT_LAST & other);
            north_west = north_west | ((north_west >> 9) & NOT_LAST & other);
            found = found | ((north_west >> 9) & NOT_LAST);

            bit<64> south_west = (own << 7) & NOT_LAST & other;
            south_west = south_west | ((south_west << 7) & NOT_LAST & other);
            south_west = south_west | ((south_west << 7) & NOT_LAST & other);
            south_west = south_west | ((south_west << 7) & NOT_LAST & other);
            south_west = south_west | ((south_west << 7) & NOT_LAST & other);
            south_west = south_west | ((south_west << 7) & NOT_LAST & other);
            found = found | ((south_west << 7) & NOT_LAST);

            bit<64> north_east = (own >> 7) & NOT_FIRST & other;
            north_east = north_east | ((north_east >> 7) & NOT_FIRST & other);
            north_east = north_east | ((north_east >> 7) & NOT_FIRST & other);
            north_east = north_east | ((north_east >> 7) & NOT_FIRST & other);
            north_east = north_east | ((north_east >> 7) & NOT_FIRST & other);
            north_east = north_east | ((north_east >> 7) & NOT_FIRST & other);
            found = found | ((north_east >> 7) & NOT_FIRST);

            hdr.moves.setValid();
            hdr.moves.squares = found & ~(own | other);
            meta.meta.msg_len = SEARCH_BYTES;
        }
    }
}

// The position goes on, with its moves behind it.
control MyDeparser(packet_out packet,
                   in headers_of_othello hdr,
                   inout full_ingress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply {
        packet.emit(hdr.position);
        packet.emit(hdr.moves);
    }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
