#include "receiver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddt_mpi.h"

/* Pages 0 to NUM_HPUS - 1 are the HPUs'; the datatype's buffers come behind. */
#define BUFFERS_AT (NUM_HPUS * PAGE_SIZE)
#define MOST_HOST_BYTES (1u << 30)

static bool complain(const ddt_error_t *error)
{
    fprintf(stderr, "datatypes: %s\n", error->text);
    return false;
}

static bool compile(const ddt_type_t *type, const receiver_options_t *options,
                    uint32_t handler_memory_bytes, ddt_image_t *image)
{
    const ddt_target_t target = { .handler_memory_bytes = handler_memory_bytes,
                                  .host_memory_bytes = MOST_HOST_BYTES,
                                  .slots = options->slots,
                                  .elements = options->elements,
                                  .keep_nesting = true,
                                  .data = BUFFERS_AT };
    ddt_error_t error;

    return ddt_compile(type, &target, image, &error) || complain(&error);
}

/* Attaches without rules, so that no packet comes before its layout is there. */
static bool attach(receiver_t *receiver, const receiver_options_t *options)
{
    const ddt_layout_t *layout = receiver->layout;
    uint32_t bytes = layout->results + 8 * layout->slots;
    int pages = (int)((bytes + PAGE_SIZE - 1) / PAGE_SIZE);
    fpspin_ruleset_t none, slmp;

    fpspin_ruleset_bypass(&none);
    fpspin_ruleset_slmp(&slmp);
    if (!fpspin_init(&receiver->ctx, options->device, options->image, options->context, &none, 1,
                     pages))
        return false;
    if (receiver->program.size <= receiver->ctx.handler_mem.size) {
        if (fpspin_write_memory(&receiver->ctx, receiver->ctx.handler_mem.addr,
                                receiver->program.bytes, receiver->program.size) &&
            fpspin_set_me_ruleset(receiver->ctx.ctx_id, &slmp))
            return true;
    } else {
        fprintf(stderr, "datatypes: layout and states take %u bytes, the handler memory has %u\n",
                receiver->program.size, receiver->ctx.handler_mem.size);
    }
    fpspin_exit(&receiver->ctx);
    return false;
}

bool receiver_open(receiver_t *receiver, MPI_Datatype type, const receiver_options_t *options)
{
    ddt_error_t error;
    ddt_type_t *tree = ddt_from_mpi(type, "native", &error);
    bool compiled;

    if (tree == NULL)
        return complain(&error);
    compiled = compile(tree, options, 1u << 20, &receiver->program);
    ddt_type_free(tree);
    if (!compiled)
        return false;
    receiver->layout = (const ddt_layout_t *)receiver->program.bytes;
    if (attach(receiver, options))
        return true;
    free(receiver->program.bytes);
    return false;
}

static volatile uint64_t *result_of(receiver_t *receiver, uint32_t slot)
{
    uint8_t *memory = receiver->ctx.cpu_addr;

    return (volatile uint64_t *)(memory + receiver->layout->results) + slot;
}

bool receiver_poll(receiver_t *receiver, received_t *message)
{
    const ddt_layout_t *layout = receiver->layout;

    for (uint32_t slot = 0; slot < layout->slots; slot++) {
        uint64_t result = *result_of(receiver, slot);

        if (result == 0)
            continue;
        /* The data were written before the result: see them after it, too. */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        *result_of(receiver, slot) = 0;
        message->slot = slot;
        message->id = (uint32_t)result;
        message->bytes = (uint32_t)(result >> 32);
        message->slot_start =
            (uint8_t *)receiver->ctx.cpu_addr + layout->data + (size_t)slot * layout->slot_bytes;
        message->buffer = message->slot_start + layout->origin;
        return true;
    }
    return false;
}

bool receiver_matches(const receiver_t *receiver, const received_t *message, MPI_Datatype type)
{
    const ddt_layout_t *layout = receiver->layout;
    uint8_t *packed = malloc(message->bytes), *slot = calloc(1, layout->slot_bytes);
    int position = 0;
    bool same;

    if (packed == NULL || slot == NULL)
        abort();
    example_data(message->id, packed, message->bytes);
    MPI_Unpack(packed, (int)message->bytes, &position, slot + layout->origin,
               (int)(message->bytes / layout->element_bytes), type, MPI_COMM_SELF);
    same = (uint32_t)position == message->bytes &&
           memcmp(slot, message->slot_start, layout->slot_bytes) == 0;
    free(packed);
    free(slot);
    return same;
}

static fpspin_addr_t state_of(const receiver_t *receiver, uint32_t slot)
{
    return receiver->ctx.handler_mem.addr + receiver->layout->states +
           slot * (uint32_t)sizeof(ddt_state_t);
}

bool receiver_release(receiver_t *receiver, const received_t *message)
{
    uint32_t status = DDT_FREE;

    memset(message->slot_start, 0, receiver->layout->slot_bytes);
    return fpspin_write_memory(&receiver->ctx,
                               state_of(receiver, message->slot) + offsetof(ddt_state_t, status),
                               &status, sizeof(status));
}

void receiver_report(receiver_t *receiver)
{
    for (uint32_t slot = 0; slot < receiver->layout->slots; slot++) {
        ddt_state_t state;

        if (!fpspin_read_memory(&receiver->ctx, &state, state_of(receiver, slot), sizeof(state)))
            return;
        if (state.refused > 0 || state.status == DDT_FAILED)
            printf("slot %u: %u packets refused%s\n", slot, state.refused,
                   state.status == DDT_FAILED ? ", the message does not fit the datatype" : "");
    }
}

void receiver_close(receiver_t *receiver)
{
    fpspin_exit(&receiver->ctx);
    free(receiver->program.bytes);
}
