// The types that the user gave to fields, as a tree of names.

import DocumentStore

struct FieldTypes {
  /// The type of the field itself; nil if it keeps its own.
  private(set) var type: FieldType?
  private var below: [(name: String, types: FieldTypes)] = []

  static let none = FieldTypes()

  private init() {}

  init(_ list: [(path: [String], type: FieldType)]) {
    for (path, type) in list { set(type, at: path[...]) }
  }

  private mutating func set(_ type: FieldType, at path: ArraySlice<String>) {
    guard let name = path.first else {
      self.type = type
      return
    }
    let index =
      below.firstIndex { $0.name.isSameUTF8(as: name) }
      ?? {
        below.append((name, FieldTypes()))
        return below.count - 1
      }()
    below[index].types.set(type, at: path.dropFirst())
  }

  /// Returns the types of a field in this map.
  func types(of name: String) -> FieldTypes {
    below.first { $0.name.isSameUTF8(as: name) }?.types ?? .none
  }
}
