/* Rulesets, and the functions that change them while packets come in. These name no context: the
 * program's links are in one list, the only thing here that is not reached through a context. */
#include <string.h>

#include "internal.h"

static pthread_mutex_t list_turn = PTHREAD_MUTEX_INITIALIZER;
static struct pinion_link *list; /* the last one first */
static const char *regs_base;

void pinion_enlist(struct pinion_link *link)
{
    pthread_mutex_lock(&list_turn);
    link->next = list;
    list = link;
    pthread_mutex_unlock(&list_turn);
}

void pinion_delist(struct pinion_link *link)
{
    struct pinion_link **at = &list;

    pthread_mutex_lock(&list_turn);
    while (*at && *at != link)
        at = &(*at)->next;
    if (*at)
        *at = link->next;
    pthread_mutex_unlock(&list_turn);
}

/* Finds the link that holds a context, or with `context` < 0 the last one; of the chosen NIC. */
static struct pinion_link *find(int context)
{
    struct pinion_link *link = list;

    while (link) {
        bool is_nic = !regs_base || !strcmp(regs_base, link->device);
        bool holds = context < 0 || (context >= link->first && context < link->first + link->count);
        if (is_nic && holds)
            break;
        link = link->next;
    }
    return link;
}

void fpspin_set_regs_base(const char *rbase)
{
    pthread_mutex_lock(&list_turn);
    regs_base = rbase;
    pthread_mutex_unlock(&list_turn);
}

const char *fpspin_get_regs_base(void)
{
    const char *found;

    pthread_mutex_lock(&list_turn);
    found = regs_base ? regs_base : list ? list->device : NULL;
    pthread_mutex_unlock(&list_turn);
    return found;
}

void fpspin_ruleset_bypass(fpspin_ruleset_t *rs)
{
    *rs = (fpspin_ruleset_t){ .mode = FPSPIN_MODE_AND,
                              .r = { FPSPIN_RULE_FALSE, FPSPIN_RULE_FALSE, FPSPIN_RULE_FALSE,
                                     FPSPIN_RULE_FALSE } };
}

void fpspin_ruleset_match(fpspin_ruleset_t *rs)
{
    *rs = (fpspin_ruleset_t){ .mode = FPSPIN_MODE_AND,
                              .r = { FPSPIN_RULE_EMPTY, FPSPIN_RULE_EMPTY, FPSPIN_RULE_EMPTY,
                                     FPSPIN_RULE_FALSE } };
}

void fpspin_ruleset_udp(fpspin_ruleset_t *rs)
{
    *rs = (fpspin_ruleset_t){ .mode = FPSPIN_MODE_AND,
                              .r = { FPSPIN_RULE_IP, FPSPIN_RULE_IP_PROTO(17), FPSPIN_RULE_EMPTY,
                                     FPSPIN_RULE_FALSE } };
}

void fpspin_ruleset_slmp(fpspin_ruleset_t *rs)
{
    *rs = (fpspin_ruleset_t){ .mode = FPSPIN_MODE_AND,
                              .r = { FPSPIN_RULE_IP, FPSPIN_RULE_IP_PROTO(17),
                                     FPSPIN_RULE_UDP_DPORT(SLMP_PORT),
                                     FPSPIN_RULE(10, MKEOM, MKEOM, MKEOM) } };
}

bool pinion_rulesets(struct pinion_ruleset *out, const fpspin_ruleset_t *rs, int count)
{
    for (int i = 0; i < count; i++) {
        out[i].mode = rs[i].mode;
        for (int j = 0; j < NUM_RULES_PER_RULESET; j++) {
            if (rs[i].r[j].idx < 0)
                return pinion_fail("ruleset %d: rule %d: word %d lies before the packet", i, j,
                                   rs[i].r[j].idx);
            out[i].rule[j] = (struct pinion_rule){ (uint32_t)rs[i].r[j].idx, rs[i].r[j].mask,
                                                   rs[i].r[j].start, rs[i].r[j].end };
        }
    }
    return true;
}

/* Programs `count` rulesets from context `first` on. */
static bool program(struct pinion_link *link, int first, const fpspin_ruleset_t *rs, int count)
{
    struct pinion_rules head = { (uint32_t)first, (uint32_t)count };
    struct pinion_ruleset rulesets[NUM_RULESETS];
    struct pinion_part parts[2] = { { &head, sizeof(head) },
                                    { rulesets, (size_t)count * sizeof(*rulesets) } };

    return pinion_rulesets(rulesets, rs, count) &&
           pinion_ask(link, PINION_RULES, parts, 2, -1, NULL, 0, NULL, "change rules");
}

bool fpspin_set_me_ruleset(int ctx_id, const fpspin_ruleset_t *rs)
{
    struct pinion_link *link;
    bool done;

    if (!rs)
        return pinion_fail("change rules: there is no ruleset (NULL)");
    pthread_mutex_lock(&list_turn);
    link = ctx_id < 0 ? NULL : find(ctx_id);
    done = link ? program(link, ctx_id, rs, 1)
                : pinion_fail("change rules: this program does not hold context %d%s%s; call "
                              "fpspin_init for it first",
                              ctx_id, regs_base ? " of NIC " : "", regs_base ? regs_base : "");
    pthread_mutex_unlock(&list_turn);
    return done;
}

bool fpspin_prog_me(const fpspin_ruleset_t *rs, int num_rs)
{
    fpspin_ruleset_t all[NUM_RULESETS];
    struct pinion_link *link;
    bool done;

    if (num_rs < 0 || num_rs > NUM_RULESETS || (num_rs && !rs))
        return pinion_fail("change rules: %d rulesets; there can be 0 to %d", num_rs, NUM_RULESETS);
    for (int i = 0; i < NUM_RULESETS; i++) {
        if (i < num_rs)
            all[i] = rs[i];
        else
            fpspin_ruleset_bypass(&all[i]);
    }
    pthread_mutex_lock(&list_turn);
    link = find(-1);
    if (!link)
        done = pinion_fail("change rules: this program holds no context%s%s; call fpspin_init "
                           "first",
                           regs_base ? " of NIC " : "", regs_base ? regs_base : "");
    else if (num_rs > link->count)
        done = pinion_fail("change rules: %d rulesets, and this program holds %d context%s; a "
                           "ruleset takes a context: give fpspin_init as many",
                           num_rs, link->count, link->count == 1 ? "" : "s");
    else
        done = program(link, link->first, all, link->count);
    pthread_mutex_unlock(&list_turn);
    return done;
}
