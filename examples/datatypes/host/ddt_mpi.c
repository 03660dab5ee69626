/* Takes an MPI library's datatypes apart: MPI_Type_get_envelope says how a type was made,
 * MPI_Type_get_contents with what. Extents are taken from the library, which may pad as it likes.
 */
#include <stdlib.h>
#include <string.h>

#include "ddt_mpi.h"

/* No real datatype is nested like this; the handlers' own limit is lower. */
#define MAX_NESTING 64

void *ddt_allocate(size_t count, size_t bytes);

/* A constructor's arguments. */
typedef struct {
    int combiner, ints, addresses, types;
    int *number;
    MPI_Aint *address;
    MPI_Datatype *type;
} contents_t;

static ddt_type_t *walk(MPI_Datatype mpi_type, int nesting, ddt_error_t *error);

static ddt_type_t *refuse(MPI_Datatype mpi_type, ddt_error_t *error, const char *why)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;

    MPI_Type_get_name(mpi_type, name, &length);
    ddt_fail(error, "the datatype %s %s", length > 0 ? name : "(without a name)", why);
    return NULL;
}

/* Predefined types: pairs have gaps, all others are bytes in one piece. */
static ddt_type_t *walk_named(MPI_Datatype mpi_type, ddt_error_t *error)
{
    const struct {
        MPI_Datatype type;
        const char *name;
    } pairs[] = {
        { MPI_FLOAT_INT, "float_int" }, { MPI_DOUBLE_INT, "double_int" },
        { MPI_LONG_INT, "long_int" },   { MPI_SHORT_INT, "short_int" },
        { MPI_2INT, "2int" },           { MPI_LONG_DOUBLE_INT, "long_double_int" },
    };
    MPI_Aint lb, extent;
    int size;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (mpi_type == pairs[i].type)
            return ddt_named(pairs[i].name);
    MPI_Type_size(mpi_type, &size);
    MPI_Type_get_extent(mpi_type, &lb, &extent);
    if (size <= 0 || lb != 0 || extent != size)
        return refuse(mpi_type, error, "is predefined but no plain run of bytes: not supported");
    return ddt_basic(size, 1);
}

/* Blocks of one child; `unit` is what displacements count. */
static ddt_type_t *indexed(const contents_t *in, bool one_length, int64_t unit, ddt_type_t *child)
{
    int count = in->number[0], lengths = one_length ? 1 : count;
    ddt_type_block_t *blocks = ddt_allocate((size_t)count, sizeof(*blocks));

    for (int b = 0; b < count; b++) {
        blocks[b].length = in->number[one_length ? 1 : 1 + b];
        blocks[b].displacement =
            in->addresses > 0 ? in->address[b] : in->number[1 + lengths + b] * unit;
        blocks[b].child = child;
    }
    if (count == 0)
        ddt_type_free(child);
    return ddt_blocks(count, blocks);
}

static ddt_type_t *structure(const contents_t *in, int nesting, ddt_error_t *error)
{
    int count = in->number[0];
    ddt_type_block_t *blocks = ddt_allocate((size_t)count, sizeof(*blocks));

    for (int b = 0; b < count; b++) {
        blocks[b].length = in->number[1 + b];
        blocks[b].displacement = in->address[b];
        blocks[b].child = walk(in->type[b], nesting + 1, error);
        if (blocks[b].child == NULL) {
            while (b > 0)
                ddt_type_free(blocks[--b].child);
            free(blocks);
            return NULL;
        }
    }
    return ddt_blocks(count, blocks);
}

static ddt_type_t *subarray(const contents_t *in, ddt_type_t *child)
{
    int dims = in->number[0];
    int64_t *wide = ddt_allocate(3 * (size_t)dims, sizeof(*wide));
    bool fortran = in->number[1 + 3 * dims] == MPI_ORDER_FORTRAN;
    ddt_type_t *type;

    for (int i = 0; i < 3 * dims; i++)
        wide[i] = in->number[1 + i];
    type = ddt_subarray(dims, wide, wide + dims, wide + 2 * dims, fortran, child);
    free(wide);
    return type;
}

