// A partial update of an object's attributes: each attribute is set, cleared, or left unchanged.
//
//   set texts      under their own names                    cleared texts    their names in "cleared"
//   set custom     names and values by turns in "custom"    cleared custom   their names in "clearedCustom"
//   all custom cleared first                                                 "clearsCustom", true

import DocumentStore

/// A partial update of attributes. It can be applied to any later state of the object.
package struct AttributeChanges: Hashable, Sendable {
  private var texts: [ObjectAttributes.TextField: String?] = [:]
  private var custom: [String: String?] = [:]
  /// Applied before `custom`.
  package var clearsCustom = false

  package init() {}

  /// Nil clears the attribute.
  package mutating func set(_ field: ObjectAttributes.TextField, _ value: String?) {
    texts.updateValue(value, forKey: field)
  }

  /// Nil clears the entry.
  package mutating func setCustom(_ name: String, _ value: String?) {
    custom.updateValue(value, forKey: name)
  }

  package func apply(to attributes: inout ObjectAttributes) {
    for (field, value) in texts { attributes[field] = value }
    if clearsCustom { attributes.custom = [:] }
    for (name, value) in custom { attributes.custom[name] = value }
  }

  // MARK: Records

  private static let cleared = "cleared"
  private static let clearedCustom = "clearedCustom"
  private static let clearsCustom = "clearsCustom"

  /// Replaces all attributes by these.
  init(replacingAllWith attributes: ObjectAttributes) {
    for field in ObjectAttributes.TextField.allCases { set(field, attributes[field]) }
    clearsCustom = true
    for (name, value) in attributes.custom { setCustom(name, value) }
  }

  func add(to fields: inout StoredMap) {
    var given = ObjectAttributes()
    apply(to: &given)
    given.add(to: &fields)
    let clearedTexts = texts.filter { $0.value == nil }.map(\.key.rawValue).sorted()
    let clearedNames = custom.filter { $0.value == nil }.map(\.key).sortedInUTF8()
    fields[Self.cleared] = .array(clearedTexts.map { .string($0) })
    fields[Self.clearedCustom] = .array(clearedNames.map { .string($0) })
    fields[Self.clearsCustom] = .boolean(clearsCustom)
  }

  init(_ fields: StoredMap) {
    func names(_ field: String) -> [String] {
      if case .array(let values)? = fields[field] { values.compactMap(\.plainText) } else { [] }
    }
    let given = ObjectAttributes(fields)
    for field in ObjectAttributes.TextField.allCases where given[field] != nil { set(field, given[field]) }
    for name in names(Self.cleared) { ObjectAttributes.TextField(rawValue: name).map { set($0, nil) } }
    clearsCustom = fields[Self.clearsCustom] == .boolean(true)
    for name in names(Self.clearedCustom) { setCustom(name, nil) }
    for (name, value) in given.custom { setCustom(name, value) }
  }
}
