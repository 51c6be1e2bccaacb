// Reads the fields of documents: the hot path into the store.
//
//   bytes ──▶ record             no tree of values, and no strings in the case of protobuf
//         └─▶ tree ──▶ error     if the bytes are unusual or break a rule
//
// The tree is the reference: it knows every form of a message, and all rules. A record is only made of fields
// of which the tree would be equal.

package import DocumentStore

/// Reads `map<string, google.firestore.v1.Value>`.
package enum DocumentFieldsReader {
  private struct GivesUp: Error {}

  /// Reads the entry behind its tag, and those that follow with this tag.
  package static func read(
    _ reader: inout ProtobufReader, entries tag: ProtobufTag, noting pipelineValues: inout [PipelineValue]
  ) throws(WireError) -> StoredMap {
    let documents = reader.documents
    let rest = reader.rest
    if tag.rawValue < 0x80,
      let (fields, byteCount) = record(rest, behind: UInt8(tag.rawValue), with: documents.encoder)
    {
      reader.skip(bytes: byteCount)
      return fields
    }
    var trees = ProtobufValueReader(rest, documents.rules)
    let (fields, byteCount) = try trees.fields(behind: tag)
    pipelineValues += trees.notes.values
    reader.skip(bytes: byteCount)
    return fields
  }

  private static func record(
    _ bytes: RawSpan, behind tag: UInt8, with encoder: FieldsEncoder
  ) -> (StoredMap, byteCount: Int)? {
    let records = ProtobufRecordReader(bytes)
    var end = 0
    do throws(GivesUp) {
      let fields = try encoder.encode(kind: records.kind(behind: tag)) { writer, map throws(GivesUp) in
        guard let byteCount = records.fields(behind: tag, of: map, into: &writer) else { throw GivesUp() }
        end = byteCount
      }
      return fields.map { ($0, end) }
    } catch {
      return nil
    }
  }

  /// Reads an object of JSON.
  package static func read(
    _ reader: inout JSONReader, noting pipelineValues: inout [PipelineValue]
  ) throws(WireError) -> StoredMap {
    let documents = reader.documents
    var records = reader
    do throws(GivesUp) {
      let fields = try documents.encoder.encode { writer, map throws(GivesUp) in
        do throws(WireError) {
          try JSONRecordReader.fields(&records, of: map, into: &writer, depth: 0)
        } catch {
          throw GivesUp()
        }
      }
      if let fields {
        reader = records
        return fields
      }
    } catch {}
    var trees = JSONValueReader(documents.rules)
    let fields = try trees.fields(&reader)
    pipelineValues += trees.notes.values
    return fields
  }
}
