/* One step of a search of Othello's game tree. A request {mover's discs, other's discs, tag} holds a
 * position as two 64-bit sets, bit 8 * row + column. Each legal move, in order of its square, becomes
 * a message {discs of who moves next, of who moved, tag, square} to the port behind the sender's;
 * then {tag, number of moves} goes to the sender. */
#include <lnic.h>

#define ALL_BUT_FIRST_COLUMN 0xfefefefefefefefeul
#define ALL_BUT_LAST_COLUMN 0x7f7f7f7f7f7f7f7ful

/* A direction: by how many bits a step shifts to the left (negative: to the right), and where it may
 * arrive without having wrapped around a row's end. */
typedef struct {
    int shift;
    uint64_t arrives;
} direction_t;

static const direction_t directions[8] = {
    { 1, ALL_BUT_FIRST_COLUMN },  { -1, ALL_BUT_LAST_COLUMN },
    { 8, -1ul },                  { -8, -1ul },
    { 9, ALL_BUT_FIRST_COLUMN },  { -9, ALL_BUT_LAST_COLUMN },
    { 7, ALL_BUT_LAST_COLUMN },   { -7, ALL_BUT_FIRST_COLUMN },
};

static inline uint64_t step(uint64_t set, direction_t to)
{
    return (to.shift > 0 ? set << to.shift : set >> -to.shift) & to.arrives;
}

/* Empty squares from which a row of the other's discs leads to one of the mover's: seen from the
 * mover's discs, the squares behind such rows. */
static uint64_t legal_moves(uint64_t own, uint64_t other)
{
    uint64_t moves = 0;

    for (int d = 0; d < 8; d++) {
        uint64_t row = step(own, directions[d]) & other;
        for (int length = 1; length < 6; length++)
            row |= step(row, directions[d]) & other;
        moves |= step(row, directions[d]);
    }
    return moves & ~(own | other);
}

static uint64_t turned(uint64_t move, uint64_t own, uint64_t other)
{
    uint64_t all = 0;

    for (int d = 0; d < 8; d++) {
        uint64_t row = 0, at = step(move, directions[d]);
        for (; at & other; at = step(at, directions[d]))
            row |= at;
        if (at & own)
            all |= row;
    }
    return all;
}

int main(void)
{
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), own = lnic_read(), other = lnic_read(), tag = lnic_read();
        uint64_t ip = lnic_header_ip(header), port = lnic_header_context(header), count = 0;
        uint64_t moves = legal_moves(own, other);

        for (uint64_t square = 0; moves; square++, moves >>= 1) {
            if (!(moves & 1))
                continue;
            uint64_t move = 1ul << square, flips = turned(move, own, other);
            lnic_write_r(lnic_header(ip, port + 1, 32));
            lnic_write_r(other & ~flips);
            lnic_write_r(own | move | flips);
            lnic_write_r(tag);
            lnic_write_r(square);
            count++;
        }
        lnic_write_r(lnic_header(ip, port, 16));
        lnic_write_r(tag);
        lnic_write_r(count);
        lnic_msg_done();
    }
}
