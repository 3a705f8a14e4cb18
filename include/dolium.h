/*
 * Dolium from C: a store in shared memory. Generated from bindings/c; do not edit.
 *
 *   dolium_store *store = dolium_attach(NULL);
 *   uint8_t value[100];
 *   size_t length;
 *   if (dolium_get(store, (const uint8_t *)"greeting", 8, value, sizeof value, &length) == DOLIUM_OK)
 *       fwrite(value, 1, length, stdout);
 *   dolium_detach(store);
 *
 * Link with -ldolium. Reads look at the server's memory and make no system call; every other
 * command goes through dolium_execute, many at once through dolium_execute_many. A store may be used by
 * any number of threads. What a failed call has to say is in dolium_error_message(), for the calling
 * thread.
 *
 * A process that forks after attaching: the child may read through the store, but dolium_execute
 * fails there until it has called dolium_attach itself. So do attach in each worker, as long as there
 * are at most 256 of them: no more processes can be attached at once. Workers that only read may use
 * their parent's store. A read that has lost against writers for too long is asked of the server, which such
 * a child cannot: then it ends as DOLIUM_ERROR, as where the server has gone or has closed the connection.
 * It may be called again.
 *
 * When the server ends, reads go on in the memory that it left, with the last data: dolium_is_served
 * tells. That memory is given back when the last process has called dolium_detach or ended.
 */

#ifndef DOLIUM_H
#define DOLIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 dolium_ttl: there is no such key.
 */
#define DOLIUM_TTL_NO_KEY -2

/*
 dolium_ttl: the key does not expire.
 */
#define DOLIUM_TTL_NEVER -1

/*
 dolium_ttl: see dolium_error_message().
 */
#define DOLIUM_TTL_ERROR -3

/*
 How a call ended.
 */
typedef enum {
  DOLIUM_OK = 0,
  /*
   There is no such key.
   */
  DOLIUM_NO_KEY = 1,
  /*
   The value is longer than the buffer; its length has been told.
   */
  DOLIUM_TOO_SMALL = 2,
  /*
   See dolium_error_message().
   */
  DOLIUM_ERROR = 3,
} dolium_status;

/*
 What a reply is.
 */
typedef enum {
  /*
   No value.
   */
  DOLIUM_REPLY_NULL = 0,
  /*
   A short text such as OK: dolium_reply_bytes.
   */
  DOLIUM_REPLY_STATUS = 1,
  /*
   The server refused the command: dolium_reply_bytes says why.
   */
  DOLIUM_REPLY_ERROR = 2,
  /*
   dolium_reply_integer.
   */
  DOLIUM_REPLY_INTEGER = 3,
  /*
   dolium_reply_bytes.
   */
  DOLIUM_REPLY_BYTES = 4,
  /*
   dolium_reply_count and dolium_reply_at.
   */
  DOLIUM_REPLY_ARRAY = 5,
} dolium_reply_kind;

/*
 The reply to a command.
 */
typedef struct dolium_reply dolium_reply;

/*
 An attached store, seen through one of its databases.
 */
typedef struct dolium_store dolium_store;

/*
 Some bytes of the caller's. NULL is an empty string if the length is 0, and refused if it is not.
 */
typedef struct {
  const uint8_t *data;
  size_t length;
} dolium_bytes;

/*
 Receives the value of the key of a number, or NULL if there is no such key or it holds no string
 (dolium_type tells which). The bytes are there until it returns.
 */
typedef void (*dolium_value_visitor)(void *context,
                                     size_t number,
                                     const uint8_t *value,
                                     size_t length);

/*
 Receives a key. The bytes are there until it returns.
 */
typedef void (*dolium_key_visitor)(void *context, const uint8_t *key, size_t length);

/*
 A command: its words, such as SET, key, value.
 */
typedef struct {
  const dolium_bytes *words;
  size_t count;
} dolium_command;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 What the last failed call of this thread has to say. It stays until the next failed call.
 */
const char *dolium_error_message(void);

/*
 Attaches at a server's attach-socket, or with NULL where a server of this user has it.
 NULL if that fails.

 # Safety
 `path` must be NULL or a string that ends with a zero byte.
 */
dolium_store *dolium_attach(const char *path);

/*
 The same store through another database; NULL if there is none of that number. Both have to be
 detached.

 # Safety
 `store` must come from dolium_attach or dolium_db and not have been detached.
 */
dolium_store *dolium_db(const dolium_store *store, uint16_t number);

/*
 Is the connection to the server there? One system call. If not, the server has ended, and reads go on
 in the memory that it left, which nobody changes any more; or it goes on, and has closed the
 connection of this process. Attach again to find out which. Reads never ask: a program that is to
 notice calls this now and then. A server that is stopped for a while is there.

 # Safety
 `store` must be NULL or live.
 */
bool dolium_is_served(const dolium_store *store);

/*
 How long each dolium_execute through this store, and each read that has to be asked of the server, may
 take, in milliseconds; 0, as at first: however long it takes, which with a server that is stopped
 (SIGSTOP, a debugger, a frozen container) is for ever. A call that is given up fails, and the server may
 run its command all the same; commands of this process fail from then on, until it attaches again.
 The limit is of this dolium_store, not of others of the same attachment (dolium_db).

 # Safety
 `store` must be NULL or live, and no other thread may use it during the call.
 */
void dolium_set_timeout(dolium_store *store,
                        uint64_t milliseconds);

