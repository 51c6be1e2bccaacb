// Encodes documents as Datastore entities, as Firestore's emulator does. `DatastoreEntity` has the grammar.
//
// Google's readers also require these fields, which `DatastoreEntity` ignores:
//
//   Entity         16 group: Path, the first element of the key's path; empty in the entity of a map
//   Entity of map  13 key with an empty app (13) and an empty path (14)

import DocumentStore

struct DatastoreEntityWriter {
  /// The project of the documents, and of references to documents of the store itself.
  let project: String

  func entity(of document: StoredDocument) -> [UInt8] {
    ProtobufWriter.message { entity in
      let segments = document.path.segments
      entity.message(13) { key in
        key.text(13, app(project))
        key.message(14) { path(segments, to: &$0) }
      }
      properties(of: document.fields, to: &entity)
      entity.message(16) { path(Array(segments.prefix(2)), to: &$0) }
    }
  }

  private func app(_ project: String) -> String { "dev~" + project }

  private func path(_ segments: [String], to path: inout ProtobufWriter) {
    for place in stride(from: 0, to: segments.count - 1, by: 2) {
      path.group(1) { element in
        element.text(2, segments[place])
        name(segments[place + 1], to: &element, id: 3, name: 4)
      }
    }
  }

  /// Writes the number of an id such as `__id7__`, or else the id itself.
  private func name(_ text: String, to element: inout ProtobufWriter, id: Int, name: Int) {
    if let number = Self.number(text) {
      element.varint(id, UInt64(bitPattern: number))
    } else {
      element.text(name, text)
    }
  }

  private static func number(_ id: String) -> Int64? {
    guard id.hasPrefix("__id"), id.hasSuffix("__"), id.utf8.count > 6 else { return nil }
    return Int64(id.dropFirst(4).dropLast(2)).flatMap { "__id\($0)__" == id ? $0 : nil }
  }

  // MARK: Values

  private func properties(of map: StoredMap, to entity: inout ProtobufWriter) {
    for (name, value) in map.entries {
      switch value {
      case .array(let elements) where elements.isEmpty:
        property(name, meaning: DatastoreEntity.Meaning.emptyList, to: &entity) { _ in }
      case .array(let elements):
        for element in elements { property(name, element, isElement: true, to: &entity) }
      case .vector(let numbers) where numbers.isEmpty:
        property(name, meaning: DatastoreEntity.Meaning.vector, isElement: true, to: &entity) { _ in }
      case .vector(let numbers):
        for number in numbers {
          property(name, meaning: DatastoreEntity.Meaning.vector, isElement: true, to: &entity) {
            $0.double(4, number)
          }
        }
      default: property(name, value, isElement: false, to: &entity)
      }
    }
  }

  private func property(
    _ name: String, _ value: StoredValue, isElement: Bool, to entity: inout ProtobufWriter
  ) {
    property(name, meaning: Self.meaning(of: value), isElement: isElement, to: &entity) {
      write(value, to: &$0)
    }
  }

  private func property(
    _ name: String, meaning: UInt64?, isElement: Bool = false, to entity: inout ProtobufWriter,
    _ value: (inout ProtobufWriter) -> Void
  ) {
    // As in the exports of the emulator, only empty arrays are properties with an index.
    entity.message(meaning == DatastoreEntity.Meaning.emptyList ? 14 : 15) { property in
      if let meaning { property.varint(1, meaning) }
      property.text(3, name)
      property.varint(4, isElement ? 1 : 0)
      property.message(5, value)
    }
  }

  private static func meaning(of value: StoredValue) -> UInt64? {
    switch value {
    case .timestamp, .pendingTimestamp: DatastoreEntity.Meaning.time
    case .bytes: DatastoreEntity.Meaning.blob
    case .geoPoint: DatastoreEntity.Meaning.point
    case .map, .vector: DatastoreEntity.Meaning.entity
    case .null, .boolean, .integer, .double, .string, .reference, .array: nil
    }
  }

  private func write(_ value: StoredValue, to property: inout ProtobufWriter) {
    switch value {
    case .null: break
    case .boolean(let value): property.varint(2, value ? 1 : 0)
    case .integer(let value): property.varint(1, UInt64(bitPattern: value))
    case .double(let value): property.double(4, value)
    case .timestamp(let time), .pendingTimestamp(let time, _):
      property.varint(1, UInt64(bitPattern: time.microseconds))
    case .string(let text): property.text(3, text)
    case .bytes(let bytes): property.bytes(3, bytes)
    case .geoPoint(let point):
      property.group(5) { group in
        group.double(6, point.latitude)
        group.double(7, point.longitude)
      }
    case .reference(let reference): write(reference, to: &property)
    case .map(let map): property.bytes(3, entity(of: map))
    // An element of an array cannot be a repeated property, so a vector in an array is a map.
    case .vector(let numbers): property.bytes(3, entity(of: VectorMap.map(of: numbers)))
    // An array is never in an array, and all others are repeated properties.
    case .array: break
    }
  }

  private func write(_ reference: StoredReference, to property: inout ProtobufWriter) {
    property.group(12) { group in
      let segments = reference.path.segments
      let isOwn = reference.projectID.isEmpty || reference.projectID.isSameUTF8(as: DocumentJSON.ownProject)
      group.text(13, app(isOwn ? project : reference.projectID))
      for place in stride(from: 0, to: segments.count - 1, by: 2) {
        group.group(14) { element in
          element.text(15, segments[place])
          name(segments[place + 1], to: &element, id: 16, name: 17)
        }
      }
      let database = reference.databaseID
      if !database.isEmpty, database != "(default)" { group.text(23, database) }
    }
  }

  /// A map is an entity with an empty key.
  private func entity(of map: StoredMap) -> [UInt8] {
    ProtobufWriter.message { entity in
      entity.message(13) { key in
        key.bytes(13, [])
        key.bytes(14, [])
      }
      properties(of: map, to: &entity)
      entity.bytes(16, [])
    }
  }
}
