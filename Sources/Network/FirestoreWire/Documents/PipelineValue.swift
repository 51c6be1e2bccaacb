// Values that only pipelines have, in messages that read or write documents.

/// A value that no document contains and no filter compares: an expression of a pipeline.
///
/// A reader puts null in its place, and notes it. The message keeps the note, and the translation of the
/// message refuses a value that would have to be stored or compared.
package struct PipelineValue: Hashable, Sendable {
  /// The number of notes that a message may have.
  static let countMax = 100

  /// The names of the fields around the value, from the outermost one to the first array. Empty for operands
  /// that are no maps.
  package var names: [String]
  /// The name in Firestore's errors.
  package var type: String

  /// The error for a value. `field` is the path of the field that it would be stored in or compared with.
  package static func refused(_ type: String, field: String? = nil) -> WireError {
    let sentence = "Value type is not supported: \(type)"
    return WireError(field.map { "\(sentence), in the field \"\(shortened($0))\"" } ?? sentence)
  }
}

/// The notes of a reader, and the path to the value that it reads.
struct PipelineNotes {
  private(set) var values: [PipelineValue] = []
  private var names: [String] = []
  private var arrays = 0

  mutating func begin(field name: String) { if arrays == 0 { names.append(name) } }

  mutating func endField() { if arrays == 0 { names.removeLast() } }

  mutating func beginArray() { arrays += 1 }

  mutating func endArray() { arrays -= 1 }

  mutating func note(_ type: String) throws(WireError) {
    guard values.count < PipelineValue.countMax else { throw PipelineValue.refused(type) }
    values.append(PipelineValue(names: names, type: type))
  }
}
