// Looking at a store of documents for damage, and getting out of it what can be read.

package import ByteStore

extension DocumentStore {
  /// Verifies every byte of a store that nobody has open, and that every record is one. Changes nothing.
  package static func check(
    _ path: String, platform: Platform = .real, progress: ((CheckProgress) -> Void)? = nil
  ) throws(DocumentStoreError) -> CheckReport {
    do throws(ByteStoreError) {
      return try ByteStore.check(path, platform: platform, inspect: problem(of:_:), progress: progress)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// The same for this store, while it is in use.
  package func check(
    progress: ((CheckProgress) -> Void)? = nil
  ) throws(DocumentStoreError) -> CheckReport {
    do throws(ByteStoreError) {
      return try bytes.check(inspect: Self.problem(of:_:), progress: progress)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// Makes a store that opens, of all that can be read of a damaged one; the originals stay, under other
  /// names. A healthy store is left alone.
  package static func salvage(
    _ path: String, platform: Platform = .real, progress: ((CheckProgress) -> Void)? = nil
  ) throws(DocumentStoreError) -> SalvageReport {
    do throws(ByteStoreError) {
      return try ByteStore.salvage(path, platform: platform, progress: progress)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// What is wrong with a key and its value, or nil.
  private static func problem(of key: RawSpan, _ value: RawSpan) -> String? {
    // Other keyspaces have other values.
    var reader = ByteReader(key)
    guard reader.uint8() == DocumentKey.keyspace else { return nil }
    guard let path = DocumentKey.decode([UInt8](copying: key)) else { return "a key that is no path" }
    do throws(RecordError) {
      _ = try RecordCodec.decodeHead(value)
      _ = try RecordCodec.decodeFields(value)
      return nil
    } catch {
      return "a record of \(path) that is none: at its byte \(error.offset), \(error.expected) was expected"
    }
  }
}
