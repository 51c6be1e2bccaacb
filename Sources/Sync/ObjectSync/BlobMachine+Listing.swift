// Lists a folder: the remote's listing with the pending changes applied.
//
//   entries = those of the remote − pending deletions + pending uploads
//   if the remote does not answer, the local listing is the answer
//
//   1. ask the remote for a page
//   2. read the pending changes between its first and its last entry
//   3. keep each entry of the remote that the pending changes leave. A folder of the remote disappears with
//      its last object, so the remote is asked for the contents of a subfolder that has pending deletions
//      only; its own subfolders are checked in the same way
//   4. add the pending uploads

internal import DocumentStore
import ObjectStore
import OfflineSync

struct ListedFolder: Sendable {
  let bucket: String
  /// Empty, or ends with a slash.
  let prefix: String
}

/// The state of one listing.
struct Listing {
  let folder: ListedFolder
  let last: String?
  let limit: Int
  /// The remote's valid entries, the end of the page that contains them, and whether that page is the last
  /// one.
  fileprivate var known: [String] = []
  fileprivate var end: String?
  fileprivate var isLast = false
  /// The objects with pending changes, and whether they exist locally.
  fileprivate var waiting: [ObjectName: Bool] = [:]
  /// The entries that are left after the checks so far, and the position of the next entry to check.
  fileprivate var entries: [String] = []
  fileprivate var place = 0
  /// The subfolders whose contents are checked, each inside the one before.
  fileprivate var subfolders: [Subfolder] = []

  /// A folder of the remote in which objects are deleted and none is added.
  fileprivate struct Subfolder {
    let prefix: String
    /// The objects in this folder that have pending changes. All these changes are deletions.
    let waiting: [ObjectName: Bool]
    /// `last` is the entry after which the current page begins; nil for the first page. `next` is the last
    /// entry of the current page; nil if no page follows.
    var last: String?
    var next: String?
    /// The entries of its current page that are not checked yet, in reverse order.
    var unchecked: [String] = []
  }

  fileprivate init(_ folder: ListedFolder, after last: String?, limit: Int) {
    self.folder = folder
    self.last = last
    self.limit = limit
  }

  fileprivate func refusal(of prefix: String) -> BlobSyncError {
    .remote(.rejected("The remote's list of \(prefix) does not advance."))
  }
}

extension BlobMachine {
  mutating func list(_ call: BlobCallID, _ folder: ListedFolder, after last: String?, limit: Int) {
    listings[call] = Listing(folder, after: last, limit: limit)
    if let failure { return fallBackToLocal(call, failure) }
    emit(.requestPage(call, bucket: folder.bucket, prefix: folder.prefix, after: last, count: limit))
  }

  mutating func remotePage(_ call: BlobCallID, _ result: Result<RemoteListing, BlobSyncError>) {
    guard let listing = listings[call] else { return }
    do throws(BlobSyncError) {
      let page = try result.get()
      if listing.subfolders.isEmpty { try take(page, call) } else { try receiveSubfolderPage(page, call) }
    } catch {
      fallBackToLocal(call, error)
    }
  }

  private mutating func take(_ page: RemoteListing, _ call: BlobCallID) throws(BlobSyncError) {
    guard var listing = listings[call] else { return }
    let known = page.entries.filter { listing.last?.precedesInUTF8($0) ?? true }
    listing.end = known.max { $0.precedesInUTF8($1) }
    listing.isLast = page.isLast
    guard page.isLast || listing.end != nil else { throw listing.refusal(of: listing.folder.prefix) }
    listing.known = known.filter { ObjectEntry.isValid($0, below: listing.folder.prefix) }
    listings[call] = listing
    // Pending changes after the end of this page belong to the next one.
    emit(
      .readWaiting(call, listing.folder, after: listing.last, upTo: page.isLast ? nil : listing.end))
  }

  mutating func waitingRead(
    _ call: BlobCallID, _ result: Result<[ObjectName: Bool], DocumentStoreError>
  ) {
    switch result {
    case .failure(let error): fallBackToLocal(call, .store(error))
    case .success(let waiting):
      listings[call]?.waiting = waiting
      checkEntries(call)
    }
  }

  // MARK: What is left

  /// Checks the remote's entries one after the other, until the remote has to be asked about one of them.
  private mutating func checkEntries(_ call: BlobCallID) {
    guard var listing = listings[call] else { return }
    do throws(BlobSyncError) {
      while listing.place < listing.known.count {
        let entry = listing.known[listing.place]
        guard let stillExists = try Self.stillExists(entry, by: listing.waiting) else {
          listing.subfolders = [Self.subfolder(entry, in: listing.waiting)]
          listings[call] = listing
          return requestSubfolderPage(call)
        }
        listing.place += 1
        if stillExists { listing.entries.append(entry) }
      }
    } catch {
      return fallBackToLocal(call, error)
    }
    finish(listing, call)
  }

