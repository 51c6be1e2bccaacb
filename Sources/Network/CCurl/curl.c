#include "CCurl.h"

#if !defined(__APPLE__)

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// From the stable interface of libcurl 7.68 and later.
enum {
  OPTION_POST = 47,
  OPTION_HTTP_VERSION = 84,
  OPTION_NOSIGNAL = 99,
  OPTION_CONNECTTIMEOUT_MS = 156,
  OPTION_PROTOCOLS = 181,
  OPTION_TCP_KEEPALIVE = 213,
  OPTION_PATH_AS_IS = 234,
  OPTION_PIPEWAIT = 237,
  OPTION_SUPPRESS_CONNECT_HEADERS = 265,
  OPTION_WRITEDATA = 10001,
  OPTION_URL = 10002,
  OPTION_READDATA = 10009,
  OPTION_ERRORBUFFER = 10010,
  OPTION_HTTPHEADER = 10023,
  OPTION_HEADERDATA = 10029,
  OPTION_CUSTOMREQUEST = 10036,
  OPTION_PRIVATE = 10103,
  OPTION_NOPROXY = 10177,
  OPTION_WRITEFUNCTION = 20011,
  OPTION_READFUNCTION = 20012,
  OPTION_HEADERFUNCTION = 20079,
  OPTION_POSTFIELDSIZE_LARGE = 30120,
  INFO_PRIVATE = 0x100000 + 21,
  INFO_SIZE_UPLOAD = 0x600000 + 7,
  INFO_PRETRANSFER_TIME = 0x600000 + 53,
  GROUP_OPTION_MAX_HOST_CONNECTIONS = 7,
  HTTP_VERSION_2_WITH_TLS = 4,
  PROTOCOLS_HTTP_AND_HTTPS = 3,
  MESSAGE_DONE = 1,
  PAUSE_NOTHING = 0,
  WRITE_PAUSE = 0x10000001,
  ERROR_BYTES = 256,
  GLOBAL_DEFAULT = 3
};

// Less than the time limit of a call, which is 15 seconds, so that the call knows that nothing was sent.
static const long CONNECT_MILLISECONDS = 10000;

struct message {
  int kind;
  void *easy;
  union {
    void *any;
    int code;
  } data;
};

// The functions with a variable number of arguments are declared so. They are called by other rules on some
// systems.
static struct {
  int (*global_init)(long);
  void *(*easy_init)(void);
  void (*easy_cleanup)(void *);
  int (*easy_setopt)(void *, int, ...);
  int (*easy_getinfo)(void *, int, ...);
  const char *(*easy_strerror)(int);
  int (*easy_pause)(void *, int);
  void *(*slist_append)(void *, const char *);
  void (*slist_free_all)(void *);
  void *(*multi_init)(void);
  int (*multi_cleanup)(void *);
  int (*multi_setopt)(void *, int, ...);
  int (*multi_add_handle)(void *, void *);
  int (*multi_remove_handle)(void *, void *);
  int (*multi_perform)(void *, int *);
  int (*multi_poll)(void *, void *, unsigned int, int, int *);
  int (*multi_wakeup)(void *);
  struct message *(*multi_info_read)(void *, int *);
} curl;

static const char *failure = NULL;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"};
  void *library = NULL;
  for (size_t i = 0; library == NULL && i < sizeof names / sizeof *names; i++) {
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  }
  if (library == NULL) {
    failure = "libcurl.so.4 is missing. Install libcurl4, or the package of this system with libcurl.";
    return;
  }
  struct {
    void **place;
    const char *name;
  } symbols[] = {
      {(void **)&curl.global_init, "curl_global_init"},
      {(void **)&curl.easy_init, "curl_easy_init"},
      {(void **)&curl.easy_cleanup, "curl_easy_cleanup"},
      {(void **)&curl.easy_setopt, "curl_easy_setopt"},
      {(void **)&curl.easy_getinfo, "curl_easy_getinfo"},
      {(void **)&curl.easy_strerror, "curl_easy_strerror"},
      {(void **)&curl.easy_pause, "curl_easy_pause"},
      {(void **)&curl.slist_append, "curl_slist_append"},
      {(void **)&curl.slist_free_all, "curl_slist_free_all"},
      {(void **)&curl.multi_init, "curl_multi_init"},
      {(void **)&curl.multi_cleanup, "curl_multi_cleanup"},
      {(void **)&curl.multi_setopt, "curl_multi_setopt"},
      {(void **)&curl.multi_add_handle, "curl_multi_add_handle"},
      {(void **)&curl.multi_remove_handle, "curl_multi_remove_handle"},
      {(void **)&curl.multi_perform, "curl_multi_perform"},
      {(void **)&curl.multi_poll, "curl_multi_poll"},
      {(void **)&curl.multi_wakeup, "curl_multi_wakeup"},
      {(void **)&curl.multi_info_read, "curl_multi_info_read"},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    *symbols[i].place = dlsym(library, symbols[i].name);
    if (*symbols[i].place == NULL) {
      failure = "The libcurl of this system is older than 7.68. Install a later one.";
      return;
    }
  }
  if (curl.global_init(GLOBAL_DEFAULT) != 0) { failure = "libcurl does not start."; }
}

