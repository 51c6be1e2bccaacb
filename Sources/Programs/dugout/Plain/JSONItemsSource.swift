// Documents from plain JSON: lines, one list, or objects one after another.

import DocumentStore
import Foundation

final class JSONItemsSource: PlainSource {
  /// The number of documents from which the shown types are taken.
  private static let documentsShown = 1000

  private let options: PlainOptions
  private let types: FieldTypes
  private let items: JSONItems
  private let sample: InputBytes
  private var names: DocumentNames
  /// The fields with a given type that no document has had yet.
  private var unseen: [PlainOptions.TypedField]
  /// Encoded once, because every commit stores it.
  private var storedPlan: Data?

  let files: [String]

  init(_ input: InputBytes, sample: InputBytes, options: PlainOptions) {
    self.options = options
    self.sample = sample
    types = FieldTypes(options.types.map { ($0.path, $0.type) })
    unseen = options.types
    let start = sample.bytes.starts(with: JSONReader.byteOrderMark) ? JSONReader.byteOrderMark.count : 0
    items = JSONItems(input, JSONItems.framing(of: sample.bytes[start...]))
    names = DocumentNames(in: options.collection, of: input.path, content: sample.bytes)
    files = input.path == "-" ? [] : [input.path]
    storedPlan = PlainPlan(options: options, head: names.head, columns: []).data
  }

  var bytes: UInt64 { items.input.total }
  var bytesDone: UInt64 { items.end }
  var start: UInt64 { items.start }
  var startText: String { "line \(items.line)" }

  var remarks: [String] {
    let missing = unseen.map {
      "No document has the field \($0.text), which has the type \($0.type.rawValue)."
    }
    return missing + [names.repeated.remark].compactMap { $0 }
  }

  // MARK: Types

  /// Numbers, strings and the rest have their types from JSON, so only some documents are read, for the
  /// user. A problem in one of them is reported when it is imported.
  func prepare(_ line: ProgressLine) throws -> PlainSummary {
    let items = JSONItems(sample, items.framing)
    var shown = ShownTypes()
    var count = 0
    while count < Self.documentsShown, (try? items.next()) == true {
      guard let members = try? JSONReader.read(Data(sample.bytes[items.item])).members,
        let fields = try? PlainValue.map(members, types)
      else { break }
      shown.see(fields)
      count += 1
    }
    let what =
      switch items.framing {
      case .lines: "Lines of JSON"
      case .values: "JSON objects over several lines"
      case .array: "A list of JSON objects"
      }
    let isWhole = sample.isAtEnd && count < Self.documentsShown
    let whole = isWhole ? "" : "the first "
    let idPath = options.idPath
    return PlainSummary(
      headline: "\(name): \(what)"
        + (count == 0 ? "" : ", types in \(whole)\(Wording.count(count, "object"))"),
      fields: shown.fields.map { field in
        let isID = idPath.map { $0.areSameUTF8(as: field.path) } ?? false
        let hint = field.looksLikeTime ? "looks like a time, which --time makes it" : nil
        return PlainSummary.Field(
          name: FieldName.text(of: field.path),
          type: isID && !options.keepsIDField ? "the document's id" : field.types,
          remark: isID ? (options.keepsIDField ? "also the document's id" : nil) : hint)
      })
  }

  // MARK: Documents

  var plan: Data? { storedPlan }

  func skip(to offset: UInt64) throws { try items.seek(to: offset) }

  func resume(at offset: UInt64, after documents: Int, plan: Data?) throws -> Bool {
    guard let plan = PlainPlan(plan, options: options) else { return false }
    try skip(to: offset)
    names.resume(after: documents, head: plan.head)
    storedPlan = plan.data
    return true
  }

  func next() throws -> (path: DocumentPath, fields: StoredMap)? {
    guard try items.next() else { return nil }
    let bytes = items.input.bytes[items.item]
    let members = try members(bytes)
    guard let idPath = options.idPath else { return (try names.path(ofRow: bytes), try fields(members)) }
    let (id, rest) = try id(at: idPath[...], in: members)
    names.see(id, line: items.line)
    return (try names.path(id: id), try fields(options.keepsIDField ? members : rest))
  }

  private func fields(_ members: [JSON.Member]) throws(JSONProblem) -> StoredMap {
    let fields = try PlainValue.map(members, types)
    if !unseen.isEmpty {
      unseen.removeAll { field in
        (try? StoredFieldPath(field.path)).map { fields[$0] != nil } ?? false
      }
    }
    return fields
  }

  private func members(_ bytes: ArraySlice<UInt8>) throws(JSONProblem) -> [JSON.Member] {
    let json: JSON
    do throws(JSONError) {
      json = try JSONReader.read(Data(bytes))
    } catch {
      let cutOff =
        "The file ends in the middle of this object: write or download it again, and repeat the command."
      throw JSONProblem(
        message: "this is not a JSON object: \(error) of it",
        hint: items.isCutOff && error.offset >= bytes.count ? cutOff : nil)
    }
    guard let members = json.members else { throw JSONProblem(message: "this is not a JSON object") }
    return members
  }

  /// Returns the id, and the members without it.
  private func id(
    at path: ArraySlice<String>, in members: [JSON.Member]
  ) throws(JSONProblem) -> (id: String, rest: [JSON.Member]) {
    guard let name = path.first, let place = members.firstIndex(where: { $0.name.isSameUTF8(as: name) })
    else {
      throw JSONProblem(
        message: "there is no field \(options.idField ?? ""), which has the ids of the documents")
    }
    var rest = members
    if path.count > 1 {
      let (id, inner) = try self.id(at: path.dropFirst(), in: members[place].value.members ?? [])
      rest[place].value = .object(inner)
      if inner.isEmpty { rest.remove(at: place) }
      return (id, rest)
    }
    rest.remove(at: place)
    switch members[place].value {
    case .string(let text): return (text, rest)
    case .number(let digits) where Int64(digits) != nil: return (digits, rest)
    default:
      throw JSONProblem(
        message:
          "the field \(options.idField ?? "") has the ids of the documents, and is neither a string nor an "
          + "integer here")
    }
  }
}
