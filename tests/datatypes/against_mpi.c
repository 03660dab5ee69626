/* Compares the layout compiler with the MPI library, type by type.
 *
 * Standard input: lines "ELEMENTS SEED TYPE"; a line for each: "ok" or "FAIL what". The memory
 * compared is the whole slot, gaps included, random before; the packed data are random too, so that
 * the order of overlapping blocks shows. Instead, with an argument:
 *
 *     refusals   types that must be refused, a line for each
 *     serve      standard input: lines "unpack ELEMENTS ORIGIN PACKED MEMORY TYPE": MPI_Unpack of
 *                the file PACKED to the file MEMORY, the datatype's origin at ORIGIN; and "compile
 *                ELEMENTS SLOTS OUT TYPE": the layout program to the file OUT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/datatypes/host/ddt_mpi.h"
#include "../../examples/datatypes/host/mpi_types.h"

#define MOST_BYTES (64u << 20)

static uint32_t state;

static uint32_t word(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* With some room behind, for an MPI library that writes too much. */
static uint8_t *random_bytes(uint32_t count)
{
    uint8_t *bytes = malloc((size_t)count + 65536);

    if (bytes == NULL)
        exit(2);
    for (uint32_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(word() >> 8);
    return bytes;
}

/* Unpacks by MPI and by the layout; NULL: the same. */
static const char *compare(const ddt_image_t *image, MPI_Datatype mpi_type, uint32_t elements,
                           uint32_t piece)
{
    const ddt_layout_t *layout = (const ddt_layout_t *)image->bytes;
    uint32_t bytes = elements * layout->element_bytes, size = layout->slot_bytes;
    uint8_t *packed = random_bytes(bytes), *wanted = random_bytes(size), *found = malloc(size + 1);
    const char *problem = NULL;
    int position = 0;

    if (found == NULL)
        exit(2);
    memcpy(found, wanted, size);
    MPI_Unpack(packed, (int)bytes, &position, wanted + layout->origin, (int)elements, mpi_type,
               MPI_COMM_SELF);
    if ((uint32_t)position != bytes)
        problem = "MPI_Unpack took other bytes";
    else if (!ddt_unpack(image->bytes, found, packed, bytes, piece))
        problem = "the layout refuses data";
    else if (memcmp(found, wanted, size) != 0)
        problem = "the layout places bytes elsewhere than MPI_Unpack";
    free(packed);
    free(wanted);
    free(found);
    return problem;
}

/* Whether the library padded a type more than the text front end does: the standard leaves padding
 * to it, and a type's padding moves what is made of it. */
static bool is_padded(const ddt_type_t *by_mpi, const ddt_type_t *by_text)
{
    int64_t tables = by_mpi->blocks == NULL ? 0 : by_mpi->strided ? 1 : by_mpi->count;

    if (by_mpi->lb == by_text->lb && by_mpi->extent > by_text->extent)
        return true;
    for (int64_t b = 0; b < tables; b++)
        if (is_padded(by_mpi->blocks[b].child, by_text->blocks[b].child))
            return true;
    return false;
}

/* Compiles in one of the two ways, from MPI and from text, and compares. */
static const char *check(const char *text, MPI_Datatype mpi_type, uint32_t elements, bool keep,
                         ddt_error_t *error)
{
    ddt_target_t target = { .handler_memory_bytes = 256 << 10,
                            .host_memory_bytes = MOST_BYTES,
                            .slots = 1,
                            .elements = elements,
                            .keep_nesting = keep };
    ddt_type_t *by_mpi = ddt_from_mpi(mpi_type, "native", error);
    ddt_type_t *by_text = by_mpi == NULL ? NULL : ddt_parse(text, error);
    ddt_image_t from_mpi, from_text;
    const char *problem = NULL;
    uint32_t piece = 1 + word() % 1462;

    if (by_text == NULL)
        return error->text;
    if (by_mpi->size == 0) {
        /* Nothing to place: both have to say so. */
        if (ddt_compile(by_mpi, &target, &from_mpi, error))
            problem = "an empty type was compiled";
    } else if (!ddt_compile(by_mpi, &target, &from_mpi, error) ||
               !ddt_check(from_mpi.bytes, from_mpi.size, error) ||
               !ddt_compile(by_text, &target, &from_text, error)) {
        problem = error->text;
    } else {
        if (!is_padded(by_mpi, by_text) &&
            (from_mpi.size != from_text.size ||
             memcmp(from_mpi.bytes, from_text.bytes, from_mpi.size) != 0))
            problem = "text and MPI give different layouts";
        else
            problem = compare(&from_mpi, mpi_type, elements, piece);
        free(from_mpi.bytes);
        free(from_text.bytes);
    }
    ddt_type_free(by_mpi);
    ddt_type_free(by_text);
    return problem;
}

static void check_line(char *line)
{
    char *text;
    uint32_t elements = (uint32_t)strtoul(line, &text, 10);
    const char *problem;
    ddt_error_t error;
    MPI_Datatype mpi_type;

    state = (uint32_t)strtoul(text, &text, 10) | 1;
    while (*text == ' ')
        text++;
    mpi_type = make_mpi_type(text);
    MPI_Type_commit(&mpi_type);
    problem = check(text, mpi_type, elements, false, &error);
    if (problem == NULL)
        problem = check(text, mpi_type, elements, true, &error);
    if (problem == NULL)
        puts("ok");
    else
        printf("FAIL %s\n", problem);
    fflush(stdout);
}

/* Reads or writes a whole file; the size is that of the file. */
static uint8_t *load(const char *path, long *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (*size = ftell(file)) < 0)
        exit(2);
    rewind(file);
    bytes = malloc((size_t)*size + 65536);
    if (bytes == NULL || fread(bytes, 1, (size_t)*size, file) != (size_t)*size)
        exit(2);
    fclose(file);
    return bytes;
}

