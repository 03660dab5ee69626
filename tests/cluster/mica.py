"""The key-value store: every answer against a model, and under load against what the load generator
wrote."""

import random

from support import check

GET, SET, DELETE = 1, 2, 3
DONE, NOT_FOUND, FULL, MALFORMED = range(4)
ODD = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
VALUE_WORDS = 64
PAIRS = 150
ITEMS = 155


def key_words(number):
    return [number, ~(number * ODD) & MASK]


def hash_of(key):
    mixed = (key[0] ^ (key[1] >> 32 | key[1] << 32 & MASK)) * ODD & MASK
    mixed = (mixed ^ mixed >> 29) * ODD & MASK
    return mixed ^ mixed >> 32


def value_words(tag):
    return [(tag + word * ODD) & MASK for word in range(VALUE_WORDS)]


class Model:
    """What a partition must do: a dictionary with room for so many, and versions."""

    def __init__(self, first):
        self.pairs = {first + n: (0, value_words(first + n)) for n in range(PAIRS)}

    def request(self, operation, number, sent, value):
        """Gives a request's words and its answer's."""
        key = key_words(number)
        words = [0, sent, operation, hash_of(key), *key]
        there = self.pairs.get(number)
        if operation == GET:
            if there is None:
                return words, [NOT_FOUND, sent, 0]
            return words, [DONE, sent, *there[1]]
        if operation == DELETE:
            self.pairs.pop(number, None)
            return words, [NOT_FOUND if there is None else DONE, sent, 0]
        words += value
        if there is None and len(self.pairs) == ITEMS:
            return words, [FULL, sent, 0]
        version = 1 if there is None else there[0] + 1
        self.pairs[number] = (version, value)
        return words, [DONE, sent, version]


def toml(words):
    """Writes words as TOML's integers, which have 63 bits and a sign."""
    return "[" + ", ".join(str(word - (word >> 63 << 64)) for word in words) + "]"


def malformed(numbers, sent):
    """A request that is too short, or longer than its operation, or no operation; and its answer."""
    whole = [0, sent, GET, 0, 1, 2]
    words = numbers.choice((whole[:3], [*whole, 3], [0, sent, 9, *whole[3:]]))
    return words, [MALFORMED, sent if len(words) >= 6 else 0, 0]


def test_every_answer_is_a_models(bench):
    folder = bench.copy("nanopu_mica")
    # Few buckets, so that most keys are in further ones; little room, so that it becomes full.
    manifest = folder / "app.toml"
    text = manifest.read_text().replace('"10000"', f'"{PAIRS}", "0"')
    manifest.write_text(f"{text}\n[app.defines]\nSTORE_BUCKETS = 16\nSTORE_ITEMS = {ITEMS}\n")
    numbers = random.Random(bench.seed)
    models = [Model(port * PAIRS) for port in range(4)]
    messages, given = [], dict.fromkeys(range(4), 0)
    for sent in range(600):
        port = numbers.randrange(4)
        operation = numbers.choices((GET, SET, DELETE), (5, 6, 1))[0]
        number = port * PAIRS + numbers.randrange(PAIRS + 40)
        value = [numbers.getrandbits(64) for _ in range(VALUE_WORDS)]
        if sent % 50 == 7:
            words, reply = malformed(numbers, sent)
        else:
            words, reply = models[port].request(operation, number, sent, value)
        given[reply[0]] += 1
        lines = f"context = {port}\nsend = {toml(words)}\nreply = {toml(reply)}"
        messages.append(f"[[message]]\n{lines}\n")
    check(min(given.values()) >= 5, f"too few of a kind: {given}")
    (folder / "messages.toml").write_text("\n".join(messages))
    bench.command("run", folder)


def under_load(bench, assignment, contexts, status):
    """Puts a load on the store, which must end with a status; gives the summary of its requests."""
    folder = bench.copy("nanopu_mica")
    manifest = folder / "app.toml"
    old = 'args = ["static", "10000"]'
    check(old in manifest.read_text(), f"no {old} in {manifest}")
    new = f'args = ["{assignment}", "100"]'
    manifest.write_text(manifest.read_text().replace(old, new))
    load = f"requests=3000,gap=exp:600,store=100:512,startup=4,contexts={contexts}"
    done = bench.command("run", folder, "--load", f"{load},seed={bench.seed}", status=status)
    check("requests 3000, answered 3000, missing 0" in done.stdout, done.stdout)
    return done.stdout


def test_gets_give_what_was_written_last(bench):
    text = under_load(bench, "static", "uniform:4", 0)
    check("wrong answers" not in text, text)


def test_with_a_shared_queue_they_do_not(bench):
    text = under_load(bench, "jbsq", "0", 1)
    check("wrong answers" in text, f"each core is to have a store of its own:\n{text}")
