// Lists a bucket, folder by folder.
//
// A page is one scan over the names in order. An object directly in the folder is an item. The first object
// in a subfolder yields that subfolder, and the scan skips to its end.

package import DocumentStore

/// One page of a folder's entries.
package struct ObjectPage: Sendable, Equatable {
  /// Objects directly in the folder, by full name.
  package var items: [String] = []
  /// Direct subfolders, by full name without a trailing slash.
  package var folders: [String] = []
  /// Start of the next page; nil on the last page.
  package var next: String?

  package init() {}

  /// `entries` must be in order.
  package init(entries: [String]) {
    for entry in entries {
      if ObjectEntry.isFolder(entry) {
        folders.append(String(decoding: entry.utf8.dropLast(), as: UTF8.self))
      } else {
        items.append(entry)
      }
    }
  }

  package var count: Int { items.count + folders.count }

  /// All entries in name order.
  package var entries: [String] { (items + folders.map { $0 + "/" }).sorted { $0.precedesInUTF8($1) } }
}

/// An entry of a list: the full name of an object, or of a folder with a trailing slash.
package enum ObjectEntry {
  private static let slash = UInt8(ascii: "/")

  package static func isFolder(_ entry: String) -> Bool { entry.utf8.last == slash }

  /// The entry that represents an object in the folder with this prefix; nil if the object is not in it.
  package static func text(of name: String, below prefix: String) -> String? {
    guard name.utf8.starts(with: prefix.utf8), name.utf8.count > prefix.utf8.count else { return nil }
    let rest = name.utf8.dropFirst(prefix.utf8.count)
    guard let end = rest.firstIndex(of: slash) else { return name }
    return String(decoding: name.utf8[...end], as: UTF8.self)
  }

  /// Whether the entry is a valid name directly below the prefix.
  package static func isValid(_ entry: String, below prefix: String) -> Bool {
    guard text(of: entry, below: prefix) == entry else { return false }
    let name = isFolder(entry) ? String(decoding: entry.utf8.dropLast(), as: UTF8.self) : entry
    return name.utf8.count > prefix.utf8.count && (try? ObjectName(name)) != nil
  }
}

extension ObjectStore {
  private static let documentsAtOnceMax = 1000

  /// Up to `limit` items and subfolders. The page starts at the `next` of the previous page, or at the first
  /// entry. `folder` is a folder name without a trailing slash, or empty for the whole bucket.
  package func list(
    bucket: String, folder: String, from start: String? = nil, limit: Int
  ) throws(DocumentStoreError) -> ObjectPage {
    precondition(limit > 0, "a page has room for something")
    let prefix = folder.isEmpty ? "" : folder + "/"
    let walk = ObjectWalk(
      collection: ReservedPath.objects(inBucket: bucket),
      end: folder.isEmpty ? nil : ShiftedText.endID(ofFolder: prefix))
    var page = ObjectPage()
    var id = start ?? ShiftedText.id(of: prefix)
    var atOnce = min(limit + 1, Self.documentsAtOnceMax)
    walking: while true {
      let names = try store.records(walk.query(from: id, limit: atOnce)).map(\.path.id)
      for name in names {
        guard let text = ShiftedText.text(ofID: name), text.utf8.starts(with: prefix.utf8) else {
          id = name
          continue
        }
        let sub = Self.subfolder(of: text, below: prefix)
        guard page.count < limit else {
          page.next = sub.map { ShiftedText.id(of: $0 + "/") } ?? name
          return page
        }
        guard let sub else {
          page.items.append(text)
          continue
        }
        page.folders.append(sub)
        id = ShiftedText.endID(ofFolder: sub + "/")
        // Folders are often adjacent, so read fewer documents at once after a folder.
        atOnce = min(atOnce, 16)
        continue walking
      }
      guard names.count == atOnce, let last = names.last else { return page }
      // The smallest id after the id of the last document.
      id = last + "\u{1}"
      atOnce = min(2 * atOnce, Self.documentsAtOnceMax)
    }
  }

  /// Lists the entries that follow an entry. The `next` of the returned page is also an entry. `prefix` is
  /// empty or ends with a slash.
  package func list(
    bucket: String, below prefix: String, after entry: String?, limit: Int
  ) throws(DocumentStoreError) -> ObjectPage {
    var start: String?
    if let entry, entry != prefix {
      // The smallest id after the entry.
      start =
        ObjectEntry.isFolder(entry) ? ShiftedText.endID(ofFolder: entry) : ShiftedText.id(of: entry) + "\u{1}"
    }
    let folder = String(decoding: prefix.utf8.dropLast(), as: UTF8.self)
    var page = try list(bucket: bucket, folder: folder, from: start, limit: limit)
    if page.next != nil { page.next = page.entries.last }
    return page
  }

  /// The direct subfolder of `prefix` that contains the object, if any.
  private static func subfolder(of name: String, below prefix: String) -> String? {
    guard let entry = ObjectEntry.text(of: name, below: prefix), ObjectEntry.isFolder(entry) else {
      return nil
    }
    return String(decoding: entry.utf8.dropLast(), as: UTF8.self)
  }
}

private struct ObjectWalk {
  let collection: CollectionPath
  /// The id at which the folder ends; nil for a whole bucket.
  let end: String?

  func query(from start: String, limit: Int) throws(DocumentStoreError) -> StructuredQuery {
    var query = try StructuredQuery(.collection(collection))
      .ordered(by: OrderBy(.documentID)).starting(.before, [.string(start)])
    if let end { query = try query.ending(.before, [.string(end)]) }
    return try query.limited(to: .first(limit))
  }
}
