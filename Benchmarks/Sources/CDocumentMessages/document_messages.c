// Descriptors as protoc-c would write them, of the fields that documents have.
#include "document_messages.h"

typedef struct Value Value;

typedef struct {
  ProtobufCMessage base;
  int64_t seconds;
  int32_t nanos;
} Timestamp;

typedef struct {
  ProtobufCMessage base;
  double latitude;
  double longitude;
} LatLng;

typedef struct {
  ProtobufCMessage base;
  size_t n_values;
  Value **values;
} ArrayValue;

typedef struct {
  ProtobufCMessage base;
  char *key;
  Value *value;
} FieldsEntry;

typedef struct {
  ProtobufCMessage base;
  size_t n_fields;
  FieldsEntry **fields;
} MapValue;

struct Value {
  ProtobufCMessage base;
  int value_type_case;
  union {
    protobuf_c_boolean boolean_value;
    int64_t integer_value;
    double double_value;
    char *reference_value;
    MapValue *map_value;
    LatLng *geo_point_value;
    ArrayValue *array_value;
    Timestamp *timestamp_value;
    int null_value;
    char *string_value;
    ProtobufCBinaryData bytes_value;
  };
};

typedef struct {
  ProtobufCMessage base;
  char *name;
  size_t n_fields;
  FieldsEntry **fields;
  Timestamp *create_time;
  Timestamp *update_time;
} Document;

static const ProtobufCMessageDescriptor timestamp_type, lat_lng_type, array_type, entry_type, map_type,
    value_type, document_type;