static void save(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        exit(2);
}

static void compile_line(const char *line)
{
    ddt_target_t target = { .handler_memory_bytes = 256 << 10,
                            .host_memory_bytes = 48 << 20,
                            .keep_nesting = true };
    ddt_error_t error;
    ddt_image_t image;
    ddt_type_t *type;
    MPI_Datatype mpi_type;
    char out[400];
    int used;

    if (sscanf(line, "%u %u %399s %n", &target.elements, &target.slots, out, &used) != 3)
        exit(2);
    mpi_type = make_mpi_type(line + used);
    MPI_Type_commit(&mpi_type);
    type = ddt_from_mpi(mpi_type, "native", &error);
    if (type == NULL || !ddt_compile(type, &target, &image, &error)) {
        puts(error.text);
    } else {
        save(out, image.bytes, image.size);
        free(image.bytes);
        puts("ok");
    }
    ddt_type_free(type);
    fflush(stdout);
}

static void unpack_line(const char *line)
{
    char packed_path[400], memory_path[400];
    int elements, position = 0, used;
    long origin, bytes, size;
    uint8_t *packed, *memory;
    MPI_Datatype mpi_type;

    if (sscanf(line, "%d %ld %399s %399s %n", &elements, &origin, packed_path, memory_path,
               &used) != 4)
        exit(2);
    packed = load(packed_path, &bytes);
    memory = load(memory_path, &size);
    mpi_type = make_mpi_type(line + used);
    MPI_Type_commit(&mpi_type);
    MPI_Unpack(packed, (int)bytes, &position, memory + origin, elements, mpi_type, MPI_COMM_SELF);
    save(memory_path, memory, (size_t)size);
    puts(position == bytes ? "ok" : "MPI_Unpack took other bytes");
    fflush(stdout);
    free(packed);
    free(memory);
}

