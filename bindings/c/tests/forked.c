/*
 * Attaches and forks. The parent's ring is not the child's: see forked.rs for what has to be said.
 */
#define _POSIX_C_SOURCE 200809L
#include "dolium.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static dolium_bytes text(const char *s) {
    dolium_bytes bytes = {(const uint8_t *)s, strlen(s)};
    return bytes;
}

static void set(const char *who, const dolium_store *store, const char *value) {
    dolium_bytes words[] = {text("SET"), text("k"), text(value)};
    /* Whatever it was before, after a failure it is NULL. */
    dolium_reply *reply = (dolium_reply *)words;
    if (dolium_execute(store, words, 3, &reply) == DOLIUM_OK)
        printf("%s: set\n", who);
    else
        printf("%s: %s, %.38s\n", who, reply ? "a reply" : "no reply", dolium_error_message());
    dolium_reply_free(reply);
}

static void get(const char *who, const dolium_store *store) {
    uint8_t value[64];
    size_t length = 0;
    if (dolium_get(store, (const uint8_t *)"k", 1, value, sizeof value, &length) == DOLIUM_OK)
        printf("%s: got %.*s\n", who, (int)length, (const char *)value);
}

int main(int argc, char **argv) {
    dolium_store *store = dolium_attach(argc > 1 ? argv[1] : NULL);
    if (!store)
        return 1;
    set("parent", store, "one");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        set("child", store, "two");
        get("child", store);
        dolium_store *own = dolium_attach(argv[1]);
        set("child attached again", own, "three");
        dolium_detach(own);
        dolium_detach(store);
        return 0;
    }
    int status = 1;
    waitpid(child, &status, 0);
    get("parent", store);
    set("parent", store, "four");
    get("parent", store);
    dolium_detach(store);
    return status;
}
