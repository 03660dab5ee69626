/* Datatypes in writing, as the FPsPIN paper writes them:
 *
 *     ctg(N)[T]              N of T, one behind the other
 *     vec(N L S)[T]          N blocks of L, S extents of T apart;  hvec: S bytes apart
 *     idx(L D L D …)[T]      blocks of L, D extents of T from the origin;  hidx: D bytes
 *     bidx(L D D …)[T]       the same with one L for all;  hbidx: D bytes
 *     struct(L D L D …)[T; T; …]   L of the first T at D bytes, and so on
 *     sub(C N sizes… subsizes… starts…)[T]   box of an N-dimensional array; F: Fortran's order
 *     res(LB EXTENT)[T]      T with other bounds
 *     dup[T]                 T
 *     char byte short int long float double long_double complex float_int double_int long_int
 *     short_int long_double_int 2int
 *     simple complex_nested  the paper's two datatypes
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ddt.h"

#define MAX_NUMBERS 4096
#define MAX_FIELDS 256
#define MAX_NESTING 64

void *ddt_allocate(size_t count, size_t bytes);

typedef struct {
    const char *start, *at;
    int nesting;
    ddt_error_t *error;
} reader_t;

typedef struct {
    int64_t number[MAX_NUMBERS];
    int count;
    char order; /* of sub */
} numbers_t;

static const char *const SIMPLE = "ctg(27648)[float]";
static const char *const COMPLEX_NESTED =
    "hvec(2 1 18432)[hvec(2 1 12288)[hvec(2 1 6144)[vec(32 6 8)[ctg(18)[float]]]]]";

static ddt_type_t *read_type(reader_t *in);

static void *complain(reader_t *in, const char *what)
{
    ddt_fail(in->error, "datatype, character %d: %s", (int)(in->at - in->start) + 1, what);
    return NULL;
}

static char peek(reader_t *in)
{
    while (isspace((unsigned char)*in->at) || *in->at == ',')
        in->at++;
    return *in->at;
}

static bool take(reader_t *in, char wanted)
{
    if (peek(in) != wanted)
        return false;
    in->at++;
    return true;
}

static bool read_numbers(reader_t *in, numbers_t *out)
{
    out->count = 0;
    out->order = 'C';
    if (!take(in, '('))
        return true;
    if (peek(in) == 'C' || peek(in) == 'F')
        out->order = *in->at++;
    while (!take(in, ')')) {
        char *end;

        peek(in);
        errno = 0;
        if (out->count == MAX_NUMBERS)
            return complain(in, "too many numbers") != NULL;
        out->number[out->count++] = strtoll(in->at, &end, 10);
        if (end == in->at || errno != 0)
            return complain(in, "a number or ) is expected") != NULL;
        if (llabs(out->number[out->count - 1]) > INT32_MAX)
            return complain(in, "a number is beyond 2^31") != NULL;
        in->at = end;
    }
    return true;
}

/* Blocks from pairs (length, displacement) or, with one length, from displacements. */
static ddt_type_t *make_indexed(const numbers_t *in, bool one_length, int64_t unit,
                                ddt_type_t *child)
{
    int count = one_length ? in->count - 1 : in->count / 2;
    ddt_type_block_t *blocks = ddt_allocate((size_t)count, sizeof(*blocks));

    for (int b = 0; b < count; b++) {
        int64_t displacement = in->number[one_length ? b + 1 : 2 * b + 1];

        blocks[b].length = in->number[one_length ? 0 : 2 * b];
        blocks[b].displacement = displacement * unit;
        blocks[b].child = child;
    }
    if (count == 0) {
        ddt_type_free(child);
        child = NULL;
    }
    return ddt_blocks(count, blocks);
}