/* Expects a type to be refused with `reason` in the text. */
static void expect_refusal(const char *name, MPI_Datatype mpi_type, const char *representation,
                           const ddt_target_t *target, const char *reason)
{
    ddt_error_t error = { "compiled" };
    ddt_type_t *type = ddt_from_mpi(mpi_type, representation, &error);
    ddt_image_t image;

    if (type != NULL && ddt_compile(type, target, &image, &error))
        snprintf(error.text, sizeof(error.text), "compiled");
    ddt_type_free(type);
    if (strstr(error.text, reason) != NULL)
        printf("ok refused %s: %s\n", name, error.text);
    else
        printf("FAIL refused %s: \"%s\" instead of \"%s\"\n", name, error.text, reason);
}

static MPI_Datatype committed(const char *text)
{
    MPI_Datatype type = make_mpi_type(text);

    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype distributed(void)
{
    int size = 8, how = MPI_DISTRIBUTE_BLOCK, share = MPI_DISTRIBUTE_DFLT_DARG, processes = 2;
    MPI_Datatype type;

    MPI_Type_create_darray(2, 0, 1, &size, &how, &share, &processes, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype deep(int levels)
{
    MPI_Datatype type = MPI_INT;

    for (int i = 0; i < levels; i++)
        MPI_Type_create_hvector(2, 1, 64 << i, type, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype scattered(int blocks)
{
    int *places = malloc((size_t)blocks * sizeof(*places));
    MPI_Datatype type;

    for (int b = 0; b < blocks; b++)
        places[b] = 3 * b;
    MPI_Type_create_indexed_block(blocks, 1, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    free(places);
    return type;
}

static void check_refusals(void)
{
    const ddt_target_t normal = { .handler_memory_bytes = 256 << 10,
                                  .host_memory_bytes = MOST_BYTES,
                                  .slots = 16,
                                  .elements = 4 };
    ddt_target_t changed = normal;

    expect_refusal("not committed", make_mpi_type("vec(3 1 2)[int]"), "native", &normal,
                   "is not committed");
    expect_refusal("external32", MPI_INT, "external32", &normal, "only native works");
    expect_refusal("null", MPI_DATATYPE_NULL, "native", &normal, "MPI_DATATYPE_NULL");
    expect_refusal("darray", distributed(), "native", &normal, "not supported");
    expect_refusal("no data", committed("ctg(0)[int]"), "native", &normal, "has no data");
    expect_refusal("too deep", deep(13), "native", &normal, "loops deep");
    changed.host_memory_bytes = UINT32_MAX;
    changed.slots = changed.elements = 1;
    expect_refusal("far too deep", deep(20), "native", &changed, "loops deep");
    expect_refusal("table too large", scattered(100000), "native", &changed,
                   "bytes of handler memory");
    changed = normal;
    changed.handler_memory_bytes = 4096;
    expect_refusal("states too large", MPI_INT, "native", &changed, "bytes of handler memory");
    changed = normal;
    changed.host_memory_bytes = 4096;
    expect_refusal("window too small", committed("vec(64 1 16)[int]"), "native", &changed,
                   "the window has 4096");
    changed = normal;
    changed.slots = 0;
    expect_refusal("no slots", MPI_INT, "native", &changed, "messages at once");
    changed.slots = 16;
    changed.elements = 0;
    expect_refusal("no elements", MPI_INT, "native", &changed, "elements");
    expect_refusal("beyond 2 GiB", committed("hvec(3 1 2147483647)[int]"), "native", &normal,
                   "2 GiB");
}

int main(int count, char **arguments)
{
    static char line[1 << 16];
    bool serves = count == 2 && strcmp(arguments[1], "serve") == 0;

    MPI_Init(&count, &arguments);
    if (count == 2 && strcmp(arguments[1], "refusals") == 0) {
        check_refusals();
        MPI_Finalize();
        return 0;
    }
    while (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (serves && strncmp(line, "unpack ", 7) == 0)
            unpack_line(line + 7);
        else if (serves && strncmp(line, "compile ", 8) == 0)
            compile_line(line + 8);
        else
            check_line(line);
    }
    MPI_Finalize();
    return 0;
}
