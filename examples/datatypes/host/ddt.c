/* Compiles a datatype in writing to a layout program, without an MPI library.
 *
 *     ddt compile TYPE OUT [elements=N] [slots=N] [handler_memory=BYTES] [host_memory=BYTES]
 *                          [nesting=keep|simplify] [reuse=0|1]
 *     ddt show FILE
 *     ddt unpack FILE PACKED OUT [piece=BYTES]     by the handlers' interpreter, on this computer
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddt.h"

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "ddt: %s: %s\n", what, why);
    return 1;
}

static uint8_t *read_file(const char *path, uint32_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long length;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0) {
        bytes = malloc((size_t)length + 1);
        rewind(file);
        if (bytes != NULL && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
            free(bytes);
            bytes = NULL;
        }
        *size = (uint32_t)length;
    }
    if (file != NULL)
        fclose(file);
    if (bytes == NULL)
        fail(path, strerror(errno));
    return bytes;
}

static int write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && fwrite(bytes, 1, size, file) == size;

    if (file != NULL && fclose(file) != 0)
        written = false;
    return written ? 0 : fail(path, strerror(errno));
}

/* Finds KEY=NUMBER among the options. */
static bool number_option(const char *option, const char *key, uint64_t *value)
{
    size_t length = strlen(key);
    char *end;

    if (strncmp(option, key, length) != 0 || option[length] != '=')
        return false;
    *value = strtoull(option + length + 1, &end, 0);
    return end != option + length + 1 && *end == '\0';
}

static bool read_options(char **options, ddt_target_t *target)
{
    for (; *options != NULL; options++) {
        uint64_t value;

        if (number_option(*options, "elements", &value))
            target->elements = (uint32_t)value;
        else if (number_option(*options, "slots", &value))
            target->slots = (uint32_t)value;
        else if (number_option(*options, "handler_memory", &value))
            target->handler_memory_bytes = (uint32_t)value;
        else if (number_option(*options, "host_memory", &value))
            target->host_memory_bytes = value;
        else if (number_option(*options, "reuse", &value))
            target->flags = value ? DDT_FLAG_REUSE : 0;
        else if (strcmp(*options, "nesting=keep") == 0)
            target->keep_nesting = true;
        else if (strcmp(*options, "nesting=simplify") == 0)
            target->keep_nesting = false;
        else
            return fail(*options, "no such option, or no number") == 0;
    }
    return true;
}

static int compile(char **arguments)
{
    ddt_target_t target = { .handler_memory_bytes = 256 << 10,
                            .host_memory_bytes = 48 << 20,
                            .slots = 16,
                            .elements = 20 };
    ddt_error_t error;
    ddt_image_t image;
    ddt_type_t *type;

    if (!read_options(arguments + 2, &target))
        return 1;
    type = ddt_parse(arguments[0], &error);
    if (type == NULL || !ddt_compile(type, &target, &image, &error))
        return fail(arguments[0], error.text);
    ddt_type_free(type);
    return write_file(arguments[1], image.bytes, image.size);
}

static int show(const char *path)
{
    uint32_t size;
    uint8_t *bytes = read_file(path, &size);
    const ddt_layout_t *layout = (const ddt_layout_t *)bytes;
    ddt_error_t error;

    if (bytes == NULL)
        return 1;
    if (!ddt_check(bytes, size, &error))
        return fail(path, error.text);
    printf("element        %u B of data, extent %d B, from %d to %d\n", layout->element_bytes,
           layout->element_extent, layout->low, layout->high);
    printf("message        up to %u elements\n", layout->max_elements);
    printf("program        %u B, %u loops deep\n", layout->bytes, layout->depth);
    printf("slots          %u of %u B from %u on, origin at %u\n", layout->slots,
           layout->slot_bytes, layout->data, layout->origin);
    printf("results        at %u\n", layout->results);
    printf("handler memory %u B\n", size);
    free(bytes);
    return 0;
}

static int unpack(char **arguments)
{
    uint32_t size, bytes;
    uint64_t piece = 1462;
    uint8_t *program = read_file(arguments[0], &size), *packed = NULL, *slot = NULL;
    const ddt_layout_t *layout = (const ddt_layout_t *)program;
    ddt_error_t error;
    int status = 1;

    if (program == NULL || (packed = read_file(arguments[1], &bytes)) == NULL)
        goto done;
    if (arguments[3] != NULL && (!number_option(arguments[3], "piece", &piece) || piece == 0)) {
        fail(arguments[3], "no such option, or no number");
        goto done;
    }
    if (!ddt_check(program, size, &error)) {
        fail(arguments[0], error.text);
        goto done;
    }
    slot = calloc(1, layout->slot_bytes + 1);
    if (slot == NULL || !ddt_unpack(program, slot, packed, bytes, (uint32_t)piece))
        fail(arguments[1], "has more data than the layout has elements");
    else
        status = write_file(arguments[2], slot, layout->slot_bytes);
done:
    free(slot);
    free(packed);
    free(program);
    return status;
}

int main(int count, char **arguments)
{
    if (count >= 4 && strcmp(arguments[1], "compile") == 0)
        return compile(arguments + 2);
    if (count == 3 && strcmp(arguments[1], "show") == 0)
        return show(arguments[2]);
    if ((count == 5 || count == 6) && strcmp(arguments[1], "unpack") == 0)
        return unpack(arguments + 2);
    fprintf(stderr, "usage: ddt compile TYPE OUT [KEY=VALUE…] | show FILE | unpack FILE PACKED OUT "
                    "[piece=BYTES]\n");
    return 2;
}
