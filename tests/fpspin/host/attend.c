/* A host program for tests: attaches, says so, and answers handlers' requests until it is ended.
 *
 *     attend DEVICE IMAGE CONTEXT PORT|icmp|all|none [PAGES [RULESETS]]
 *
 * PORT chooses UDP datagrams to that port. Lines on standard input are commands: "port N" changes
 * the rules, "counter N" and "clear N" do what they say, "unload", "load IMAGE [OFFSET BYTES]",
 * "peek ADDRESS", "poke ADDRESS VALUE" for NIC memory, "window" the first word of the application's
 * own pages, "memory" where the handler memory lies, "silent" answers no requests any more, "exit".
 */
#include "fpspin/fpspin.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

static void choose(fpspin_ruleset_t *rs, const char *what)
{
    if (!strcmp(what, "icmp")) {
        *rs = (fpspin_ruleset_t){ .mode = FPSPIN_MODE_AND,
                                  .r = { FPSPIN_RULE_IP, FPSPIN_RULE_IP_PROTO(1),
                                         FPSPIN_RULE(8, 0xff00, 0x0800, 0x0800),
                                         FPSPIN_RULE_FALSE } };
    } else if (!strcmp(what, "all")) {
        fpspin_ruleset_match(rs);
    } else if (!strcmp(what, "none")) {
        fpspin_ruleset_bypass(rs);
    } else {
        fpspin_ruleset_udp(rs);
        rs->r[2] = FPSPIN_RULE_UDP_DPORT(atoi(what));
    }
}

static bool obey(fpspin_ctx_t *ctx, char *line, bool *silent)
{
    char name[256] = "", text[1024] = "";
    unsigned first = 0, second = 0;
    fpspin_ruleset_t rs;
    fpspin_counter_t counter;
    uint32_t word = 0;
    bool done = true;

    sscanf(line, "%255s %1023s %u %u", name, text, &first, &second);
    if (!strcmp(name, "port")) {
        choose(&rs, text);
        done = fpspin_set_me_ruleset(ctx->ctx_id, &rs);
    } else if (!strcmp(name, "counter")) {
        counter = fpspin_get_counter(ctx, atoi(text));
        printf("counter %u %u\n", counter.sum, counter.count);
    } else if (!strcmp(name, "clear")) {
        fpspin_clear_counter(ctx, atoi(text));
    } else if (!strcmp(name, "unload")) {
        done = fpspin_unload(ctx);
    } else if (!strcmp(name, "load")) {
        done = fpspin_load(ctx, text, second ? (uint64_t)(uintptr_t)ctx->cpu_addr + first : 0,
                           second);
    } else if (!strcmp(name, "peek")) {
        done = fpspin_read_memory(ctx, &word, (fpspin_addr_t)strtoul(text, NULL, 0), sizeof(word));
        printf("word %#x\n", word);
    } else if (!strcmp(name, "poke")) {
        done = fpspin_write_memory(ctx, (fpspin_addr_t)strtoul(text, NULL, 0), &first,
                                   sizeof(first));
    } else if (!strcmp(name, "window")) {
        memcpy(&word, (char *)ctx->cpu_addr + NUM_HPUS * PAGE_SIZE, sizeof(word));
        printf("window %#x\n", word);
    } else if (!strcmp(name, "memory")) {
        printf("memory %#x %u\n", ctx->handler_mem.addr, ctx->handler_mem.size);
    } else if (!strcmp(name, "silent")) {
        *silent = true;
    } else if (!strcmp(name, "exit")) {
        return false;
    }
    printf("%s %s\n", done ? "done" : "failed", name);
    return true;
}

static void answer(fpspin_ctx_t *ctx, unsigned *count)
{
    fpspin_flag_t flag;

    for (int hpu = 0; hpu < NUM_HPUS; hpu++) {
        if (!fpspin_pop_req(ctx, hpu, &flag))
            continue;
        ++*count;
        fpspin_push_resp(ctx, hpu, (fpspin_flag_t){ .len = flag.len });
    }
}

int main(int argc, char *argv[])
{
    int pages = argc > 5 ? atoi(argv[5]) : FPSPIN_HOSTDMA_PAGES_DEFAULT + 16;
    int rulesets = argc > 6 ? atoi(argv[6]) : 1;
    fpspin_ruleset_t rs[8];
    fpspin_ctx_t ctx;
    char line[1100];
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    unsigned count = 0;
    bool silent = false, goes_on = true;

    setvbuf(stdout, NULL, _IOLBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0); /* poll sees every line that is left */
    if (argc < 5)
        return 2;
    for (int i = 0; i < 8; i++)
        choose(&rs[i], argv[4]);
    if (!fpspin_init(&ctx, argv[1], argv[2], atoi(argv[3]), rs, rulesets, pages))
        return 1;
    printf("attached\n");
    while (goes_on) {
        if (!silent)
            answer(&ctx, &count);
        if (poll(&input, 1, silent ? 20 : 0) > 0)
            goes_on = fgets(line, sizeof(line), stdin) && obey(&ctx, line, &silent);
    }
    printf("answered %u\n", count);
    fpspin_exit(&ctx);
    return 0;
}
