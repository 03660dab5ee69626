#include "mpi_types.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBERS 4096
#define MAX_FIELDS 64

typedef struct {
    int number[MAX_NUMBERS];
    int count;
    int order;
} numbers_t;

static const char *at;

static void skip(void)
{
    while (isspace((unsigned char)*at) || *at == ';')
        at++;
}

static void expect(char wanted)
{
    skip();
    if (*at != wanted) {
        fprintf(stderr, "datatype: %c is missing before \"%s\"\n", wanted, at);
        exit(2);
    }
    at++;
}

static void read_numbers(numbers_t *out)
{
    out->count = 0;
    out->order = MPI_ORDER_C;
    skip();
    if (*at != '(')
        return;
    at++;
    for (skip(); *at != ')'; skip()) {
        char *end;

        if (*at == 'C' || *at == 'F') {
            out->order = *at++ == 'F' ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
            continue;
        }
        out->number[out->count++] = (int)strtol(at, &end, 10);
        if (end == at || out->count == MAX_NUMBERS)
            exit(2);
        at = end;
    }
    at++;
}

static MPI_Datatype named(const char *name)
{
    static const struct {
        const char *name;
        MPI_Datatype type;
    } all[] = {
        { "char", MPI_CHAR },
        { "byte", MPI_BYTE },
        { "short", MPI_SHORT },
        { "int", MPI_INT },
        { "long", MPI_LONG },
        { "float", MPI_FLOAT },
        { "double", MPI_DOUBLE },
        { "long_double", MPI_LONG_DOUBLE },
        { "complex", MPI_C_DOUBLE_COMPLEX },
        { "float_int", MPI_FLOAT_INT },
        { "double_int", MPI_DOUBLE_INT },
        { "long_int", MPI_LONG_INT },
        { "short_int", MPI_SHORT_INT },
        { "2int", MPI_2INT },
        { "long_double_int", MPI_LONG_DOUBLE_INT },
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].type;
    return MPI_DATATYPE_NULL;
}

/* The paper's datatypes, by the calls its authors name. */
static MPI_Datatype published(const char *name)
{
    const int strides[] = { 6144, 12288, 18432 };
    MPI_Datatype type;

    if (strcmp(name, "simple") == 0) {
        MPI_Type_contiguous(27648, MPI_FLOAT, &type);
        return type;
    }
    if (strcmp(name, "complex_nested") != 0)
        return MPI_DATATYPE_NULL;
    MPI_Type_contiguous(18, MPI_FLOAT, &type);
    MPI_Type_vector(32, 6, 8, type, &type);
    for (int i = 0; i < 3; i++)
        MPI_Type_create_hvector(2, 1, strides[i], type, &type);
    return type;
}

/* Lengths and displacements, in turn in the text, each in an array of its own. */
typedef struct {
    int count, length[MAX_NUMBERS], place[MAX_NUMBERS];
    MPI_Aint address[MAX_NUMBERS];
} blocks_t;

static void split(const numbers_t *n, bool one_length, blocks_t *out)
{
    out->count = one_length ? n->count - 1 : n->count / 2;
    for (int b = 0; b < out->count; b++) {
        out->length[b] = n->number[one_length ? 0 : 2 * b];
        out->place[b] = n->number[one_length ? b + 1 : 2 * b + 1];
        out->address[b] = out->place[b];
    }
}

static MPI_Datatype construct(const char *name, const numbers_t *n, MPI_Datatype *children)
{
    static blocks_t blocks;
    MPI_Datatype child = children[0], made = MPI_DATATYPE_NULL;
    const int *number = n->number;

    split(n, strstr(name, "bidx") != NULL, &blocks);
    if (strcmp(name, "ctg") == 0)
        MPI_Type_contiguous(number[0], child, &made);
    else if (strcmp(name, "vec") == 0)
        MPI_Type_vector(number[0], number[1], number[2], child, &made);
    else if (strcmp(name, "hvec") == 0)
        MPI_Type_create_hvector(number[0], number[1], number[2], child, &made);
    else if (strcmp(name, "idx") == 0)
        MPI_Type_indexed(blocks.count, blocks.length, blocks.place, child, &made);
    else if (strcmp(name, "hidx") == 0)
        MPI_Type_create_hindexed(blocks.count, blocks.length, blocks.address, child, &made);
    else if (strcmp(name, "bidx") == 0)
        MPI_Type_create_indexed_block(blocks.count, number[0], blocks.place, child, &made);
    else if (strcmp(name, "hbidx") == 0)
        MPI_Type_create_hindexed_block(blocks.count, number[0], blocks.address, child, &made);
    else if (strcmp(name, "struct") == 0)
        MPI_Type_create_struct(blocks.count, blocks.length, blocks.address, children, &made);
    else if (strcmp(name, "sub") == 0)
        MPI_Type_create_subarray(number[0], number + 1, number + 1 + number[0],
                                 number + 1 + 2 * number[0], n->order, child, &made);
    else if (strcmp(name, "res") == 0)
        MPI_Type_create_resized(child, number[0], number[1], &made);
    else if (strcmp(name, "dup") == 0)
        MPI_Type_dup(child, &made);
    return made;
}

static MPI_Datatype read_type(void)
{
    char name[24];
    size_t length = 0;
    numbers_t *numbers;
    MPI_Datatype children[MAX_FIELDS], made;
    int count = 0;

    skip();
    while ((isalnum((unsigned char)*at) || *at == '_') && length < sizeof(name) - 1)
        name[length++] = *at++;
    name[length] = '\0';
    made = named(name);
    if (made == MPI_DATATYPE_NULL)
        made = published(name);
    if (made != MPI_DATATYPE_NULL)
        return made;
    numbers = malloc(sizeof(*numbers));
    if (numbers == NULL)
        exit(2);
    read_numbers(numbers);
    expect('[');
    for (skip(); *at != ']' && count < MAX_FIELDS; skip())
        children[count++] = read_type();
    expect(']');
    made = construct(name, numbers, children);
    free(numbers);
    if (made == MPI_DATATYPE_NULL) {
        fprintf(stderr, "datatype: there is no %s\n", name);
        exit(2);
    }
    return made;
}

MPI_Datatype make_mpi_type(const char *text)
{
    at = text;
    return read_type();
}
