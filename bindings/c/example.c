/*
 * A C program on Dolium's memory: reads what another program has set (`redis-cli set greeting hello`), writes
 * a key, reads it in every way, and walks over all keys.
 *
 *   cargo build --release -p dolium-c
 *   cc -Iinclude bindings/c/example.c -Ltarget/release -ldolium -o example
 *   LD_LIBRARY_PATH=target/release ./example [attach-socket]
 */
#include "dolium.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dolium_bytes text(const char *s) {
    dolium_bytes bytes = {(const uint8_t *)s, strlen(s)};
    return bytes;
}

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, dolium_error_message());
    exit(1);
}

static void execute(const dolium_store *store, const dolium_bytes *words, size_t count) {
    dolium_reply *reply = NULL;
    if (dolium_execute(store, words, count, &reply) != DOLIUM_OK)
        fail("execute");
    dolium_bytes bytes = dolium_reply_bytes(reply);
    switch (dolium_reply_kind_of(reply)) {
    case DOLIUM_REPLY_INTEGER:
        printf("%.*s -> %lld\n", (int)words[0].length, (const char *)words[0].data,
               (long long)dolium_reply_integer(reply));
        break;
    case DOLIUM_REPLY_ARRAY:
        printf("%.*s -> %zu elements\n", (int)words[0].length, (const char *)words[0].data,
               dolium_reply_count(reply));
        break;
    default:
        printf("%.*s -> %.*s\n", (int)words[0].length, (const char *)words[0].data,
               (int)bytes.length, (const char *)bytes.data);
    }
    dolium_reply_free(reply);
}

static void show_value(void *context, size_t number, const uint8_t *value, size_t length) {
    const dolium_bytes *keys = context;
    printf("get_many %.*s -> %.*s\n", (int)keys[number].length, (const char *)keys[number].data,
           value ? (int)length : 6, value ? (const char *)value : "(none)");
}

static void count_key(void *context, const uint8_t *key, size_t length) {
    (void)key;
    (void)length;
    ++*(size_t *)context;
}

/* What came through any other door, be it Redis', Memcached's or the web's. */
static void show_greeting(const dolium_store *store) {
    const char *name = "greeting";
    uint8_t value[64];
    size_t length = 0;
    switch (dolium_get(store, (const uint8_t *)name, strlen(name), value, sizeof value, &length)) {
    case DOLIUM_OK:
        printf("greeting -> %.*s\n", (int)length, (const char *)value);
        break;
    case DOLIUM_NO_KEY:
        printf("greeting -> (none)\n");
        break;
    case DOLIUM_TOO_SMALL:
        printf("greeting -> %zu bytes\n", length);
        break;
    default:
        fail("get of the greeting");
    }
}

int main(int argc, char **argv) {
    dolium_store *store = dolium_attach(argc > 1 ? argv[1] : NULL);
    if (!store)
        fail("attach");

    show_greeting(store);
    dolium_bytes set[] = {text("SET"), text("from:c"), text("salve"), text("PX"), text("60000")};
    execute(store, set, 5);
    dolium_bytes incr[] = {text("INCR"), text("visits")};
    execute(store, incr, 2);
    dolium_bytes mget[] = {text("MGET"), text("from:c"), text("visits")};
    execute(store, mget, 3);
    dolium_bytes wrong[] = {text("NOSUCHCOMMAND")};
    execute(store, wrong, 1);

    dolium_bytes key = text("from:c");
    uint8_t value[64];
    size_t length = 0;
    if (dolium_get(store, key.data, key.length, value, sizeof value, &length) != DOLIUM_OK)
        fail("get");
    printf("get -> %.*s\n", (int)length, (const char *)value);
    if (dolium_get(store, key.data, key.length, value, 2, &length) != DOLIUM_TOO_SMALL)
        fail("get with a small buffer");
    printf("get with room for 2 -> needs %zu\n", length);
    memcpy(value, key.data, key.length);
    if (dolium_get(store, value, key.length, value, sizeof value, &length) != DOLIUM_OK)
        fail("get to where the key is");
    printf("get to where the key is -> %.*s\n", (int)length, (const char *)value);
    if (dolium_get(store, (const uint8_t *)"nothing", 7, value, sizeof value, &length) != DOLIUM_NO_KEY)
        fail("get of no key");

    int64_t ttl = dolium_ttl(store, key.data, key.length);
    printf("ttl -> %s\n", ttl > 50000 && ttl < 61000 ? "about a minute" : "wrong");
    printf("type -> %s\n", dolium_type(store, key.data, key.length));
    printf("exists -> %s\n",
           dolium_exists(store, key.data, key.length) == DOLIUM_OK ? "yes" : "no");

    dolium_bytes keys[] = {text("visits"), text("nothing"), text("from:c")};
    if (dolium_get_many(store, keys, 3, show_value, keys) != DOLIUM_OK)
        fail("get_many");

    uint64_t cursor = 0;
    size_t met = 0;
    do {
        if (dolium_scan(store, &cursor, 100, count_key, &met) != DOLIUM_OK)
            fail("scan");
    } while (cursor != 0);
    printf("scan -> %zu of %llu keys\n", met, (unsigned long long)dolium_count(store));

    if (dolium_db(store, 9999) == NULL)
        printf("db 9999 -> %s\n", dolium_error_message());
    dolium_detach(store);
    return 0;
}