const char *dugout_curl_load(void) {
  pthread_once(&once, load);
  return failure;
}

void dugout_curl_block_pipe_signal(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

// A transfer, and what its callbacks need.
struct transfer {
  void *easy;
  void *fields;
  void *context;
  dugout_curl_receiver head;
  dugout_curl_receiver body;
  uint8_t *bytes;
  size_t count;
  size_t position;
  char error[ERROR_BYTES];
};

static size_t take_head(char *bytes, size_t size, size_t count, void *context) {
  struct transfer *transfer = context;
  enum dugout_curl_verdict verdict = transfer->head(transfer->context, (const uint8_t *)bytes, size * count);
  return verdict == DUGOUT_CURL_TAKEN ? size * count : 0;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
  struct transfer *transfer = context;
  if (size * count == 0) { return 0; }
  switch (transfer->body(transfer->context, (const uint8_t *)bytes, size * count)) {
    case DUGOUT_CURL_TAKEN: return size * count;
    case DUGOUT_CURL_PAUSE: return WRITE_PAUSE;
    case DUGOUT_CURL_END: break;
  }
  return 0;
}

static size_t give_body(char *bytes, size_t size, size_t count, void *context) {
  struct transfer *transfer = context;
  size_t rest = transfer->count - transfer->position;
  size_t given = size * count < rest ? size * count : rest;
  memcpy(bytes, transfer->bytes + transfer->position, given);
  transfer->position += given;
  return given;
}

// Whether the host of an address is this machine, which no proxy can reach.
static int is_loopback(const char *url) {
  const char *host = strstr(url, "://");
  if (host == NULL) { return 0; }
  host += 3;
  if (strncmp(host, "[::1]", 5) == 0) { return 1; }
  size_t length = strcspn(host, ":/?#");
  if (length == 9 && strncasecmp(host, "localhost", length) == 0) { return 1; }
  if (length > 10 && strncasecmp(host + length - 10, ".localhost", 10) == 0) { return 1; }
  return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == length;
}

void *dugout_curl_transfer_create(
    const char *url, const char *method, void *context, dugout_curl_receiver head,
    dugout_curl_receiver body) {
  struct transfer *transfer = calloc(1, sizeof *transfer);
  if (transfer == NULL) { return NULL; }
  transfer->context = context;
  transfer->head = head;
  transfer->body = body;
  transfer->easy = curl.easy_init();
  if (transfer->easy == NULL || curl.easy_setopt(transfer->easy, OPTION_URL, url) != 0 ||
      curl.easy_setopt(transfer->easy, OPTION_CUSTOMREQUEST, method) != 0 ||
      // libcurl would wait for the answer "100 Continue" before a long body.
      dugout_curl_transfer_add_field(transfer, "Expect:") != 0) {
    dugout_curl_transfer_destroy(NULL, transfer);
    return NULL;
  }
  void *easy = transfer->easy;
  curl.easy_setopt(easy, OPTION_PRIVATE, transfer);
  curl.easy_setopt(easy, OPTION_ERRORBUFFER, transfer->error);
  curl.easy_setopt(easy, OPTION_HEADERFUNCTION, take_head);
  curl.easy_setopt(easy, OPTION_HEADERDATA, transfer);
  curl.easy_setopt(easy, OPTION_WRITEFUNCTION, take_body);
  curl.easy_setopt(easy, OPTION_WRITEDATA, transfer);
  curl.easy_setopt(easy, OPTION_NOSIGNAL, 1L);
  curl.easy_setopt(easy, OPTION_PROTOCOLS, (long)PROTOCOLS_HTTP_AND_HTTPS);
  curl.easy_setopt(easy, OPTION_HTTP_VERSION, (long)HTTP_VERSION_2_WITH_TLS);
  curl.easy_setopt(easy, OPTION_PATH_AS_IS, 1L);
  // Without encryption, a request would wait for the end of an earlier one.
  curl.easy_setopt(easy, OPTION_PIPEWAIT, strncmp(url, "https:", 6) == 0 ? 1L : 0L);
  curl.easy_setopt(easy, OPTION_TCP_KEEPALIVE, 1L);
  curl.easy_setopt(easy, OPTION_SUPPRESS_CONNECT_HEADERS, 1L);
  curl.easy_setopt(easy, OPTION_CONNECTTIMEOUT_MS, CONNECT_MILLISECONDS);
  // The library follows the variables of the environment, such as "http_proxy".
  if (is_loopback(url)) { curl.easy_setopt(easy, OPTION_NOPROXY, "*"); }
  return transfer;
}

int dugout_curl_transfer_add_field(void *handle, const char *line) {
  struct transfer *transfer = handle;
  void *fields = curl.slist_append(transfer->fields, line);
  if (fields == NULL) { return -1; }
  transfer->fields = fields;
  return 0;
}

int dugout_curl_transfer_set_body(void *handle, const uint8_t *bytes, size_t count) {
  struct transfer *transfer = handle;
  transfer->bytes = malloc(count > 0 ? count : 1);
  if (transfer->bytes == NULL) { return -1; }
  memcpy(transfer->bytes, bytes, count);
  transfer->count = count;
  curl.easy_setopt(transfer->easy, OPTION_POST, 1L);
  curl.easy_setopt(transfer->easy, OPTION_POSTFIELDSIZE_LARGE, (int64_t)count);
  // There is no function to seek, so libcurl cannot send the body a second time.
  curl.easy_setopt(transfer->easy, OPTION_READFUNCTION, give_body);
  curl.easy_setopt(transfer->easy, OPTION_READDATA, transfer);
  return 0;
}

int dugout_curl_transfer_start(void *group, void *handle) {
  struct transfer *transfer = handle;
  if (curl.easy_setopt(transfer->easy, OPTION_HTTPHEADER, transfer->fields) != 0) { return -1; }
  return curl.multi_add_handle(group, transfer->easy) == 0 ? 0 : -1;
}

int dugout_curl_transfer_resume(void *handle) {
  struct transfer *transfer = handle;
  return curl.easy_pause(transfer->easy, PAUSE_NOTHING);
}

int64_t dugout_curl_transfer_sent(void *handle) {
  struct transfer *transfer = handle;
  int64_t sent = 0;
  return curl.easy_getinfo(transfer->easy, INFO_SIZE_UPLOAD, &sent) == 0 ? sent : 0;
}

int dugout_curl_transfer_was_connected(void *handle) {
  struct transfer *transfer = handle;
  int64_t time = 0;
  return curl.easy_getinfo(transfer->easy, INFO_PRETRANSFER_TIME, &time) != 0 || time > 0;
}

const char *dugout_curl_transfer_message(void *handle, int code) {
  struct transfer *transfer = handle;
  return transfer->error[0] != 0 ? transfer->error : curl.easy_strerror(code);
}

void dugout_curl_transfer_destroy(void *group, void *handle) {
  struct transfer *transfer = handle;
  if (group != NULL) { curl.multi_remove_handle(group, transfer->easy); }
  if (transfer->easy != NULL) { curl.easy_cleanup(transfer->easy); }
  if (transfer->fields != NULL) { curl.slist_free_all(transfer->fields); }
  free(transfer->bytes);
  free(transfer);
}

void *dugout_curl_group_create(long connections_per_host) {
  void *group = curl.multi_init();
  if (group != NULL) { curl.multi_setopt(group, GROUP_OPTION_MAX_HOST_CONNECTIONS, connections_per_host); }
  return group;
}

void dugout_curl_group_destroy(void *group) { curl.multi_cleanup(group); }

void dugout_curl_perform(void *group) {
  int running = 0;
  curl.multi_perform(group, &running);
}

void dugout_curl_wait(void *group, int milliseconds) {
  curl.multi_poll(group, NULL, 0, milliseconds, NULL);
}

void dugout_curl_wake(void *group) { curl.multi_wakeup(group); }

void *dugout_curl_next_ended(void *group, int *code) {
  int rest = 0;
  struct message *message;
  while ((message = curl.multi_info_read(group, &rest)) != NULL) {
    struct transfer *transfer = NULL;
    if (message->kind != MESSAGE_DONE) { continue; }
    *code = message->data.code;
    curl.easy_getinfo(message->easy, INFO_PRIVATE, &transfer);
    if (transfer != NULL) { return transfer->context; }
  }
  return NULL;
}

#endif
