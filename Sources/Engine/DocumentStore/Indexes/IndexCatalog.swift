// The catalog of a checkpoint's indexes and record shapes.
//
//   catalog     := version:u16=2 nextID:u32 nested:u64 longNames:u64 groups:u32 group{groups}
//                  count:u16 index{count} nextShape:u16 shapes:u16 shape{shapes}
//   group       := id:text nested:u32
//   index       := id:u32 flags:u8 lastUse:u64 longKeys:u64 scope:u8 collectionID:text
//                  fields:u16 field{fields} counted:u8 numbers{counted}
//   numbers     := integers:u32 doubles:u32             NumberCounts.swift
//   field       := part:u8 names:u16 text{names}
//   text        := bytes:u16 utf8
//   shape       := id:u16 bytes:u32 definition          ShapeTable.swift
//
// Version 1 has neither groups nor lastUse.
//
// When an index is loaded, its counts are checked against its tree. A count that is too low is detected
// once it becomes negative. The index is then lost and rebuilt (IndexSet.swift).

import ByteStore

struct IndexCatalog {
  static let version: UInt16 = 2
  private static let versionWithoutUses: UInt16 = 1
  private static let automatic: UInt8 = 1
  /// The highest possible index id. Region numbers in a checkpoint are derived from index ids, so the ids are
  /// limited.
  private static let idMax = UInt32.max >> 1
  private static let usesMax: UInt64 = 1 << 62