/* The constructors of one child; NULL: the numbers do not fit it, or there is no such one. */
static ddt_type_t *construct(const char *name, const numbers_t *n, ddt_type_t *child)
{
    const int64_t *number = n->number;
    bool bytes = name[0] == 'h';
    const char *plain = name + bytes;
    int64_t unit = bytes ? 1 : child->extent;

    if (strcmp(name, "ctg") == 0 && n->count == 1 && number[0] >= 0)
        return ddt_strided(1, number[0], 0, child);
    if (strcmp(plain, "vec") == 0 && n->count == 3 && number[0] >= 0 && number[1] >= 0)
        return ddt_strided(number[0], number[1], number[2] * unit, child);
    if (strcmp(plain, "idx") == 0 && n->count % 2 == 0) {
        for (int b = 0; b < n->count; b += 2)
            if (number[b] < 0)
                return NULL;
        return make_indexed(n, false, unit, child);
    }
    if ((strcmp(plain, "bidx") == 0) && n->count >= 1 && number[0] >= 0)
        return make_indexed(n, true, unit, child);
    if (strcmp(name, "res") == 0 && n->count == 2)
        return ddt_resized(number[0], number[1], child);
    if (strcmp(name, "dup") == 0 && n->count == 0)
        return child;
    if (strcmp(name, "sub") == 0 && n->count >= 4 && number[0] >= 1 &&
        n->count == 1 + 3 * number[0]) {
        int64_t dims = number[0];
        const int64_t *sizes = number + 1, *subsizes = sizes + dims, *starts = subsizes + dims;

        for (int64_t d = 0; d < dims; d++)
            if (subsizes[d] < 1 || starts[d] < 0 || starts[d] + subsizes[d] > sizes[d])
                return NULL;
        return ddt_subarray((int)dims, sizes, subsizes, starts, n->order == 'F', child);
    }
    return NULL;
}

static ddt_type_t *read_struct(reader_t *in, const numbers_t *n)
{
    ddt_type_block_t *blocks = ddt_allocate(MAX_FIELDS, sizeof(*blocks));
    int count = 0;

    if (!take(in, '['))
        return free(blocks), complain(in, "[ is expected");
    do {
        if (count == MAX_FIELDS || 2 * count + 1 >= n->count || n->number[2 * count] < 0) {
            complain(in, "struct has length and displacement of each type, the length 0 or more");
            break;
        }
        blocks[count].length = n->number[2 * count];
        blocks[count].displacement = n->number[2 * count + 1];
        blocks[count].child = read_type(in);
        if (blocks[count].child == NULL)
            break;
        count++;
        if (take(in, ']')) {
            if (2 * count == n->count)
                return ddt_blocks(count, blocks);
            complain(in, "struct has more numbers than types");
            break;
        }
    } while (take(in, ';') || complain(in, "; or ] is expected") != NULL);
    while (count > 0)
        ddt_type_free(blocks[--count].child);
    free(blocks);
    return NULL;
}

static ddt_type_t *read_constructor(reader_t *in, const char *name)
{
    numbers_t *numbers = ddt_allocate(1, sizeof(*numbers));
    const char *start = in->at;
    ddt_type_t *type = NULL, *child;

    if (!read_numbers(in, numbers))
        goto done;
    if (strcmp(name, "struct") == 0) {
        type = read_struct(in, numbers);
        goto done;
    }
    if (!take(in, '[')) {
        in->at = start;
        complain(in, "there is no such type");
        goto done;
    }
    child = read_type(in);
    if (child == NULL)
        goto done;
    type = take(in, ']') ? construct(name, numbers, child) : NULL;
    if (type == NULL) {
        ddt_type_free(child);
        complain(in, "] is missing, or the constructor's numbers are not as they should be");
    }
done:
    free(numbers);
    return type;
}

static ddt_type_t *read_type(reader_t *in)
{
    char name[24];
    size_t length = 0;
    ddt_type_t *type;

    if (in->nesting == MAX_NESTING)
        return complain(in, "the datatype is nested too deep");
    peek(in);
    while ((isalnum((unsigned char)*in->at) || *in->at == '_') && length < sizeof(name) - 1)
        name[length++] = *in->at++;
    name[length] = '\0';
    if (strcmp(name, "simple") == 0)
        return ddt_parse(SIMPLE, in->error);
    if (strcmp(name, "complex_nested") == 0)
        return ddt_parse(COMPLEX_NESTED, in->error);
    type = ddt_named(name);
    if (type != NULL)
        return type;
    in->nesting++;
    type = read_constructor(in, name);
    in->nesting--;
    return type;
}

ddt_type_t *ddt_parse(const char *text, ddt_error_t *error)
{
    reader_t in = { text, text, 0, error };
    ddt_type_t *type = read_type(&in);

    if (type != NULL && peek(&in) != '\0') {
        ddt_type_free(type);
        return complain(&in, "the datatype ends here, but there is more");
    }
    return type;
}
