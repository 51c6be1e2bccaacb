// What is in a bucket, folder by folder.
//
// A page is one walk over the names in their order: an object directly in the folder is an item, and the first
// object below a folder in it stands for that folder, behind which the walk goes on.

package import DocumentStore

/// A part of a folder.
package struct ObjectPage: Sendable, Equatable {
  /// Objects directly in the folder, by their whole names.
  package var items: [String] = []
  /// Folders directly in it, by their whole names without a slash at the end.
  package var folders: [String] = []
  /// Where the next page begins; nil if there is none.
  package var next: String?

  package init() {}

  /// Of entries in their order.
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

  /// All of it in the order of the names.
  package var entries: [String] { (items + folders.map { $0 + "/" }).sorted { $0.precedesInUTF8($1) } }
}

/// What a list has: the whole name of an object, or that of a folder with a slash behind it.
package enum ObjectEntry {
  private static let slash = UInt8(ascii: "/")

  package static func isFolder(_ entry: String) -> Bool { entry.utf8.last == slash }

  /// By which an object is listed in the folder with this prefix; nil if it is not in it.
  package static func text(of name: String, below prefix: String) -> String? {
    guard name.utf8.starts(with: prefix.utf8), name.utf8.count > prefix.utf8.count else { return nil }
    let rest = name.utf8.dropFirst(prefix.utf8.count)
    guard let end = rest.firstIndex(of: slash) else { return name }
    return String(decoding: name.utf8[...end], as: UTF8.self)
  }

  /// Whether a reference can name it, directly below the prefix.
  package static func isValid(_ entry: String, below prefix: String) -> Bool {
    guard text(of: entry, below: prefix) == entry else { return false }
    let name = isFolder(entry) ? String(decoding: entry.utf8.dropLast(), as: UTF8.self) : entry
    return name.utf8.count > prefix.utf8.count && (try? ObjectName(name)) != nil
  }
}

extension ObjectStore {
  private static let documentsAtOnceMax = 1000

  /// Up to `limit` items and folders from `start` on, the `next` of a page before; from the front without one.
  /// `folder` is the name of a folder without a slash at the end, or empty for the whole bucket.
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
        // Folders tend to come together.
        atOnce = min(atOnce, 16)
        continue walking
      }
      guard names.count == atOnce, let last = names.last else { return page }
      // The id behind it that is closest to it.
      id = last + "\u{1}"
      atOnce = min(2 * atOnce, Self.documentsAtOnceMax)
    }
  }

  /// The same behind an entry, with an entry as the `next` of the page. `prefix` is empty or ends with a slash.
  package func list(
    bucket: String, below prefix: String, after entry: String?, limit: Int
  ) throws(DocumentStoreError) -> ObjectPage {
    var start: String?
    if let entry, entry != prefix {
      // The id behind it that is closest to it.
      start =
        ObjectEntry.isFolder(entry) ? ShiftedText.endID(ofFolder: entry) : ShiftedText.id(of: entry) + "\u{1}"
    }
    let folder = String(decoding: prefix.utf8.dropLast(), as: UTF8.self)
    var page = try list(bucket: bucket, folder: folder, from: start, limit: limit)
    if page.next != nil { page.next = page.entries.last }
    return page
  }

  /// The folder directly below `prefix` that an object is in, if it is in one.
  private static func subfolder(of name: String, below prefix: String) -> String? {
    guard let entry = ObjectEntry.text(of: name, below: prefix), ObjectEntry.isFolder(entry) else {
      return nil
    }
    return String(decoding: entry.utf8.dropLast(), as: UTF8.self)
  }
}

private struct ObjectWalk {
  let collection: CollectionPath
  /// Before which the folder ends; nil for a whole bucket.
  let end: String?

  func query(from start: String, limit: Int) throws(DocumentStoreError) -> StructuredQuery {
    var query = try StructuredQuery(.collection(collection))
      .ordered(by: OrderBy(.documentID)).starting(.before, [.string(start)])
    if let end { query = try query.ending(.before, [.string(end)]) }
    return try query.limited(to: .first(limit))
  }
}
