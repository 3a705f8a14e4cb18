/*
 * What a C program can know of its server, and what it can get wrong without harm: see served.rs.
 */
#include "dolium.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static dolium_bytes text(const char *s) {
    dolium_bytes bytes = {(const uint8_t *)s, strlen(s)};
    return bytes;
}

static void count_key(void *context, const uint8_t *key, size_t length) {
    (void)key;
    (void)length;
    ++*(size_t *)context;
}

static void visit(void *context, size_t number, const uint8_t *value, size_t length) {
    (void)context;
    printf("visit %zu: %.*s\n", number, value ? (int)length : 6, value ? (const char *)value : "(none)");
}

static pthread_key_t at_end;

/* Runs after the library's own variable of the thread, the message, has been taken away. */
static void late(void *store) {
    uint8_t value[8];
    size_t length = 0;
    if (dolium_get(store, NULL, 0, value, sizeof value, NULL) != DOLIUM_ERROR)
        printf("late: no error\n");
    if (dolium_error_message() == NULL)
        printf("late: no message\n");
    if (dolium_get(store, (const uint8_t *)"k", 1, value, sizeof value, &length) == DOLIUM_OK)
        printf("late: %.*s\n", (int)length, (const char *)value);
}

static void *thread(void *store) {
    pthread_setspecific(at_end, store);
    /* Now there is a message. */
    dolium_exists(NULL, NULL, 0);
    return NULL;
}

int main(int argc, char **argv) {
    dolium_store *store = dolium_attach(argc > 1 ? argv[1] : NULL);
    if (!store)
        return 1;
    printf("served: %d, and no store: %d\n", dolium_is_served(store), dolium_is_served(NULL));
    dolium_set_timeout(NULL, 1);
    dolium_set_timeout(store, 20000);

    dolium_bytes set[] = {text("MSET"), text("k"), text("v"), text("l"), text("w")};
    dolium_bytes push[] = {text("RPUSH"), text("list"), text("v")};
    dolium_reply *reply = NULL;
    if (dolium_execute(store, set, 5, &reply) != DOLIUM_OK)
        return 2;
    dolium_reply_free(reply);
    if (dolium_execute(store, push, 3, &reply) != DOLIUM_OK)
        return 2;
    dolium_reply_free(reply);

    dolium_bytes numbered[] = {text("INCRBY"), text("n"), text("7")};
    dolium_command many[] = {{numbered, 3}, {push + 1, 2}, {numbered, 3}};
    if (dolium_execute_many(store, many, 3, &reply) != DOLIUM_OK)
        return 7;
    printf("many: %d %zu, %lld, error %d, %lld\n", dolium_reply_kind_of(reply),
           dolium_reply_count(reply), (long long)dolium_reply_integer(dolium_reply_at(reply, 0)),
           dolium_reply_kind_of(dolium_reply_at(reply, 1)) == DOLIUM_REPLY_ERROR,
           (long long)dolium_reply_integer(dolium_reply_at(reply, 2)));
    dolium_reply_free(reply);
    dolium_command wordless[] = {{numbered, 3}, {NULL, 0}}, torn_words[] = {{NULL, 2}};
    printf("many refused: %d %d %d %d\n",
           dolium_execute_many(store, wordless, 2, &reply) == DOLIUM_ERROR && !reply,
           dolium_execute_many(store, torn_words, 1, &reply) == DOLIUM_ERROR && !reply,
           dolium_execute_many(store, NULL, 1, &reply) == DOLIUM_ERROR && !reply,
           dolium_execute_many(store, many, 1, NULL) == DOLIUM_ERROR);
    if (dolium_execute_many(store, NULL, 0, &reply) != DOLIUM_OK || dolium_reply_count(reply) != 0)
        return 8;
    dolium_reply_free(reply);

    uint8_t value[8];
    if (dolium_get(store, (const uint8_t *)"k", 1, value, sizeof value, NULL) == DOLIUM_ERROR)
        printf("no length: %s\n", dolium_error_message());

    dolium_bytes keys[] = {text("k"), text("list"), text("nothing"), text("l")};
    if (dolium_get_many(store, keys, 4, visit, NULL) != DOLIUM_OK)
        return 3;

    uint64_t cursor = 0;
    size_t met = 0;
    do {
        if (dolium_scan(store, &cursor, 0, count_key, &met) != DOLIUM_OK)
            return 4;
    } while (cursor != 0);
    printf("steps of none: %zu keys\n", met);

    dolium_bytes empty[] = {text("SET"), text("empty"), {NULL, 0}};
    if (dolium_execute(store, empty, 3, &reply) != DOLIUM_OK)
        return 5;
    dolium_reply_free(reply);
    dolium_bytes nothing[] = {text("SET"), text("k"), {NULL, 100}};
    if (dolium_execute(store, nothing, 3, &reply) == DOLIUM_ERROR && !reply)
        printf("nothing: %s\n", dolium_error_message());
    dolium_bytes negative[] = {text("SET"), text("k"), {value, (size_t)-1}};
    if (dolium_execute(store, negative, 3, &reply) == DOLIUM_ERROR && !reply)
        printf("negative: %s\n", dolium_error_message());
    dolium_bytes torn[] = {text("k"), {NULL, 1}};
    size_t none = 0;
    printf("refused: %d %d %d %d %d %d %d\n",
           dolium_execute(store, NULL, 3, &reply) == DOLIUM_ERROR,
           dolium_execute(store, empty, SIZE_MAX / 4, &reply) == DOLIUM_ERROR,
           dolium_get(store, NULL, 1, value, sizeof value, &none) == DOLIUM_ERROR,
           dolium_get_many(store, torn, 2, visit, NULL) == DOLIUM_ERROR,
           dolium_exists(store, value, (size_t)-1) == DOLIUM_ERROR,
           dolium_ttl(store, NULL, 1) == DOLIUM_TTL_ERROR, dolium_type(store, NULL, 1) == NULL);
    if (dolium_exists(store, NULL, 0) != DOLIUM_NO_KEY)
        return 6;

    pthread_t id;
    pthread_key_create(&at_end, late);
    pthread_create(&id, NULL, thread, store);
    pthread_join(id, NULL);

    dolium_bytes end[] = {text("SHUTDOWN"), text("NOSAVE")};
    if (dolium_execute(store, end, 2, &reply) == DOLIUM_ERROR)
        printf("ended\n");
    printf("served: %d\n", dolium_is_served(store));
    size_t length = 0;
    if (dolium_get(store, (const uint8_t *)"k", 1, value, sizeof value, &length) == DOLIUM_OK)
        printf("still: %.*s\n", (int)length, (const char *)value);
    dolium_detach(store);
    return 0;
}