#define INIT(Type, descriptor) \
  static void descriptor##_init(ProtobufCMessage *message) { \
    static const Type empty = {.base = PROTOBUF_C_MESSAGE_INIT(&descriptor##_type)}; \
    *(Type *)message = empty; \
  }

static const char empty_text[] = "";

INIT(Timestamp, timestamp)
INIT(LatLng, lat_lng)
INIT(ArrayValue, array)
INIT(MapValue, map)
INIT(Value, value)

static void entry_init(ProtobufCMessage *message) {
  static const FieldsEntry empty = {
      .base = PROTOBUF_C_MESSAGE_INIT(&entry_type), .key = (char *)empty_text};
  *(FieldsEntry *)message = empty;
}

static void document_init(ProtobufCMessage *message) {
  static const Document empty = {
      .base = PROTOBUF_C_MESSAGE_INIT(&document_type), .name = (char *)empty_text};
  *(Document *)message = empty;
}

#define SINGLE(Type, text, number, kind, member, nested) \
  {text, number, PROTOBUF_C_LABEL_NONE, kind, 0, offsetof(Type, member), nested, NULL, 0, 0, NULL, NULL}
#define TEXT(Type, label_name, number, member) \
  {label_name, number, PROTOBUF_C_LABEL_NONE, PROTOBUF_C_TYPE_STRING, 0, offsetof(Type, member), NULL, \
   empty_text, 0, 0, NULL, NULL}
#define REPEATED(Type, text, number, member, nested) \
  {text, number, PROTOBUF_C_LABEL_REPEATED, PROTOBUF_C_TYPE_MESSAGE, offsetof(Type, n_##member), \
   offsetof(Type, member), nested, NULL, 0, 0, NULL, NULL}
#define MEMBER(text, number, kind, member, nested) \
  {text, number, PROTOBUF_C_LABEL_NONE, kind, offsetof(Value, value_type_case), offsetof(Value, member), \
   nested, NULL, PROTOBUF_C_FIELD_FLAG_ONEOF, 0, NULL, NULL}

#define MESSAGE(text, Type, descriptor, count, ranges) \
  { \
    PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC, text, text, #Type, "", sizeof(Type), count, descriptor##_fields, \
        descriptor##_names, ranges, descriptor##_ranges, descriptor##_init, NULL, NULL, NULL \
  }

static const ProtobufCFieldDescriptor timestamp_fields[] = {
    SINGLE(Timestamp, "seconds", 1, PROTOBUF_C_TYPE_INT64, seconds, NULL),
    SINGLE(Timestamp, "nanos", 2, PROTOBUF_C_TYPE_INT32, nanos, NULL),
};
static const unsigned timestamp_names[] = {1, 0};
static const ProtobufCIntRange timestamp_ranges[] = {{1, 0}, {0, 2}};
static const ProtobufCMessageDescriptor timestamp_type = MESSAGE("Timestamp", Timestamp, timestamp, 2, 1);

static const ProtobufCFieldDescriptor lat_lng_fields[] = {
    SINGLE(LatLng, "latitude", 1, PROTOBUF_C_TYPE_DOUBLE, latitude, NULL),
    SINGLE(LatLng, "longitude", 2, PROTOBUF_C_TYPE_DOUBLE, longitude, NULL),
};
static const unsigned lat_lng_names[] = {0, 1};
static const ProtobufCIntRange lat_lng_ranges[] = {{1, 0}, {0, 2}};
static const ProtobufCMessageDescriptor lat_lng_type = MESSAGE("LatLng", LatLng, lat_lng, 2, 1);

static const ProtobufCFieldDescriptor array_fields[] = {
    REPEATED(ArrayValue, "values", 1, values, &value_type),
};
static const unsigned array_names[] = {0};
static const ProtobufCIntRange array_ranges[] = {{1, 0}, {0, 1}};
static const ProtobufCMessageDescriptor array_type = MESSAGE("ArrayValue", ArrayValue, array, 1, 1);

static const ProtobufCFieldDescriptor entry_fields[] = {
    TEXT(FieldsEntry, "key", 1, key),
    SINGLE(FieldsEntry, "value", 2, PROTOBUF_C_TYPE_MESSAGE, value, &value_type),
};
static const unsigned entry_names[] = {0, 1};
static const ProtobufCIntRange entry_ranges[] = {{1, 0}, {0, 2}};
static const ProtobufCMessageDescriptor entry_type = MESSAGE("FieldsEntry", FieldsEntry, entry, 2, 1);

static const ProtobufCFieldDescriptor map_fields[] = {
    REPEATED(MapValue, "fields", 1, fields, &entry_type),
};
static const unsigned map_names[] = {0};
static const ProtobufCIntRange map_ranges[] = {{1, 0}, {0, 1}};
static const ProtobufCMessageDescriptor map_type = MESSAGE("MapValue", MapValue, map, 1, 1);

// By number, as the ranges expect them.
static const ProtobufCFieldDescriptor value_fields[] = {
    MEMBER("boolean_value", 1, PROTOBUF_C_TYPE_BOOL, boolean_value, NULL),
    MEMBER("integer_value", 2, PROTOBUF_C_TYPE_INT64, integer_value, NULL),
    MEMBER("double_value", 3, PROTOBUF_C_TYPE_DOUBLE, double_value, NULL),
    MEMBER("reference_value", 5, PROTOBUF_C_TYPE_STRING, reference_value, NULL),
    MEMBER("map_value", 6, PROTOBUF_C_TYPE_MESSAGE, map_value, &map_type),
    MEMBER("geo_point_value", 8, PROTOBUF_C_TYPE_MESSAGE, geo_point_value, &lat_lng_type),
    MEMBER("array_value", 9, PROTOBUF_C_TYPE_MESSAGE, array_value, &array_type),
    MEMBER("timestamp_value", 10, PROTOBUF_C_TYPE_MESSAGE, timestamp_value, &timestamp_type),
    MEMBER("null_value", 11, PROTOBUF_C_TYPE_INT32, null_value, NULL),
    MEMBER("string_value", 17, PROTOBUF_C_TYPE_STRING, string_value, NULL),
    MEMBER("bytes_value", 18, PROTOBUF_C_TYPE_BYTES, bytes_value, NULL),
};
static const unsigned value_names[] = {6, 0, 10, 2, 5, 1, 4, 8, 3, 9, 7};
static const ProtobufCIntRange value_ranges[] = {{1, 0}, {5, 3}, {8, 5}, {17, 9}, {0, 11}};
static const ProtobufCMessageDescriptor value_type = MESSAGE("Value", Value, value, 11, 4);

static const ProtobufCFieldDescriptor document_fields[] = {
    TEXT(Document, "name", 1, name),
    REPEATED(Document, "fields", 2, fields, &entry_type),
    SINGLE(Document, "create_time", 3, PROTOBUF_C_TYPE_MESSAGE, create_time, &timestamp_type),
    SINGLE(Document, "update_time", 4, PROTOBUF_C_TYPE_MESSAGE, update_time, &timestamp_type),
};
static const unsigned document_names[] = {2, 1, 0, 3};
static const ProtobufCIntRange document_ranges[] = {{1, 0}, {0, 4}};
static const ProtobufCMessageDescriptor document_type = MESSAGE("Document", Document, document, 4, 1);

void *document_open(const uint8_t *bytes, size_t count) {
  return protobuf_c_message_unpack(&document_type, NULL, count, bytes);
}

long document_unpack(const uint8_t *bytes, size_t count) {
  Document *document = document_open(bytes, count);
  if (!document) return -1;
  long fields = (long)document->n_fields;
  document_close(document);
  return fields;
}

size_t document_size(const void *document) { return protobuf_c_message_get_packed_size(document); }

size_t document_pack(const void *document, uint8_t *bytes) { return protobuf_c_message_pack(document, bytes); }

void document_close(void *document) { protobuf_c_message_free_unpacked(document, NULL); }
