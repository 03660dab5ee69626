// Requests to a key-value store, laid out as examples/nanopu_mica has them, with values of eight words.
#ifndef STORE_P4
#define STORE_P4

#include "raw.p4"

#define GET 1
#define SET 2
#define DONE 0

// Bytes of a request without and with a value, and of the answer with one.
#define REQUEST_BYTES 48
#define SET_BYTES 112
#define ANSWER_BYTES 80

header request_t {
    bit<64> first;
    bit<64> sent;                       // when, which comes back
    bit<64> operation;
    bit<64> hash;
    bit<64> key_0;
    bit<64> key_1;
}

header value_t {
    bit<64> word_0;
    bit<64> word_1;
    bit<64> word_2;
    bit<64> word_3;
    bit<64> word_4;
    bit<64> word_5;
    bit<64> word_6;
    bit<64> word_7;
}

header answer_t {
    bit<64> status;
    bit<64> sent;
}

struct headers_of_store {
    eth_t eth;
    ipv4_t ipv4;
    ndp_t ndp;
    request_t request;
    answer_t answer;
    value_t value;
}

#endif