/* The constructors of one child, which they take over. */
static ddt_type_t *construct(MPI_Datatype mpi_type, const contents_t *in, ddt_type_t *child,
                             ddt_error_t *error)
{
    const int *number = in->number;

    switch (in->combiner) {
    case MPI_COMBINER_DUP:
        return child;
    case MPI_COMBINER_CONTIGUOUS:
        return ddt_strided(1, number[0], 0, child);
    case MPI_COMBINER_VECTOR:
        return ddt_strided(number[0], number[1], number[2] * child->extent, child);
    case MPI_COMBINER_HVECTOR:
        return ddt_strided(number[0], number[1], in->address[0], child);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
        return indexed(in, false, child->extent, child);
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return indexed(in, true, child->extent, child);
    case MPI_COMBINER_SUBARRAY:
        return subarray(in, child);
    case MPI_COMBINER_RESIZED:
        return ddt_resized(in->address[0], in->address[1], child);
    case MPI_COMBINER_DARRAY:
        ddt_type_free(child);
        return refuse(mpi_type, error, "is a distributed array (darray): not supported");
    default:
        ddt_type_free(child);
        return refuse(mpi_type, error, "is made by a constructor that is not supported");
    }
}

/* Frees the handles that MPI_Type_get_contents made: those of predefined types are not ours. */
static void free_contents(contents_t *in)
{
    for (int i = 0; i < in->types; i++) {
        int ints, addresses, types, combiner;

        MPI_Type_get_envelope(in->type[i], &ints, &addresses, &types, &combiner);
        if (combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
            combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER)
            MPI_Type_free(&in->type[i]);
    }
    free(in->number);
    free(in->address);
    free(in->type);
}

static ddt_type_t *walk_derived(MPI_Datatype mpi_type, contents_t *in, int nesting,
                                ddt_error_t *error)
{
    ddt_type_t *type, *child;
    MPI_Aint lb, extent;

    in->number = ddt_allocate((size_t)in->ints, sizeof(*in->number));
    in->address = ddt_allocate((size_t)in->addresses, sizeof(*in->address));
    in->type = ddt_allocate((size_t)in->types, sizeof(*in->type));
    MPI_Type_get_contents(mpi_type, in->ints, in->addresses, in->types, in->number, in->address,
                          in->type);
    if (in->combiner == MPI_COMBINER_STRUCT) {
        type = structure(in, nesting, error);
    } else {
        child = in->types == 1 ? walk(in->type[0], nesting + 1, error) : NULL;
        type = child == NULL ? NULL : construct(mpi_type, in, child, error);
    }
    free_contents(in);
    if (type == NULL)
        return NULL;
    MPI_Type_get_extent(mpi_type, &lb, &extent);
    type->lb = lb;
    type->extent = extent;
    return type;
}

static ddt_type_t *walk(MPI_Datatype mpi_type, int nesting, ddt_error_t *error)
{
    contents_t in = { 0 };

    if (nesting == MAX_NESTING)
        return refuse(mpi_type, error, "is nested too deep");
    MPI_Type_get_envelope(mpi_type, &in.ints, &in.addresses, &in.types, &in.combiner);
    switch (in.combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        return walk_named(mpi_type, error);
    default:
        return walk_derived(mpi_type, &in, nesting, error);
    }
}

/* MPI has no call that says whether a type is committed; packing one that is not is an error. */
static bool is_committed(MPI_Datatype mpi_type)
{
    MPI_Errhandler before;
    char nothing[1];
    int position = 0, result;

    MPI_Comm_get_errhandler(MPI_COMM_SELF, &before);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    result = MPI_Pack(nothing, 0, mpi_type, nothing, sizeof(nothing), &position, MPI_COMM_SELF);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
    MPI_Errhandler_free(&before);
    return result == MPI_SUCCESS;
}

ddt_type_t *ddt_from_mpi(MPI_Datatype mpi_type, const char *representation, ddt_error_t *error)
{
    if (strcmp(representation, "native") != 0) {
        ddt_fail(error, "data in representation %s: handlers convert nothing, only native works",
                 representation);
        return NULL;
    }
    if (mpi_type == MPI_DATATYPE_NULL) {
        ddt_fail(error, "the datatype is MPI_DATATYPE_NULL");
        return NULL;
    }
    if (!is_committed(mpi_type))
        return refuse(mpi_type, error, "is not committed: call MPI_Type_commit first");
    return walk(mpi_type, 0, error);
}