  /// Whether an entry of the remote still exists once the pending changes are applied. Nil if the remote
  /// has to be asked for the contents of this folder.
  private static func stillExists(
    _ entry: String, by waiting: [ObjectName: Bool]
  ) throws(BlobSyncError) -> Bool? {
    guard ObjectEntry.isFolder(entry) else {
      do throws(DocumentStoreError) { return waiting[try ObjectName(entry)] ?? true } catch {
        throw .store(error)
      }
    }
    let inside = subfolder(entry, in: waiting).waiting
    return inside.isEmpty || inside.values.contains(true) ? true : nil
  }

  private static func subfolder(_ prefix: String, in waiting: [ObjectName: Bool]) -> Listing.Subfolder {
    Listing.Subfolder(
      prefix: prefix, waiting: waiting.filter { $0.key.text.utf8.starts(with: prefix.utf8) })
  }

  private mutating func requestSubfolderPage(_ call: BlobCallID) {
    guard let listing = listings[call], let inner = listing.subfolders.last else { return }
    emit(
      .requestPage(
        call, bucket: listing.folder.bucket, prefix: inner.prefix, after: inner.last,
        count: inner.waiting.count + 1))
  }

  private mutating func receiveSubfolderPage(_ page: RemoteListing, _ call: BlobCallID) throws(BlobSyncError)
  {
    guard let place = listings[call]?.subfolders.indices.last, let listing = listings[call] else { return }
    let prefix = listing.subfolders[place].prefix
    let valid = page.entries.filter { ObjectEntry.isValid($0, below: prefix) }
    // Without this check, a remote that returns only invalid names could continue forever.
    guard page.isLast || !valid.isEmpty else { throw listing.refusal(of: prefix) }
    listings[call]?.subfolders[place].unchecked = valid.reversed()
    listings[call]?.subfolders[place].next = page.isLast ? nil : page.entries.last
    try checkSubfolders(call)
  }

  /// Checks the entries of the innermost subfolder, and then those of the subfolders around it. Stops when
  /// the remote has to be asked, or when it is clear whether the outermost subfolder is left.
  private mutating func checkSubfolders(_ call: BlobCallID) throws(BlobSyncError) {
    guard var listing = listings[call] else { return }
    var stillExists = false
    while !stillExists, var inner = listing.subfolders.popLast() {
      if let entry = inner.unchecked.popLast() {
        let left = try Self.stillExists(entry, by: inner.waiting)
        listing.subfolders.append(inner)
        if left == nil { listing.subfolders.append(Self.subfolder(entry, in: inner.waiting)) }
        stillExists = left == true
        guard left == nil else { continue }
      } else {
        // If no page follows, nothing is left in this folder.
        guard let next = inner.next, inner.last?.precedesInUTF8(next) ?? true else { continue }
        inner.last = next
        listing.subfolders.append(inner)
      }
      listings[call] = listing
      return requestSubfolderPage(call)
    }
    if stillExists { listing.entries.append(listing.known[listing.place]) }
    listing.place += 1
    listing.subfolders = []
    listings[call] = listing
    checkEntries(call)
  }

  // MARK: The result

  private mutating func finish(_ listing: Listing, _ call: BlobCallID) {
    var entries = listing.entries
    for (name, isHere) in listing.waiting where isHere {
      guard let entry = ObjectEntry.text(of: name.text, below: listing.folder.prefix),
        listing.last?.precedesInUTF8(entry) ?? true
      else { continue }
      if listing.isLast || listing.end.map({ !$0.precedesInUTF8(entry) }) ?? true { entries.append(entry) }
    }
    let sorted = entries.sortedInUTF8()
    var page = ObjectPage(entries: Array(sorted.prefix(listing.limit)))
    page.next =
      sorted.count > listing.limit ? sorted[listing.limit - 1] : listing.isLast ? nil : listing.end
    end(call, .success(page))
  }

  mutating func localPage(_ call: BlobCallID, _ result: Result<ObjectPage, DocumentStoreError>) {
    end(call, result.mapError { .store($0) })
  }

  /// The local listing is the answer if the remote is unreachable. A store that refuses writes can still be
  /// read.
  private mutating func fallBackToLocal(_ call: BlobCallID, _ error: BlobSyncError) {
    guard let listing = listings[call] else { return }
    switch error {
    case .remote(.unavailable), .store:
      emit(.listLocally(call, listing.folder, after: listing.last, limit: listing.limit))
    default: end(call, .failure(error))
    }
  }

  private mutating func end(_ call: BlobCallID, _ result: Result<ObjectPage, BlobSyncError>) {
    listings[call] = nil
    emit(.endListing(call, result))
  }
}
