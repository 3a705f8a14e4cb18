/*
 * Reads in a forked child while somebody writes, and afterwards: see contended.rs.
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

static int read_in_a_child(const dolium_store *store) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        uint8_t value[64];
        size_t length = 0;
        if (dolium_get(store, (const uint8_t *)"k", 1, value, sizeof value, &length) == DOLIUM_OK)
            printf("child: got %.*s\n", (int)length, (const char *)value);
        else
            printf("child: %.49s\n", dolium_error_message());
        fflush(stdout);
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status;
}

int main(int argc, char **argv) {
    dolium_store *store = dolium_attach(argc > 1 ? argv[1] : NULL);
    if (!store)
        return 1;
    dolium_bytes words[] = {text("SET"), text("k"), text("one")};
    dolium_reply *reply = NULL;
    if (dolium_execute(store, words, 3, &reply) != DOLIUM_OK)
        return 2;
    dolium_reply_free(reply);
    for (int turn = 0; turn < 2; turn++) {
        printf("ready\n");
        fflush(stdout);
        if (getchar() != '\n' || read_in_a_child(store) != 0)
            return 3;
    }
    dolium_detach(store);
    return 0;
}