/*
 Gives a store back. NULL is allowed.

 # Safety
 `store` must be NULL or come from dolium_attach or dolium_db, and nobody may use it any more.
 */
void dolium_detach(dolium_store *store);

/*
 Copies the value of a key to `buffer`, which has room for `capacity` bytes, and its length to
 `length`. DOLIUM_TOO_SMALL tells the length of a value that does not fit. Unless DOLIUM_OK is
 returned, and behind the value, what the buffer holds afterwards is not specified: it is copied
 while others may write, and again if they did. Key and buffer may overlap. A key that holds no string
 is an error.

 # Safety
 `store` must be live, `key` point to `key_length` bytes, `buffer` to `capacity` writable bytes
 (or be NULL if that is 0), and `length` to a number.
 */
dolium_status dolium_get(const dolium_store *store,
                         const uint8_t *key,
                         size_t key_length,
                         uint8_t *buffer,
                         size_t capacity,
                         size_t *length);

/*
 Reads several keys in batches, which is several times faster than one after another, and hands
 each value to `visit` in order. After DOLIUM_ERROR the keys before the one that could not be read
 have been visited, and no others; none at all if one of them is NULL and has a length.

 # Safety
 `store` must be live, and `keys` point to `count` pieces of readable bytes.
 */
dolium_status dolium_get_many(const dolium_store *store,
                              const dolium_bytes *keys,
                              size_t count,
                              dolium_value_visitor visit,
                              void *context);

/*
 DOLIUM_OK or DOLIUM_NO_KEY.

 # Safety
 `store` must be live, and `key` point to `key_length` bytes.
 */
dolium_status dolium_exists(const dolium_store *store, const uint8_t *key, size_t key_length);

/*
 Milliseconds that a key has to live, or one of the negative DOLIUM_TTL_ values.

 # Safety
 `store` must be live, and `key` point to `key_length` bytes.
 */
int64_t dolium_ttl(const dolium_store *store, const uint8_t *key, size_t key_length);

/*
 The type of a key as TYPE names it, "none" if there is no such key, NULL after an error.

 # Safety
 `store` must be live, and `key` point to `key_length` bytes.
 */
const char *dolium_type(const dolium_store *store, const uint8_t *key, size_t key_length);

/*
 Number of keys of the database, due ones that nobody has met yet included.

 # Safety
 `store` must be live.
 */
uint64_t dolium_count(const dolium_store *store);

/*
 One step of an iteration over the keys, of about `count` of them (of one, if that is 0). Start with
 `*cursor` 0; it is 0 again at the end. A key that is there during the whole iteration is visited at
 least once.

 # Safety
 `store` must be live, and `cursor` point to a number.
 */
dolium_status dolium_scan(const dolium_store *store,
                          uint64_t *cursor,
                          size_t count,
                          dolium_key_visitor visit,
                          void *context);

/*
 Has the server execute a command: `count` words, such as SET, key, value. With DOLIUM_OK `*reply`
 is its reply, which may itself be an error; it has to be freed. Otherwise `*reply` is NULL.
 It runs in the database of `store`. Another one is chosen by dolium_db; SELECT is DOLIUM_ERROR, except
 within MULTI, where it is of the commands up to EXEC.
 In a child that was forked after attaching it fails: attach again there. It waits for the server
 however long that takes, unless dolium_set_timeout says otherwise.

 # Safety
 `store` must be live, `words` point to `count` pieces of readable bytes, and `reply` to a pointer.
 */
dolium_status dolium_execute(const dolium_store *store,
                             const dolium_bytes *words,
                             size_t count,
                             dolium_reply **reply);

/*
 Has the server execute `count` commands, each of which is sent before those before it are answered:
 the faster way to write much. With DOLIUM_OK `*reply` is an array of their replies in the same order,
 as dolium_execute would have them; it has to be freed as one. Otherwise `*reply` is NULL.
 It is no transaction; MULTI and EXEC among them make one. A command without words, or one that is not
 answered once (SUBSCRIBE, BLPOP), is refused before any is sent; after another error it is not known which
 have been executed. The limit of dolium_set_timeout is of all together.

 # Safety
 As for dolium_execute, and `commands` must point to `count` of them.
 */
dolium_status dolium_execute_many(const dolium_store *store,
                                  const dolium_command *commands,
                                  size_t count,
                                  dolium_reply **reply);

/*
 What a reply is. NULL is a reply that is none.

 # Safety
 `reply` must be NULL or not have been freed; the same below.
 */
dolium_reply_kind dolium_reply_kind_of(const dolium_reply *reply);

/*
 The number of an integer reply, else 0.

 # Safety
 See dolium_reply_kind_of.
 */
int64_t dolium_reply_integer(const dolium_reply *reply);

/*
 The bytes of a status, an error or a string, there until the reply is freed.

 # Safety
 See dolium_reply_kind_of.
 */
dolium_bytes dolium_reply_bytes(const dolium_reply *reply);

/*
 How many elements an array has.

 # Safety
 See dolium_reply_kind_of.
 */
size_t dolium_reply_count(const dolium_reply *reply);

/*
 An element of an array, or NULL beyond its end. It goes with the array.

 # Safety
 See dolium_reply_kind_of.
 */
const dolium_reply *dolium_reply_at(const dolium_reply *reply, size_t number);

/*
 Gives a reply back. NULL is allowed.

 # Safety
 `reply` must be NULL or come from dolium_execute or dolium_execute_many (not dolium_reply_at), once.
 */
void dolium_reply_free(dolium_reply *reply);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DOLIUM_H */
