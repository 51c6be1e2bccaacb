// Documents.

package import DocumentStore

extension Wire {
  /// A document with its name and times.
  package struct Document: WireMessage {
    package var name = ""
    package var fields = StoredMap()
    package var createTime: Timestamp?
    package var updateTime: Timestamp?
    /// The values of pipelines in the fields, where `fields` has null.
    package var pipelineValues: [PipelineValue] = []

    package init() {}

    package init(name: String, fields: StoredMap) {
      self.name = name
      self.fields = fields
    }

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "name", in: &name)
      try visitor.fields(2, "fields", in: &fields)
      try visitor.timestamp(3, "create_time", in: &createTime)
      try visitor.timestamp(4, "update_time", in: &updateTime)
      try visitor.notes(of: &pipelineValues)
    }
  }

  /// The elements of an array.
  package struct ArrayValue: WireMessage {
    package var values: [StoredValue] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.values(1, "values", in: &values)
    }
  }
}