  var nextID: UInt32
  /// Nested documents by collection id; nil if unknown.
  var nested: [String: Int]?
  var longNames: Int
  var indexes: [ManagedIndex]
  var nextShape: Int
  var shapes: [Shape]

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: Self.version)
    bytes.append(littleEndian: nextID)
    let groups = nested ?? [:]
    bytes.append(littleEndian: UInt64(groups.values.reduce(0, +)))
    bytes.append(littleEndian: UInt64(longNames))
    bytes.append(littleEndian: UInt32(groups.count))
    for (id, count) in groups.sorted(by: { $0.key < $1.key }) {
      Self.append(id, to: &bytes)
      bytes.append(littleEndian: UInt32(count))
    }
    bytes.append(littleEndian: UInt16(indexes.count))
    for index in indexes {
      bytes.append(littleEndian: index.id)
      bytes.append(index.isAutomatic ? Self.automatic : 0)
      bytes.append(littleEndian: index.lastUse)
      bytes.append(littleEndian: UInt64(index.longKeys))
      bytes.append(index.definition.scope.rawValue)
      Self.append(index.definition.collectionID, to: &bytes)
      bytes.append(littleEndian: UInt16(index.definition.fields.count))
      for field in index.definition.fields {
        bytes.append(field.part.code)
        bytes.append(littleEndian: UInt16(field.path.names.count))
        for name in field.path.names { Self.append(name, to: &bytes) }
      }
      bytes.append(UInt8(index.numbers.counts.count))
      for count in index.numbers.counts {
        bytes.append(littleEndian: UInt32(count.integers))
        bytes.append(littleEndian: UInt32(count.doubles))
      }
    }
    bytes.append(littleEndian: UInt16(nextShape))
    bytes.append(littleEndian: UInt16(shapes.count))
    for shape in shapes {
      let definition = shape.definition
      bytes.append(littleEndian: UInt16(shape.id))
      bytes.append(littleEndian: UInt32(definition.count))
      bytes.append(contentsOf: definition)
    }
    return bytes
  }

  /// Upper limit of the encoded size of an index, without its counts.
  static func bytesMax(of definition: IndexDefinition) -> Int {
    definition.fields.reduce(64 + definition.collectionID.utf8.count) { sum, field in
      field.path.names.reduce(sum + 3) { $0 + 2 + $1.utf8.count }
    }
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(littleEndian: UInt16(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  /// Decodes a catalog. Nil if the bytes are not a valid catalog.
  init?(decoding bytes: [UInt8]) {
    var reader = ByteReader(bytes.rawSpan)
    guard let version = reader.uint16(), version == Self.version || version == Self.versionWithoutUses,
      let nextID = reader.uint32(), nextID <= Self.idMax, let nested = reader.uint64(),
      let longNames = reader.uint64(), longNames < UInt64(UInt32.max)
    else { return nil }
    let hasUses = version == Self.version
    self.nextID = nextID
    self.longNames = Int(longNames)
    if hasUses {
      guard let groups = Self.groups(&reader), groups.values.reduce(0, +) == nested else { return nil }
      self.nested = groups
    } else {
      self.nested = nested == 0 ? [:] : nil
    }
    indexes = []
    guard let count = reader.uint16() else { return nil }
    for _ in 0..<count {
      guard let index = Self.index(&reader, hasUses), index.id < nextID,
        !indexes.contains(where: { $0.id == index.id || $0.definition == index.definition })
      else { return nil }
      indexes.append(index)
    }
    guard let nextShape = reader.uint16(), let shapeCount = reader.uint16() else { return nil }
    self.nextShape = Int(nextShape)
    shapes = []
    for _ in 0..<shapeCount {
      guard let id = reader.uint16(), id < nextShape, let size = reader.uint32(),
        let definition = reader.array(Int(size)),
        let shape = Shape(id: Int(id), definition: definition.rawSpan)
      else { return nil }
      shapes.append(shape)
    }
    guard reader.bytesLeft == 0 else { return nil }
  }

  init(
    nextID: UInt32, nested: [String: Int], longNames: Int, indexes: [ManagedIndex], nextShape: Int,
    shapes: [Shape]
  ) {
    self.nextID = nextID
    self.nested = nested
    self.longNames = longNames
    self.indexes = indexes
    self.nextShape = nextShape
    self.shapes = shapes
  }

  private static func groups(_ reader: inout ByteReader) -> [String: Int]? {
    guard let count = reader.uint32() else { return nil }
    var groups: [String: Int] = [:]
    for _ in 0..<count {
      guard let id = text(&reader), let nested = reader.uint32(), nested > 0, groups[id] == nil else {
        return nil
      }
      groups[id] = Int(nested)
    }
    return groups
  }

  private static func index(_ reader: inout ByteReader, _ hasUses: Bool) -> ManagedIndex? {
    guard let id = reader.uint32(), id > 0, let flags = reader.uint8(),
      let lastUse = hasUses ? reader.uint64() : 0, lastUse < usesMax, let long = reader.uint64(),
      long < UInt64(UInt32.max), let definition = definition(&reader), let numbers = numbers(&reader)
    else { return nil }
    return ManagedIndex(
      id: id, definition: definition.planned, isAutomatic: flags & automatic != 0, longKeys: Int(long),
      numbers: numbers, lastUse: lastUse)
  }

  private static func definition(_ reader: inout ByteReader) -> IndexDefinition? {
    guard let scope = reader.uint8().flatMap(IndexDefinition.Scope.init(rawValue:)),
      let collectionID = text(&reader), let count = reader.uint16()
    else { return nil }
    var fields: [IndexDefinition.Field] = []
    for _ in 0..<count {
      guard let part = reader.uint8().flatMap(IndexDefinition.Part.init(code:)), let names = reader.uint16(),
        names > 0
      else { return nil }
      var path: [String] = []
      for _ in 0..<names {
        guard let name = text(&reader) else { return nil }
        path.append(name)
      }
      fields.append(IndexDefinition.Field(StoredFieldPath(unchecked: path), part))
    }
    return try? IndexDefinition(keysOf: collectionID, scope, fields: fields)
  }

  private static func numbers(_ reader: inout ByteReader) -> NumberCounts? {
    guard let count = reader.uint8(), count <= NumberBits.fieldsMax else { return nil }
    var counts: [NumberCounts.Count] = []
    for _ in 0..<count {
      guard let integers = reader.uint32(), let doubles = reader.uint32() else { return nil }
      counts.append(NumberCounts.Count(integers: Int(integers), doubles: Int(doubles)))
    }
    return NumberCounts(counts)
  }

  private static func text(_ reader: inout ByteReader) -> String? {
    reader.uint16().flatMap { reader.array(Int($0)) }.flatMap { String(validating: $0, as: UTF8.self) }
  }
}

extension IndexDefinition.Part {
  fileprivate var code: UInt8 {
    switch self {
    case .value(.ascending): 0
    case .value(.descending): 1
    case .valueOrNull(.ascending): 2
    case .valueOrNull(.descending): 3
    case .element: 4
    }
  }

  fileprivate init?(code: UInt8) {
    switch code {
    case 0: self = .value(.ascending)
    case 1: self = .value(.descending)
    case 2: self = .valueOrNull(.ascending)
    case 3: self = .valueOrNull(.descending)
    case 4: self = .element
    default: return nil
    }
  }
}
